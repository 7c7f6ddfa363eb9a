// expect: max_retries_is_not_between_1_and_20
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Linear{.initial = 1s, .max_retries = 21}));
