// Messages of other threads to the claimer. No other thread touches the claimer's state: the claimer empties the inbox
// before each decision.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/time.hpp"
#include "base/wake_fd.hpp"
#include "claim/core/told.hpp"
#include "report/listener.hpp"

namespace dogged::runtime {

/// Thread-safe.
class ClaimInbox final : public ReportListener {
 public:
  /// This worker has made tasks ready, perhaps more than it can take.
  void note_ready() override;
  /// Tasks were rescued, and sleeping workers were notified.
  void note_rescued();
  /// A retry was scheduled that falls due after `delay`.
  void note_due(SteadyClock::duration delay) override;
  /// The server was lost for a while, perhaps, and the next one may be another.
  void note_server_is_back();
  /// An executor holds a task that has expired before it could begin.
  void note_expired();
  /// A thread may be free again.
  void note_room() override;

  // For the claimer's thread.

  [[nodiscard]] Told take();
  /// From now on each note wakes the claimer. note_room() does so only if `for_room`: otherwise each finished task
  /// would wake the claimer of a drained queue. False, and no wait begins, if something was noted since take().
  [[nodiscard]] bool begin_wait(TimePoint until, bool for_room);
  void end_wait();
  /// The claimer's service shares this descriptor.
  [[nodiscard]] const WakeFd& wake() const noexcept { return wake_; }

 private:
  enum class Wait { none, for_messages, for_messages_or_room };

  void end_wait_under_way() DOGGED_REQUIRES(mutex_);

  const WakeFd wake_;
  detail::Mutex mutex_;
  Told told_ DOGGED_GUARDED_BY(mutex_);
  bool has_told_ DOGGED_GUARDED_BY(mutex_) = false;
  bool has_room_ DOGGED_GUARDED_BY(mutex_) = false;  // since the claimer's last decision
  Wait wait_ DOGGED_GUARDED_BY(mutex_) = Wait::none;
  TimePoint waits_until_ DOGGED_GUARDED_BY(mutex_){};
};

}  // namespace dogged::runtime
