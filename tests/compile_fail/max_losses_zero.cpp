// expect: max_losses_is_not_between_1_and_100
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.max_losses = 0};
static_assert(dogged::detail::accept_options(options));
