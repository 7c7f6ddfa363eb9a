// expect: fixed_needs_intervals_or_interval_with_max_retries
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Fixed{.max_delay = 1h}));
