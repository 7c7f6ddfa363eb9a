// See plan.hpp.
#include "claim/core/plan.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace dogged::runtime {
namespace {

constexpr milliseconds ask_due_while_busy{1000};
constexpr milliseconds ask_due_while_polling{10};

}  // namespace

ClaimPlan::ClaimPlan(const Settings& settings, const std::vector<std::string>& queue_names, TimePoint now)
    : settings_(settings),
      queues_(queue_names),
      sleep_(settings.listens, settings.poll_interval, now),
      due_(now),
      settling_(now),
      hearing_(settings.listens) {}

ClaimPlan::Action ClaimPlan::next(TimePoint now, const Capacity& capacity) {
  if (course_ == Course::ends) return {.step = Step::end};
  if (auto action = first_of_all(now)) return *action;
  if (auto action = look(now)) return *action;
  if (settings_.has_circuits && std::exchange(circuits_unknown_, false)) return {.step = Step::refresh_circuits};
  if (auto action = follow(now)) return *action;
  // Before claims: a claimer that always finds work never waits.
  if (auto action = of(due_.before_claim(now))) return *action;
  if (others_to_wake_) return {.step = Step::wake_others};
  if (turn_ == Turn::must_hear) {
    if (auto action = keep_books(now)) return *action;
    turn_ = Turn::may_claim;
    if (hearing_.state() == Hearing::State::listening) return {.step = Step::hear, .until = now};
  }
  if (capacity.can_report && capacity.backlog < max_backlog) {
    if (auto claims = queues_.claims(capacity.demand); !claims.empty()) {
      turn_ = Turn::must_hear;
      return {.step = Step::claim, .queues = std::move(claims)};
    }
  }
  // After claims: a worker that has slept for longer than a second has bookkeeping to do, and would begin its tasks
  // later by as much.
  if (auto action = keep_books(now)) {
    turn_ = Turn::must_hear;
    return *action;
  }
  if (auto action = before_wait(now)) return *action;
  return wait(capacity);
}

std::optional<ClaimPlan::Action> ClaimPlan::first_of_all(TimePoint now) {
  const Certainty::Ask ask = certainty_.next(now);
  if (ask == Certainty::Ask::begin_session) return Action{.step = Step::begin_session};
  // Before the claimer gives tasks back, so that it hears every notification from there on.
  if (hearing_.is_deaf()) return Action{.step = Step::listen};
  if (ask == Certainty::Ask::give_back) return Action{.step = Step::give_back_unknown};
  if (auto paused = queues_.take_newly_paused(); !paused.empty()) {
    return Action{.step = Step::give_back_paused, .paused = std::move(paused)};
  }
  if (now >= look_for_stale_at_) {
    look_for_stale_at_ = now + longest_wait_for_thread;
    return Action{.step = Step::give_back_stale};
  }
  if (std::exchange(has_expired_, false)) return Action{.step = Step::end_expired};
  return std::nullopt;
}

std::optional<ClaimPlan::Action> ClaimPlan::look(TimePoint now) {
  switch (sleep_.take_look(now)) {
    case Sleep::Look::nowhere:
      return std::nullopt;
    case Sleep::Look::in_queues:
      queues_.look_again();
      return std::nullopt;
    case Sleep::Look::everywhere:
      look_everywhere(now);
      return std::nullopt;
    case Sleep::Look::for_missed:
      break;
  }
  circuits_unknown_ = true;
  // In case the notification that an operator ends a pause was lost.
  if (queues_.any(ServedQueues::State::paused)) following_.on_changed();
  return Action{.step = Step::look_for_missed, .queues = queues_.drained()};
}

/// A worker that does not listen asks each second, so that it also notices when a pause ends.
std::optional<ClaimPlan::Action> ClaimPlan::follow(TimePoint now) {
  if (following_.is_due(now) || (hearing_.state() == Hearing::State::polls_only && following_.is_old(now))) {
    return Action{.step = Step::follow_queues};
  }
  return std::nullopt;
}

/// Settings of queues are read while claims go on as well, in case a notification was lost.
std::optional<ClaimPlan::Action> ClaimPlan::keep_books(TimePoint now) {
  if (const auto question = settling_.take_question(now, queues_.any(ServedQueues::State::drained))) {
    return Action{.step = Step::settle, .question = *question};
  }
  if (certainty_.knows_what_it_holds() && sum_.is_due(now)) return Action{.step = Step::sum_up};
  if (following_.is_old(now) && queues_.any(ServedQueues::State::open)) {
    return Action{.step = Step::follow_queues};
  }
  return std::nullopt;
}

std::optional<ClaimPlan::Action> ClaimPlan::before_wait(TimePoint now) {
  switch (sleep_.before_wait(now, queues_.any(ServedQueues::State::drained))) {
    case Sleep::Ask::wake_up:
      return Action{.step = Step::wake_up};
    case Sleep::Ask::fall_asleep:
      return Action{.step = Step::fall_asleep};
    case Sleep::Ask::oldest_transaction:
      return Action{.step = Step::ask_oldest_transaction};
    case Sleep::Ask::nothing:
      break;
  }
  // An awake worker is not notified of a task that is due earlier.
  if (sleep_.state() == Sleep::State::self_polling) due_.ask_within(ask_due_while_polling, now);
  return of(due_.before_wait(now));
}

std::optional<ClaimPlan::Action> ClaimPlan::of(DueTime::Ask ask) {
  switch (ask) {
    case DueTime::Ask::nothing:
      return std::nullopt;
    case DueTime::Ask::promote:
      return Action{.step = Step::promote};
    case DueTime::Ask::due_time:
      return Action{.step = Step::ask_due_time};
  }
  return std::nullopt;
}

ClaimPlan::Action ClaimPlan::wait(const Capacity& capacity) const {
  TimePoint until = std::min({sleep_.looks_at(), due_.asks_at(), certainty_.asks_at(), following_.resumes_at()});
  if (capacity.holds_waiting) until = std::min(until, look_for_stale_at_);
  if (hearing_.state() == Hearing::State::polls_only) until = std::min(until, following_.old_at());
  return {.step = Step::hear, .until = until, .for_room = queues_.any(ServedQueues::State::open)};
}

void ClaimPlan::on_told(const Told& told, TimePoint now) {
  if (told.has_ready || told.has_rescued || told.server_is_back) {
    queues_.look_again();
    due_.on_unknown();  // if the server's clock was set back, tasks that this worker made ready wait again
  }
  if (told.has_ready) others_to_wake_ = true;
  if (told.has_rescued) sleep_.on_notified(1, now);
  if (told.server_is_back) {
    circuits_unknown_ = true;
    following_.on_changed();
  }
  if (told.has_expired) has_expired_ = true;
  if (told.due_at != never) due_.on_scheduled(told.due_at);
}

void ClaimPlan::on_notified(std::string_view queue, TimePoint now) {
  if (!queues_.on_notified(queue)) return;
  due_.on_unknown();
  sleep_.on_notified(1, now);
}

void ClaimPlan::on_session_begun(TimePoint now) {
  certainty_.on_session_begun();
  sum_.forget_entry();
  look_everywhere(now);
}

void ClaimPlan::on_listening(TimePoint now) {
  hearing_.on_listening();
  look_everywhere(now);  // notifications until now are lost
}

void ClaimPlan::on_given_back(std::size_t count, std::vector<TaskId> locked, TimePoint now) {
  certainty_.on_given_back(std::move(locked), now);
  if (count > 0) look_everywhere(now);
}

void ClaimPlan::on_missed(bool has_ready, std::optional<milliseconds> due_in, TimePoint now) {
  due_.on_due_time(due_in, now, settings_.poll_interval);
  if (has_ready) look_everywhere(now);
}

bool ClaimPlan::on_queue_settings(std::size_t queue, bool paused, std::optional<milliseconds> resumes_in,
                                  TimePoint now) {
  if (resumes_in) following_.on_pause(*resumes_in, now);
  if (paused == (queues_.all().at(queue).state == ServedQueues::State::paused)) return false;
  queues_.set_paused(queue, paused);
  due_.on_unknown();
  return true;
}

void ClaimPlan::on_promoted(std::size_t count, TimePoint now) {
  const bool others_are_at_it = due_.on_promoted(count, now, ask_due_again());
  if (count > 0 || others_are_at_it) queues_.look_again();
  if (count > 0) others_to_wake_ = true;
}

void ClaimPlan::on_due_time(std::optional<milliseconds> due_in, TimePoint now) {
  due_.on_due_time(due_in, now, ask_due_again());
}

/// A sleeping worker is notified of a task that is due earlier. If all queues are paused, no task may begin.
milliseconds ClaimPlan::ask_due_again() const noexcept {
  if (sleep_.row_says_asleep() || queues_.all_paused()) return settings_.poll_interval;
  return sleep_.state() == Sleep::State::self_polling ? ask_due_while_polling : ask_due_while_busy;
}

void ClaimPlan::on_claimed(const QueueClaim& claim, const std::vector<Place>& places, TimePoint now) {
  queues_.on_claimed(claim, places);
  if (places.empty()) return;
  sleep_.on_found(now);
  settling_.on_claimed(places.size());
  sum_.on_claimed(places.size());
}

void ClaimPlan::on_settled(const Settling::Question& question, const Settling::Answer& answer,
                           const std::vector<ServedQueues::Settled>& settled, TimePoint asked_at,
                           TimePoint answered_at) {
  queues_.on_settled(settled, question.from_beginning);
  if (settling_.on_answer(question, answer, asked_at, answered_at) == Settling::Outcome::taken) return;
  queues_.forget_watermarks();
  settling_.forget(answered_at);
  look_everywhere(answered_at);
}

void ClaimPlan::on_summed_up(std::int64_t entry, TimePoint now) noexcept { sum_.on_summed_up(entry, now); }

void ClaimPlan::on_asleep(const Sleep::Transactions& open, TimePoint now) {
  sleep_.on_asleep(open, now);
  look_everywhere(now);  // for tasks that were committed before their transaction could see the flag
}

void ClaimPlan::on_failure(bool connection_lost, TimePoint now) {
  certainty_.on_failure();
  hearing_.on_failure();
  sleep_.on_failure();
  if (connection_lost) {
    queues_.forget_watermarks();
    settling_.forget(now);
  }
  look_everywhere(now);
}

void ClaimPlan::look_everywhere(TimePoint now) {
  queues_.look_again();
  due_.on_unknown();  // an awake worker is not notified of a delayed task
  circuits_unknown_ = true;
  following_.on_changed();
  sleep_.on_look_everywhere(now);
}

std::string_view to_text(ClaimPlan::Step step) noexcept {
  using Step = ClaimPlan::Step;
  switch (step) {
    case Step::begin_session:
      return "begin session";
    case Step::listen:
      return "listen";
    case Step::give_back_unknown:
      return "give back unknown";
    case Step::give_back_paused:
      return "give back paused";
    case Step::give_back_stale:
      return "give back stale";
    case Step::end_expired:
      return "end expired";
    case Step::look_for_missed:
      return "look for missed";
    case Step::refresh_circuits:
      return "refresh circuits";
    case Step::follow_queues:
      return "follow queues";
    case Step::promote:
      return "promote";
    case Step::ask_due_time:
      return "ask due time";
    case Step::wake_others:
      return "wake others";
    case Step::claim:
      return "claim";
    case Step::settle:
      return "settle";
    case Step::sum_up:
      return "sum up";
    case Step::wake_up:
      return "wake up";
    case Step::fall_asleep:
      return "fall asleep";
    case Step::ask_oldest_transaction:
      return "ask oldest transaction";
    case Step::hear:
      return "hear";
    case Step::end:
      break;
  }
  return "end";
}

std::ostream& operator<<(std::ostream& out, ClaimPlan::Step step) { return out << to_text(step); }

std::ostream& operator<<(std::ostream& out, const ClaimPlan::Action& action) {
  out << to_text(action.step);
  for (const QueueClaim& claim : action.queues) out << ' ' << claim;
  for (const std::size_t queue : action.paused) out << " queue " << queue;
  if (action.step == ClaimPlan::Step::settle) out << ' ' << action.question;
  if (action.step == ClaimPlan::Step::hear) out << " until " << action.until.time_since_epoch().count();
  return action.for_room ? out << " or for room" : out;
}

}  // namespace dogged::runtime
