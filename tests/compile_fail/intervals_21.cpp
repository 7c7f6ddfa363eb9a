// expect: intervals_has_more_than_20_entries
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Fixed{
    .intervals = {1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s}}));
