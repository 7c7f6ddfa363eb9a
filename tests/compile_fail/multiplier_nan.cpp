// expect: multiplier_is_not_between_1_and_100
#include <limits>

#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Exponential{
    .base = 1s, .multiplier = std::numeric_limits<double>::quiet_NaN(), .max_retries = 5}));
