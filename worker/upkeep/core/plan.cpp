// See plan.hpp.
#include "upkeep/core/plan.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

constexpr int turns_of_two_rounds = 16;

}  // namespace

UpkeepPlan::UpkeepPlan(const Settings& settings, TimePoint now) noexcept
    : looks_(settings.heartbeat, settings.lets_others_renew, now),
      rescues_(settings.heartbeat),
      comparison_(settings.heartbeat, settings.compares_again_after),
      ticks_(settings.ticks) {}

UpkeepPlan::Action UpkeepPlan::next(TimePoint now) {
  if (is_stopping_ && state_ != State::rescue) return {.step = Step::end};
  bool all_answered = false;
  for (int turns = 0; turns < turns_of_two_rounds; ++turns) {
    if (state_ == State::rest && std::exchange(has_asked_, false)) all_answered = true;
    if (auto action = take_turn(now)) {
      action->all_answered = all_answered;
      has_asked_ = has_asked_ || (action->step != Step::connect && action->step != Step::wait);
      return *action;
    }
  }
  require_invariant(false, "two rounds of upkeep give an action");
  return {.step = Step::end};
}

/// Each turn without an action passes the turn on. After rest() a tick, a look or a batch is due.
std::optional<UpkeepPlan::Action> UpkeepPlan::take_turn(TimePoint now) {
  switch (state_) {
    case State::ticks:
      state_ = State::look;
      if (now >= ticks_.asks_at()) return Action{.step = Step::fire_ticks};
      return std::nullopt;
    case State::look:
      return look(now);
    case State::end_leases:
      return Action{.step = Step::end_leases};
    case State::rescue:
      return Action{.step = Step::rescue};
    case State::look_again:
      asked_at_ = now;
      return Action{.step = Step::look, .look_back = expiry_.look_back(now)};
    case State::expiry:
      state_ = State::comparison;
      if (expiry_.state() == ExpiryPlan::State::idle) return std::nullopt;
      return Action{.step = Step::expire, .look_back = expiry_.looked_back(now)};
    case State::comparison:
      state_ = State::rest;
      if (comparison_.state() != ComparisonPlan::State::due || expiry_.state() != ExpiryPlan::State::idle) {
        return std::nullopt;
      }
      return Action{.step = Step::compare};
    case State::rest:
      break;
  }
  return rest(now);
}

std::optional<UpkeepPlan::Action> UpkeepPlan::look(TimePoint now) {
  switch (looks_.next(now)) {
    case LookPlan::Ask::nothing:
      state_ = State::expiry;
      return std::nullopt;
    case LookPlan::Ask::connect:
      state_ = State::expiry;
      return Action{.step = Step::connect};
    case LookPlan::Ask::look:
      break;
  }
  asked_at_ = now;
  return Action{.step = Step::look, .look_back = expiry_.look_back(now)};
}

std::optional<UpkeepPlan::Action> UpkeepPlan::rest(TimePoint now) {
  state_ = State::ticks;
  const TimePoint until = std::min(looks_.looks_at(), ticks_.asks_at());
  if (until <= now || expiry_.state() != ExpiryPlan::State::idle) return std::nullopt;
  return Action{.step = Step::wait, .until = until};
}

void UpkeepPlan::on_told(const ToldToUpkeep& told, TimePoint now) noexcept {
  if (told.schedules_changed) ticks_.on_changed(now);
  if (told.worker_began) {
    looks_.on_worker_began(now);
    comparison_.on_worker_began();
  }
}

bool UpkeepPlan::on_looked(const Outlook& found, const Lease& own, TimePoint now) {
  require_invariant(state_ == State::look || state_ == State::look_again,
                    "an answer to a look comes only while upkeep has asked for a look");
  ticks_.on_due(found.tick_due_in, found.comes_first, now);
  if (state_ == State::look_again) {
    end_look(found, now);
    return false;
  }
  const bool let_renew = rescues_.state() == RescuePlan::State::lets_renew;
  switch (rescues_.on_looked(found, own, now)) {
    case RescuePlan::Rescue::none:
      end_look(found, now);
      break;
    case RescuePlan::Rescue::of_ended_leases:
      state_ = State::rescue;
      break;
    case RescuePlan::Rescue::after_ending_lapsed:
      state_ = State::end_leases;
      break;
  }
  return rescues_.state() == RescuePlan::State::lets_renew && !let_renew;
}

void UpkeepPlan::on_leases_ended() {
  require_invariant(state_ == State::end_leases, "upkeep has ended the leases that it was to end");
  state_ = State::rescue;
}

void UpkeepPlan::on_rescued(bool left_tasks) {
  require_invariant(state_ == State::rescue, "upkeep has rescued the tasks that it was to rescue");
  looks_.on_rescued(left_tasks);
  state_ = State::look_again;
}

void UpkeepPlan::end_look(const Outlook& found, TimePoint now) noexcept {
  looks_.on_looked(found, rescues_.state() == RescuePlan::State::lets_renew, now);
  expiry_.on_looked(found.has_expired, asked_at_);
  comparison_.on_looked(found, asked_at_, now);
  state_ = State::expiry;
}

void UpkeepPlan::on_failure() noexcept {
  looks_.on_failure();
  expiry_.on_failure();
  comparison_.on_failure();
  state_ = State::ticks;
  has_asked_ = false;
}

std::string_view to_text(UpkeepPlan::State state) noexcept {
  using State = UpkeepPlan::State;
  switch (state) {
    case State::ticks:
      return "ticks";
    case State::look:
      return "look";
    case State::end_leases:
      return "end leases";
    case State::rescue:
      return "rescue";
    case State::look_again:
      return "look again";
    case State::expiry:
      return "expiry";
    case State::comparison:
      return "comparison";
    case State::rest:
      break;
  }
  return "rest";
}

std::string_view to_text(UpkeepPlan::Step step) noexcept {
  using Step = UpkeepPlan::Step;
  switch (step) {
    case Step::fire_ticks:
      return "fire ticks";
    case Step::connect:
      return "connect";
    case Step::look:
      return "look";
    case Step::end_leases:
      return "end leases";
    case Step::rescue:
      return "rescue";
    case Step::expire:
      return "expire";
    case Step::compare:
      return "compare";
    case Step::wait:
      return "wait";
    case Step::end:
      break;
  }
  return "end";
}

std::ostream& operator<<(std::ostream& out, UpkeepPlan::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, UpkeepPlan::Step step) { return out << to_text(step); }

std::ostream& operator<<(std::ostream& out, const UpkeepPlan::Action& action) {
  using Step = UpkeepPlan::Step;
  out << to_text(action.step);
  if (action.step == Step::wait) {
    out << " until " << action.until.time_since_epoch().count();
  } else if (action.step == Step::look || action.step == Step::expire) {
    out << " back ";
    if (action.look_back) {
      out << action.look_back->count() << " ms";
    } else {
      out << "for ever";
    }
  }
  return action.all_answered ? out << ", all answered" : out;
}

}  // namespace dogged::runtime
