// The tasks whose end somebody waits for (Client::wait), as far as this worker has heard. While there are none, this
// costs nothing but a look at a number.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Awaited {
 public:
  /// Somebody waits for the end of `id`; he says so again every 10 s. Beyond `most` tasks he has to find out by asking.
  void note(TaskId id, SteadyClock::time_point now) {
    const std::scoped_lock lock{mutex_};
    if (now >= tidy_at_) {
      std::erase_if(until_, [now](const auto& entry) { return entry.second < now; });
      tidy_at_ = now + remembered_for;
    }
    if (until_.size() < most || until_.contains(id)) until_[id] = now + remembered_for;
    size_ = until_.size();
  }

  [[nodiscard]] bool any() const noexcept { return size_ > 0; }

  /// Those of `ended` that are waited for; they are forgotten.
  [[nodiscard]] std::vector<TaskId> take(const std::vector<TaskId>& ended) {
    const std::scoped_lock lock{mutex_};
    std::vector<TaskId> awaited;
    std::copy_if(ended.begin(), ended.end(), std::back_inserter(awaited),
                 [this](TaskId id) { return until_.erase(id) > 0; });
    size_ = until_.size();
    return awaited;
  }

 private:
  static constexpr std::size_t most = 10'000;
  static constexpr milliseconds remembered_for{30'000};

  std::mutex mutex_;
  std::unordered_map<TaskId, SteadyClock::time_point> until_;
  SteadyClock::time_point tidy_at_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace dogged::runtime
