// See sleep.hpp.
#include "claim/core/sleep.hpp"

#include <algorithm>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t often = 20;  // notifications within counting_time
constexpr milliseconds counting_time{100};
constexpr milliseconds polls_after_last_find{1000};
constexpr milliseconds shortest_look_soon{2};  // doubled while it finds nothing
constexpr milliseconds longest_look_soon{16};
constexpr milliseconds first_wait_for_transactions{2};

}  // namespace

Sleep::Sleep(bool listens, milliseconds poll_interval, TimePoint now)
    : listens_(listens),
      poll_interval_(poll_interval),
      look_at_(now + poll_interval),
      look_soon_wait_(shortest_look_soon) {}

TimePoint Sleep::looks_at() const noexcept { return std::min(look_at_, look_soon_at_); }

Sleep::Look Sleep::take_look(TimePoint now) {
  if (now >= look_at_) {
    look_at_ = now + poll_interval_;
    return state_ == State::asleep ? Look::for_missed : Look::everywhere;
  }
  if (now < look_soon_at_) return Look::nowhere;
  look_soon_at_ = never;
  look_soon_wait_ = std::min(look_soon_wait_ * 2, longest_look_soon);
  return Look::in_queues;
}

Sleep::Ask Sleep::before_wait(TimePoint now, bool has_empty_queue) {
  if (!listens_) return Ask::nothing;
  const State awake = !has_empty_queue ? State::busy : polls_itself(now) ? State::self_polling : State::asleep;
  const bool stays_awake = awake != State::asleep;
  switch (state_) {
    case State::busy:
    case State::self_polling:
      if (!stays_awake) return Ask::fall_asleep;
      state_ = awake;
      if (state_ == State::self_polling) look_soon_at_ = std::min(look_soon_at_, now + look_soon_wait_);
      return Ask::nothing;
    case State::falling_asleep:
    case State::asleep:
      return stays_awake ? Ask::wake_up : Ask::nothing;
    case State::looked_again:
      return stays_awake ? Ask::wake_up : Ask::oldest_transaction;
  }
  return Ask::nothing;
}

bool Sleep::polls_itself(TimePoint now) {
  if (notifications_ >= often && now - counting_since_ <= 2 * counting_time) {
    notifications_ = 0;
    polls_itself_until_ = now + polls_after_last_find;
    look_soon_wait_ = shortest_look_soon;
  }
  return now < polls_itself_until_;
}

void Sleep::on_notified(std::size_t times, TimePoint now) {
  if (now - counting_since_ > counting_time) {
    notifications_ = 0;
    counting_since_ = now;
  }
  notifications_ += times;
}

void Sleep::on_found(TimePoint now) {
  if (now >= polls_itself_until_) return;
  polls_itself_until_ = now + polls_after_last_find;
  look_soon_wait_ = shortest_look_soon;
}

void Sleep::on_look_everywhere(TimePoint now) {
  look_at_ = now + poll_interval_;
  if (state_ == State::falling_asleep) state_ = State::looked_again;
}

void Sleep::on_asleep(const Transactions& open, TimePoint now) {
  require_invariant(listens_ && !row_says_asleep(), "a claimer falls asleep that listens and is awake");
  first_that_notifies_ = open.next;
  asleep_at_ = now;
  state_ = open.oldest >= first_that_notifies_ ? State::asleep : State::falling_asleep;
}

void Sleep::on_awake() {
  require_invariant(row_says_asleep(), "a claimer wakes up that has fallen asleep");
  state_ = State::busy;
}

void Sleep::on_oldest_transaction(std::int64_t oldest, TimePoint now) {
  require_invariant(state_ == State::looked_again,
                    "a claimer asks for the oldest transaction after it has looked again");
  state_ = oldest >= first_that_notifies_ ? State::asleep : State::falling_asleep;
  // The last of those transactions may have committed since the last look, so one more look is due now.
  look_at_ = std::min(look_at_, state_ == State::asleep ? now : now + until_ended(now));
}

void Sleep::on_failure() noexcept { state_ = State::busy; }

/// The claimer doubles its wait for those transactions. The wait so far is the time since the claimer fell asleep.
SteadyClock::duration Sleep::until_ended(TimePoint now) const {
  const auto longest = std::max<SteadyClock::duration>(poll_interval_, first_wait_for_transactions);
  return std::clamp<SteadyClock::duration>(now - asleep_at_, first_wait_for_transactions, longest);
}

std::string_view to_text(Sleep::State state) noexcept {
  switch (state) {
    case Sleep::State::busy:
      return "busy";
    case Sleep::State::self_polling:
      return "self-polling";
    case Sleep::State::falling_asleep:
      return "falling asleep";
    case Sleep::State::looked_again:
      return "looked again";
    case Sleep::State::asleep:
      break;
  }
  return "asleep";
}

std::string_view to_text(Sleep::Ask ask) noexcept {
  switch (ask) {
    case Sleep::Ask::nothing:
      return "nothing";
    case Sleep::Ask::wake_up:
      return "wake up";
    case Sleep::Ask::fall_asleep:
      return "fall asleep";
    case Sleep::Ask::oldest_transaction:
      break;
  }
  return "oldest transaction";
}

std::string_view to_text(Sleep::Look look) noexcept {
  switch (look) {
    case Sleep::Look::nowhere:
      return "nowhere";
    case Sleep::Look::in_queues:
      return "in queues";
    case Sleep::Look::everywhere:
      return "everywhere";
    case Sleep::Look::for_missed:
      break;
  }
  return "for missed";
}

std::ostream& operator<<(std::ostream& out, Sleep::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Sleep::Ask ask) { return out << to_text(ask); }
std::ostream& operator<<(std::ostream& out, Sleep::Look look) { return out << to_text(look); }

}  // namespace dogged::runtime
