// expect: fixed_takes_either_intervals_or_interval_with_max_retries_not_both
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Fixed{
    .intervals = {60s, 300s}, .interval = 60s, .max_retries = 2}));
