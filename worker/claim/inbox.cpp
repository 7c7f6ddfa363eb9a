// See inbox.hpp.
#include "claim/inbox.hpp"

#include <algorithm>
#include <utility>

namespace dogged::runtime {

/// One write ends a wait, so later notes write nothing.
void ClaimInbox::end_wait_under_way() {
  if (std::exchange(wait_, Wait::none) != Wait::none) wake_.wake();
}

void ClaimInbox::note_ready() {
  const detail::Lock lock{mutex_};
  told_.has_ready = has_told_ = true;
  end_wait_under_way();
}

void ClaimInbox::note_rescued() {
  const detail::Lock lock{mutex_};
  told_.has_rescued = has_told_ = true;
  end_wait_under_way();
}

void ClaimInbox::note_due(SteadyClock::duration delay) {
  const TimePoint at = SteadyClock::now() + delay;
  const detail::Lock lock{mutex_};
  told_.due_at = std::min(told_.due_at, at);
  has_told_ = true;
  if (at < waits_until_) end_wait_under_way();
}

void ClaimInbox::note_server_is_back() {
  const detail::Lock lock{mutex_};
  told_.server_is_back = has_told_ = true;
  end_wait_under_way();
}

void ClaimInbox::note_expired() {
  const detail::Lock lock{mutex_};
  told_.has_expired = has_told_ = true;
  end_wait_under_way();
}

void ClaimInbox::note_room() {
  const detail::Lock lock{mutex_};
  has_room_ = true;
  if (wait_ == Wait::for_messages_or_room) end_wait_under_way();
}

Told ClaimInbox::take() {
  const detail::Lock lock{mutex_};
  has_told_ = has_room_ = false;
  return std::exchange(told_, {});
}

bool ClaimInbox::begin_wait(TimePoint until, bool for_room) {
  const detail::Lock lock{mutex_};
  wait_ = Wait::none;  // if the connection broke in the last wait, end_wait() was not called
  if (has_told_ || (for_room && has_room_)) return false;
  wait_ = for_room ? Wait::for_messages_or_room : Wait::for_messages;
  waits_until_ = until;
  return true;
}

void ClaimInbox::end_wait() {
  const detail::Lock lock{mutex_};
  wait_ = Wait::none;
}

}  // namespace dogged::runtime
