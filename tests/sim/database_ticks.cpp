// The statements of a schedule (schema/fire.sql). See database.hpp.
#include <algorithm>
#include <utility>

#include "database.hpp"
#include "promises.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using Outcome = ScheduleRow::Outcome;

constexpr Duration late_for_missed = 30s;
constexpr Duration until_waiting_is_looked_after = 1s;
constexpr int most_at_once = 20;

/// The first tick after `time`.
TimePoint next_tick(const ScheduleRow& schedule, TimePoint time) {
  const Duration every = schedule.settings.every;
  const auto ahead = time - schedule.next_at;
  return ahead < Duration{0} ? schedule.next_at : schedule.next_at + (ahead / every + 1) * every;
}

}  // namespace

void Database::set_schedule(const ScheduleSettings& settings, milliseconds first_in) {
  now_.schedule = {.settings = settings, .next_at = now() + first_in, .fires_at = now() + first_in};
}

std::optional<milliseconds> Database::tick_due_in() const {
  const std::optional<TimePoint>& fires_at = now_.schedule.fires_at;
  if (!fires_at) return std::nullopt;
  return std::chrono::ceil<milliseconds>(*fires_at - now());
}

/// The first tick that is to be made up for, or that is not missed.
TimePoint Database::first_to_fire() const {
  const ScheduleRow& schedule = now_.schedule;
  const auto& [every, overlap, catch_up, limit] = schedule.settings;
  const TimePoint on_time = now() - late_for_missed;
  const TimePoint first_on_time = next_tick(schedule, on_time);
  if (schedule.next_at > on_time) return schedule.next_at;
  const TimePoint oldest =
      catch_up ? std::max(schedule.next_at, std::min(now() - *catch_up, on_time + Duration{1})) : schedule.next_at;
  const TimePoint first_in_window = next_tick(schedule, oldest - Duration{1});
  if (!limit) return first_in_window;
  return std::max(first_in_window, first_on_time - static_cast<std::int64_t>(*limit) * every);
}

std::size_t Database::waiting_ticks() const {
  return static_cast<std::size_t>(
      std::count_if(now_.schedule.ticks.begin(), now_.schedule.ticks.end(),
                    [](const auto& tick) { return tick.second.outcome == Outcome::waiting; }));
}

void Database::forget_ended_tasks() {
  std::erase_if(now_.schedule.live_tasks, [this](TaskId id) { return !now_.live.contains(id); });
}

void Database::start_tick(TimePoint time) {
  ScheduleRow& schedule = now_.schedule;
  Transaction transaction = begin();
  enqueue(transaction, 1, {});
  commit(transaction);
  const TaskId id = transaction.ids.front();
  promises::ticks_overlap_as_they_may(schedule, id, *this);
  ScheduleRow::Tick& tick = schedule.ticks[time];
  tick.outcome = Outcome::fired;
  tick.tasks.push_back(id);
  tick.fired_at = now();
  schedule.live_tasks.push_back(id);
}

void Database::start_waiting_tick() {
  for (const auto& [time, tick] : now_.schedule.ticks) {
    if (tick.outcome == Outcome::waiting) return start_tick(time);
  }
}

void Database::decide_tick(TimePoint time) {
  ScheduleRow& schedule = now_.schedule;
  const Overlap overlap = schedule.settings.overlap;
  const bool overlaps = !schedule.live_tasks.empty() && overlap != Overlap::allow_all;
  if (!overlaps || mutant_ == Mutant::overlap_that_is_overlooked) return start_tick(time);
  const bool waits = overlap == Overlap::buffer_all || (overlap == Overlap::buffer_one && waiting_ticks() == 0);
  schedule.ticks[time].outcome = waits ? Outcome::waiting : Outcome::skipped;
}

Database::Fired Database::fire_due_ticks() {
  ScheduleRow& schedule = now_.schedule;
  if (!schedule.fires_at || *schedule.fires_at > now()) return {0, tick_due_in()};
  const TimePoint first = first_to_fire();
  forget_ended_tasks();
  if (schedule.live_tasks.empty()) start_waiting_tick();
  if (first > schedule.next_at) {
    schedule.ticks[schedule.next_at] = {.outcome = Outcome::skipped, .missed_until = first};
    schedule.next_at = first;
  }
  for (int i = 0; i < most_at_once && schedule.next_at <= now(); ++i) {
    decide_tick(schedule.next_at);
    if (mutant_ == Mutant::tick_that_fires_again && scheduler_.chance(20)) break;
    schedule.next_at += schedule.settings.every;
  }
  if (schedule.settings.overlap == Overlap::allow_all) schedule.live_tasks.clear();
  schedule.fires_at = schedule.next_at;
  if (waiting_ticks() > 0) schedule.fires_at = std::min(schedule.next_at, now() + until_waiting_is_looked_after);
  return {1, tick_due_in()};
}

}  // namespace dogged::sim
