// Counts the calls of operator new by replacing it. For one file of a program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

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

/// False under sanitizers, which replace operator new themselves: then the count stays 0.
inline constexpr bool counts_allocations = DOGGED_COUNTS_ALLOCATIONS;

/// Of this thread, so far.
inline thread_local std::size_t allocations = 0;

}  // namespace support

#if DOGGED_COUNTS_ALLOCATIONS
// The other forms of new and delete call these. Not inlined: GCC would warn of a free without its malloc.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++support::allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
