// expect: max_delay_is_not_between_1ms_and_24h
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Exponential{.base = 1s, .max_retries = 5, .max_delay = 48h}));
