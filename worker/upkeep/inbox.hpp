// Messages of other threads to upkeep. No other thread touches upkeep's state: upkeep empties the inbox before each
// decision.
#pragma once

#include <atomic>

#include "upkeep/core/told.hpp"

namespace dogged::runtime {

/// Thread-safe.
class UpkeepInbox {
 public:
  void note_worker_began() noexcept { worker_began_ = true; }
  void note_schedules_changed() noexcept { schedules_changed_ = true; }

  /// For upkeep's thread.
  [[nodiscard]] ToldToUpkeep take() noexcept {
    return {.worker_began = worker_began_.exchange(false), .schedules_changed = schedules_changed_.exchange(false)};
  }

 private:
  std::atomic<bool> worker_began_ = false;
  std::atomic<bool> schedules_changed_ = false;
};

}  // namespace dogged::runtime
