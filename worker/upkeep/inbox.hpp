// Messages of other threads to upkeep. No other thread touches upkeep's state: upkeep empties the inbox before each
// decision.
#pragma once

#include <atomic>

namespace dogged::runtime {

/// Thread-safe.
class UpkeepInbox {
 public:
  /// The messages since the last take().
  struct Told {
    bool worker_began = false;       ///< a worker has registered, and may declare its tasks otherwise
    bool schedules_changed = false;  ///< a schedule was set, and may be due before any other
  };

  void note_worker_began() noexcept { worker_began_ = true; }
  void note_schedules_changed() noexcept { schedules_changed_ = true; }

  /// For upkeep's thread.
  [[nodiscard]] Told take() noexcept {
    return {.worker_began = worker_began_.exchange(false), .schedules_changed = schedules_changed_.exchange(false)};
  }

 private:
  std::atomic<bool> worker_began_ = false;
  std::atomic<bool> schedules_changed_ = false;
};

}  // namespace dogged::runtime
