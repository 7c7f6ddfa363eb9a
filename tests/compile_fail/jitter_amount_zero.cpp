// expect: jitter_amount_is_not_between_1ms_and_24h
#include <dogged/detail/policy_rules.hpp>

using namespace std::chrono_literals;

static_assert(dogged::detail::accept_policy(dogged::Fixed{.intervals = {60s},
                                                          .jitter = dogged::Jitter::absolute(0ms)}));
