// Replaces operator new, so that its calls are counted, and refused where a test wants that. For one file of a program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "support/allocations.hpp"

#if DOGGED_COUNTS_ALLOCATIONS
// The other forms of new and delete call these. Not inlined: GCC would warn of a free without its malloc.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++support::allocations;
  if (support::refuses_allocations) throw std::bad_alloc{};
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
