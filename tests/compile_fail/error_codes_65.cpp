// expect: auto_retry_for_has_more_than_64_codes
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{
    .auto_retry_for = {"C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C",
                       "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C",
                       "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C",
                       "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C"}};
static_assert(dogged::detail::accept_options(options));
