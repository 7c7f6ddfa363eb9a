// The generator behind random_draw().
#pragma once

#include <cstdint>

namespace dogged::detail {

/// 64 random bits, of the calling thread's generator. A forked process draws others than its parent.
[[nodiscard]] std::uint64_t random_bits();

}  // namespace dogged::detail
