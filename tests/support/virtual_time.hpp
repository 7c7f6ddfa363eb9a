// When a test in virtual time begins.
#pragma once

#include "base/time.hpp"

namespace dogged::test {

inline constexpr runtime::TimePoint start{std::chrono::hours{1}};

}  // namespace dogged::test
