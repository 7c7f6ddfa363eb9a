// See pool.hpp.
#include "run/core/pool.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"
#include "run/core/prefetch.hpp"

namespace dogged::runtime {
namespace {

std::string_view reason_text(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::none:
      return "none";
    case StopReason::timeout:
      return "timeout";
    case StopReason::cancelled:
      return "cancelled";
    case StopReason::shutdown:
      return "shutdown";
    case StopReason::lease_lost:
      break;
  }
  return "lease lost";
}

}  // namespace

void Pool::remove(std::size_t index) {
  require_invariant(slots_.at(index)->state_ == SlotState::given_up, "a slot that is removed was given up");
  std::swap(slots_[index], slots_.back());
  slots_.pop_back();
}

void Pool::submit(std::vector<ClaimedTask> tasks) {
  waiting_.insert(waiting_.end(), std::make_move_iterator(tasks.begin()), std::make_move_iterator(tasks.end()));
}

std::vector<ClaimedTask> Pool::take_expired() { return std::exchange(expired_, {}); }

std::vector<ClaimedTask> Pool::take_back() {
  std::vector<ClaimedTask> tasks = take_expired();
  tasks.insert(tasks.end(), std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  return tasks;
}

std::vector<ClaimedTask> Pool::take_back_older_than(milliseconds age, TimePoint now) {
  if (waiting_.empty() || now - waiting_.front().claimed_at < age) return {};
  average_run_time_ = std::max<std::chrono::nanoseconds>(average_run_time_, age);  // running tasks take that long
  return take_back();
}

Pool::Next Pool::next(Slot& slot, TimePoint now, TimePoint held_until) {
  require_invariant(slot.state_ == SlotState::idle, "a thread takes its next task after it has reported the last");
  if (closed_ || busy_ >= concurrency_ || waiting_.empty()) return Next::wait;
  if (now >= held_until) {
    close();
    return Next::wait;
  }
  if (now >= waiting_.front().expires_at) {
    expired_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();  // behind what may throw: no task is lost
    return Next::expired;
  }
  slot.run_.emplace(std::move(waiting_.front()), now);
  waiting_.pop_front();
  ++busy_;
  if (slot.run_->task.cancelled) {
    slot.state_ = SlotState::reporting;
    ++reporting_;
    return Next::cancelled;
  }
  slot.state_ = SlotState::running;
  return Next::run;
}

bool Pool::on_ended(Slot& slot, std::chrono::nanoseconds run_time) {
  if (slot.state_ == SlotState::given_up) return false;
  require_invariant(has_handler(slot), "a handler ends in a slot that runs");
  note_run_time(run_time);
  slot.state_ = SlotState::reporting;
  ++reporting_;
  return true;
}

void Pool::on_reported(Slot& slot) {
  require_invariant(slot.state_ == SlotState::reporting, "a report is handed on once, after its handler has ended");
  slot.run_.reset();
  slot.state_ = SlotState::idle;
  --reporting_;
  --busy_;
}

bool Pool::on_broken(Slot& slot) {
  if (slot.state_ == SlotState::given_up) return false;
  if (slot.state_ == SlotState::reporting) --reporting_;
  if (slot.state_ != SlotState::idle) --busy_;
  slot.state_ = SlotState::broken;
  return true;
}

void Pool::note_run_time(std::chrono::nanoseconds run_time) {
  run_time = std::max(run_time, std::chrono::nanoseconds{1});
  const bool is_first = average_run_time_.count() == 0;
  average_run_time_ = is_first ? run_time : average_run_time_ + (run_time - average_run_time_) / 16;
}

bool Pool::has_handler(const Slot& slot) noexcept {
  return slot.state_ == SlotState::running || slot.state_ == SlotState::stopping;
}

/// The first reason counts.
Pool::Stop Pool::stop(std::size_t index, StopReason reason, TimePoint now) {
  Slot& slot = *slots_[index];
  if (slot.state_ == SlotState::running) {
    slot.state_ = SlotState::stopping;
    slot.stopped_at_ = now;
    slot.reason_ = reason;
  }
  return {index, slot.reason_, given_up_at(slot)};
}

/// At a shutdown, and when the lease is lost, the worker gives up all attempts at once, after it has signed off.
TimePoint Pool::given_up_at(const Slot& slot) const {
  const bool by_itself = slot.reason_ == StopReason::timeout || slot.reason_ == StopReason::cancelled;
  return by_itself ? slot.stopped_at_ + stop_grace_ : never;
}

std::vector<Pool::Stop> Pool::stop_all(StopReason reason, TimePoint now) {
  close();
  std::vector<Stop> stops;
  for (const std::size_t index : with_handler()) stops.push_back(stop(index, reason, now));
  return stops;
}

std::optional<Pool::Stop> Pool::cancel(TaskId id, int attempt, TimePoint now) {
  for (ClaimedTask& task : waiting_) {
    if (task.id == id && task.attempt == attempt) task.cancelled = true;
  }
  for (const std::size_t index : with_handler()) {
    const ClaimedTask& task = slots_[index]->run_->task;
    if (task.id == id && task.attempt == attempt) return stop(index, StopReason::cancelled, now);
  }
  return std::nullopt;
}

Pool::Due Pool::due(TimePoint now) {
  Due due;
  for (std::size_t i = slots_.size(); i-- > 0;) {
    Slot& slot = *slots_[i];
    if (slot.state_ == SlotState::running && now >= slot.run_->deadline) {
      due.stops.push_back(stop(i, StopReason::timeout, now));
    }
    if (!has_handler(slot)) continue;
    const TimePoint at = slot.state_ == SlotState::running ? slot.run_->deadline : given_up_at(slot);
    if (at <= now) {
      due.overdue.push_back(i);
    } else {
      due.next = std::min(due.next, at);
    }
  }
  return due;
}

std::vector<std::size_t> Pool::with_handler() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (has_handler(*slots_[i])) indices.push_back(i);
  }
  return indices;
}

std::pair<const Pool::Run&, StopReason> Pool::give_up(std::size_t index) {
  Slot& slot = *slots_.at(index);
  require_invariant(has_handler(slot), "only an attempt that runs is given up");
  slot.state_ = SlotState::given_up;
  --busy_;
  return {*slot.run_, slot.reason_};
}

std::size_t Pool::demand() const {
  const std::size_t at_once = std::min(concurrency_, slots_.size());
  const std::size_t ahead = prefetch(at_once, average_run_time_);
  const std::size_t target = at_once + ahead;
  // A thread that is reporting is as good as free: its report may be what makes the claimer ask.
  const std::size_t held_now = waiting_.size() + busy_ - reporting_;
  // With tasks ahead there is time to gather a batch. Without them, every free thread counts.
  const std::size_t refill_below = ahead > 0 ? at_once + ahead / 2 : target;
  return held_now < refill_below ? target - held_now : 0;
}

Pool::Load Pool::load() const noexcept { return {.at_once = concurrency_, .busy = busy_, .waiting = waiting_.size()}; }

std::vector<Attempt> Pool::held() const {
  std::vector<Attempt> attempts;
  for (const ClaimedTask& task : waiting_) attempts.push_back({task.id, task.attempt});
  for (const ClaimedTask& task : expired_) attempts.push_back({task.id, task.attempt});
  for (const auto& slot : slots_) {
    if (slot->run_) attempts.push_back({slot->run_->task.id, slot->run_->task.attempt});
  }
  return attempts;
}

std::string_view to_text(Pool::SlotState state) noexcept {
  switch (state) {
    case Pool::SlotState::idle:
      return "idle";
    case Pool::SlotState::running:
      return "running";
    case Pool::SlotState::stopping:
      return "stopping";
    case Pool::SlotState::reporting:
      return "reporting";
    case Pool::SlotState::given_up:
      return "given up";
    case Pool::SlotState::broken:
      break;
  }
  return "broken";
}

std::string_view to_text(Pool::Next next) noexcept {
  switch (next) {
    case Pool::Next::wait:
      return "wait";
    case Pool::Next::expired:
      return "expired";
    case Pool::Next::cancelled:
      return "cancelled";
    case Pool::Next::run:
      break;
  }
  return "run";
}

std::ostream& operator<<(std::ostream& out, Pool::SlotState state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Pool::Next next) { return out << to_text(next); }

std::ostream& operator<<(std::ostream& out, const Pool::Stop& stop) {
  return out << "slot " << stop.slot << " for " << reason_text(stop.reason) << ", given up at "
             << stop.given_up_at.time_since_epoch().count();
}

std::ostream& operator<<(std::ostream& out, const Pool::Due& due) {
  for (const Pool::Stop& stop : due.stops) out << "stop " << stop << "; ";
  for (const std::size_t slot : due.overdue) out << "give up slot " << slot << "; ";
  return out << "next at " << due.next.time_since_epoch().count();
}

std::ostream& operator<<(std::ostream& out, const Pool::Load& load) {
  return out << load.busy << " of " << load.at_once << " busy, " << load.waiting << " waiting";
}

}  // namespace dogged::runtime
