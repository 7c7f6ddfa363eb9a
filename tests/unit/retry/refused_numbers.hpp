// Numbers that settings of retries refuse.
#pragma once

#include <limits>

namespace dogged::test {

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace dogged::test
