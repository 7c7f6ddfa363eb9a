// expect: multiplier_is_not_between_1_and_100
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Exponential{.base = 1s, .multiplier = 0.5, .max_retries = 5}));
