// The unit of waits, their limits, and how exactly a wait is kept.
#pragma once

#include <chrono>

namespace dogged {

using std::chrono::milliseconds;

namespace limits {
inline constexpr milliseconds min_delay{1};
inline constexpr milliseconds max_delay = std::chrono::hours{24};
}  // namespace limits

/// How exactly a wait that replaces a policy's delay is kept.
enum class Precision {
  exact,  ///< as it is: the other side asked for it
  about,  ///< ± 25 %, so that those who failed together do not return together
};

}  // namespace dogged
