// The name RetryPolicy, for headers that only refer to a policy.
#pragma once

#include <variant>

namespace dogged {

struct NoRetry;
struct Fixed;
struct Exponential;
struct Linear;
struct Custom;

using RetryPolicy = std::variant<NoRetry, Fixed, Exponential, Linear, Custom>;

}  // namespace dogged
