// expect: timeout_is_not_between_1ms_and_24h
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.timeout = 25h};
static_assert(dogged::detail::accept_options(options));
