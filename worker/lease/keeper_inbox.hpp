// Other threads tell the lease keeper through this inbox of the progress of running handlers (Context::progress), and
// that the worker drains. The inbox keeps only the latest progress of each attempt, so that a handler may call as often
// as it likes. An attempt that was given up may still report beside its successor. The write takes the present
// attempt's values.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/time.hpp"
#include "base/wake_fd.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

struct ReportedProgress {
  Attempt attempt = {};
  std::optional<double> fraction = {};  ///< 0 to 1
  std::string message = {};             ///< as PostgreSQL can store it
  TimePoint reported_at = {};
};

/// Thread-safe. Threads of handlers that were given up may outlive the keeper, so they share the inbox.
class KeeperInbox {
 public:
  /// Wakes the keeper if nothing was unwritten before: at 10,000 calls a second the keeper wakes once a second.
  void note(Attempt attempt, std::optional<double> fraction, std::string_view message, TimePoint now);
  /// The worker claims nothing more.
  void note_draining() noexcept;

  // For the keeper's thread.

  [[nodiscard]] bool is_draining() const noexcept { return is_draining_; }
  [[nodiscard]] bool has_unwritten() const;
  [[nodiscard]] std::vector<ReportedProgress> take();
  /// Puts back values that the keeper could not write. A newer value of the same attempt stays. The inbox keeps values
  /// of at most 1,000 attempts, because a database may refuse progress for hours.
  void put_back(std::vector<ReportedProgress> taken);
  /// Each note wakes the keeper by this descriptor, which the keeper's service shares.
  [[nodiscard]] const WakeFd& wake() const noexcept { return wake_; }

 private:
  const WakeFd wake_;
  std::atomic<bool> is_draining_ = false;
  mutable detail::Mutex mutex_;
  std::map<std::pair<TaskId, int>, ReportedProgress> unwritten_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
