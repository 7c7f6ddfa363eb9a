// Messages of other threads to the claimer. No other thread touches the claimer's state: the claimer empties the inbox
// before each decision. core/mailbox.hpp decides which messages end the claimer's wait.
#pragma once

#include <dogged/detail/mutex.hpp>

#include "base/time.hpp"
#include "base/wake_fd.hpp"
#include "claim/core/mailbox.hpp"
#include "claim/core/told.hpp"
#include "report/listener.hpp"

namespace dogged::runtime {

/// Thread-safe.
class ClaimInbox final : public ReportListener {
 public:
  /// This worker has made tasks ready, perhaps more than it can take.
  void note_ready() override { note({.has_ready = true}); }
  /// Tasks were rescued, and sleeping workers were notified.
  void note_rescued() { note({.has_rescued = true}); }
  /// A retry was scheduled that falls due after `delay`.
  void note_due(SteadyClock::duration delay) override { note({.due_at = SteadyClock::now() + delay}); }
  /// The server was lost for a while, perhaps, and the next one may be another.
  void note_server_is_back() { note({.server_is_back = true}); }
  /// An executor holds a task that has expired before it could begin.
  void note_expired() { note({.has_expired = true}); }
  /// A thread may be free again.
  void note_room() override;

  // For the claimer's thread.

  /// See Mailbox.
  [[nodiscard]] Told take();
  [[nodiscard]] bool begin_wait(TimePoint until, bool for_room);
  /// The claimer's service shares this descriptor.
  [[nodiscard]] const WakeFd& wake() const noexcept { return wake_; }

 private:
  void note(const Told& told);

  const WakeFd wake_;
  detail::Mutex mutex_;
  Mailbox mailbox_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
