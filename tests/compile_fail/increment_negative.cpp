// expect: increment_is_not_between_0_and_24h
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Linear{.initial = 1s, .increment = -1s, .max_retries = 5}));
