// expect: jitter_proportion_is_not_above_0_and_up_to_1
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Fixed{.intervals = {60s},
                                                          .jitter = dogged::Jitter::proportional(0.0)}));
