// The calls of operator new in a program of which one file includes count_allocations.hpp.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DOGGED_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DOGGED_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef DOGGED_COUNTS_ALLOCATIONS
#define DOGGED_COUNTS_ALLOCATIONS 1
#endif

namespace support {

/// False under sanitizers, which replace operator new themselves: then the count stays 0, and nothing is refused.
inline constexpr bool counts_allocations = DOGGED_COUNTS_ALLOCATIONS;

/// Of this thread, so far.
inline thread_local std::size_t allocations = 0;

/// As if there were no memory, for this thread.
inline thread_local bool refuses_allocations = false;

}  // namespace support
