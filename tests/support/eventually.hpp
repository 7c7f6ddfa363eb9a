// Waiting for what comes of itself and cannot be waited for as an event: another process, or the database.
#pragma once

#include <chrono>
#include <thread>

#include "support/function_ref.hpp"

namespace dogged::test {

/// Asks until `condition` holds, for at most a generous 30 s; whether it held.
[[nodiscard]] inline bool eventually(FunctionRef<bool()> condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace dogged::test
