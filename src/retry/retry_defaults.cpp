// The world that retry() uses where RetryOptions names no other: a wait on a condition variable, and a random
// generator. Nothing else in this directory waits or draws.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>

#include <pthread.h>

#include <dogged/retry_options.hpp>

#include "retry/random_bits.hpp"

namespace dogged {
namespace {

/// Counts the forks between the first process and this one, because a child must seed its inherited generator anew.
std::atomic<std::uint64_t> forks{0};

[[nodiscard]] std::uint64_t forks_so_far() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);  // fails without memory only; then a child repeats its parent's draws
  return forks.load(std::memory_order_relaxed);
}

std::mt19937_64 seeded_generator() {
  std::random_device device;
  std::array<std::random_device::result_type, 8> words{};
  for (auto& word : words) word = device();
  std::seed_seq seed(words.begin(), words.end());
  return std::mt19937_64{seed};
}

struct Generator {
  std::uint64_t seeded_at = forks_so_far();
  std::mt19937_64 engine = seeded_generator();
};

}  // namespace

std::uint64_t detail::random_bits() {
  thread_local Generator generator;
  if (generator.seeded_at != forks_so_far()) generator = Generator{};
  return generator.engine();
}

double random_draw() {
  // The upper 53 bits, as many as a double holds: never 1.
  return static_cast<double>(detail::random_bits() >> 11) * 0x1p-53;
}

bool wait_or_stop(std::chrono::nanoseconds duration, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock{mutex};
  const std::chrono::nanoseconds longest = limits::max_delay;  // more could overflow the clock
  stopped.wait_for(lock, stop, std::min(duration, longest), [] { return false; });
  return !stop.stop_requested();
}

}  // namespace dogged
