// See inbox.hpp.
#include "claim/inbox.hpp"

namespace dogged::runtime {

void ClaimInbox::note(const Told& told) {
  const detail::Lock lock{mutex_};
  if (mailbox_.note(told) == Mailbox::Effect::ends_wait) wake_.wake();
}

void ClaimInbox::note_room() {
  const detail::Lock lock{mutex_};
  if (mailbox_.note_room() == Mailbox::Effect::ends_wait) wake_.wake();
}

Told ClaimInbox::take() {
  const detail::Lock lock{mutex_};
  return mailbox_.take();
}

bool ClaimInbox::begin_wait(TimePoint until, bool for_room) {
  const detail::Lock lock{mutex_};
  return mailbox_.begin_wait(until, for_room);
}

}  // namespace dogged::runtime
