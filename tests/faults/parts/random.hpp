// Random numbers that a seed repeats on every machine: the standard's distributions differ between libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace dogged::faults {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// A number of first … last, both included. A range that does not divide 2^64 makes the draw slightly uneven. The
  /// tests do not need an even draw.
  [[nodiscard]] int between(int first, int last) {
    return first + static_cast<int>(engine_() % static_cast<std::uint64_t>(last - first + 1));
  }
  [[nodiscard]] bool percent(int chance) { return between(1, 100) <= chance; }
  template <class T>
  [[nodiscard]] const T& one_of(const std::vector<T>& values) {
    return values[engine_() % values.size()];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dogged::faults
