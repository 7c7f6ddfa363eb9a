// The tasks whose end a client waits for (Client::wait), as far as this worker has heard. While no task is awaited,
// this costs a look at a number.
#pragma once

#include <atomic>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Awaited {
 public:
  static constexpr std::size_t most = 10'000;
  /// At least; a client that still waits says so again before.
  static constexpr milliseconds remembered_for{30'000};

  /// A client waits for the end of `id`; the client says so again every 10 s. Beyond `most` tasks the client has to
  /// ask.
  void note(TaskId id, SteadyClock::time_point now) {
    const detail::Lock lock{mutex_};
    if (now >= tidy_at_) {
      std::erase_if(until_, [now](const auto& entry) { return entry.second < now; });
      tidy_at_ = now + remembered_for;
    }
    if (until_.size() < most || until_.contains(id)) until_[id] = now + remembered_for;
    size_ = until_.size();
  }

  [[nodiscard]] bool any() const noexcept { return size_ > 0; }

  /// Gives the tasks of `ended` that a client waits for, and forgets them.
  [[nodiscard]] std::vector<TaskId> take(const std::vector<TaskId>& ended) {
    const detail::Lock lock{mutex_};
    std::vector<TaskId> awaited;
    for (const TaskId id : ended) {
      if (until_.erase(id) > 0) awaited.push_back(id);
    }
    size_ = until_.size();
    return awaited;
  }

 private:
  detail::Mutex mutex_;
  std::unordered_map<TaskId, SteadyClock::time_point> until_ DOGGED_GUARDED_BY(mutex_);
  SteadyClock::time_point tidy_at_ DOGGED_GUARDED_BY(mutex_);
  std::atomic<std::size_t> size_{0};
};

}  // namespace dogged::runtime
