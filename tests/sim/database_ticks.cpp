// The statements of a schedule (schema/fire.sql, schema/schedules.sql, schema/declare_schedules.sql). See database.hpp.
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
  const Duration since = time - schedule.next_at;
  const std::int64_t whole = since / every - (since % every < Duration{0} ? 1 : 0);
  return schedule.next_at + (whole + 1) * every;
}

bool runs_or_waits(const ScheduleRow& schedule, TimePoint tick) {
  const auto found = schedule.ticks.find(tick);
  return found != schedule.ticks.end() &&
         (found->second.outcome == Outcome::fired || found->second.outcome == Outcome::waiting);
}

ScheduleRow::Tick tick_of(const ScheduleRow& schedule, Outcome outcome) {
  return {.outcome = outcome,
          .every = schedule.settings.every,
          .changes = schedule.changes.size(),
          .settings_number = schedule.settings_number};
}

bool is_superseded_by(Overlap overlap, const ScheduleRow::Tick& tick) {
  return overlap == Overlap::cancel_other && tick.outcome == Outcome::waiting;
}

}  // namespace

void Database::set_schedule(const ScheduleSettings& settings, milliseconds first_in) {
  now_.schedule = {.settings = settings, .first_at = now() + first_in, .next_at = now() + first_in};
  now_.schedule.fires_at = fires_at_of(now_.schedule.next_at);
  on_schedules_changed();
}

void Database::change_schedule(const ScheduleSettings& settings, milliseconds a_time_in) {
  ScheduleRow& schedule = now_.schedule;
  if (settings == schedule.settings) return;
  const TimePoint a_time = now() + a_time_in;
  const bool has_other_times = settings.every != schedule.settings.every;
  if (has_other_times) settle_times_before_change();
  schedule.settings = settings;
  ++schedule.settings_number;
  if (has_other_times) {
    schedule.next_at = a_time;
    const TimePoint decided_until = std::max(now(), schedule.last_tick_at.value_or(now()));
    schedule.next_at = next_tick(schedule, decided_until);
    if (decided_until < schedule.first_at) schedule.first_at = schedule.next_at;
    schedule.changes.push_back({decided_until, schedule.next_at});
  }
  if (!schedule.is_paused) schedule.fires_at = looked_after_at();
  on_schedules_changed();
}

/// Of the declarations that live workers make, the one that was first seen last.
std::optional<ScheduleSettings> Database::declared_now() const {
  const auto is_made = [this](const ScheduleSettings& declared) {
    return std::any_of(now_.workers.begin(), now_.workers.end(), [&declared](const auto& worker) {
      return worker.second.declares == declared && !worker.second.stopped && !worker.second.lease_ended;
    });
  };
  const auto newest = std::find_if(now_.declarations.rbegin(), now_.declarations.rend(), is_made);
  return newest == now_.declarations.rend() ? std::nullopt : std::optional{*newest};
}

/// Once: a change by hand stays until another declaration comes into force.
std::string_view Database::adopt_declaration(const ScheduleSettings& declared, milliseconds a_time_in) {
  if (now_.schedule.declared == declared) return "unchanged";
  const bool is_new = !has_schedule();
  const bool is_changed = now_.schedule.settings != declared;
  if (mutant_ != Mutant::declaration_that_changes_nothing) {
    is_new ? set_schedule(declared, a_time_in) : change_schedule(declared, a_time_in);
  }
  now_.schedule.declared = declared;
  return is_new ? "created" : is_changed ? "changed" : "unchanged";
}

std::optional<Database::Declared> Database::declare_schedule(std::int64_t worker, const ScheduleSettings& settings,
                                                             milliseconds a_time_in) {
  row_of(worker).declares = settings;
  std::vector<ScheduleSettings>& known = now_.declarations;
  if (std::find(known.begin(), known.end(), settings) == known.end()) known.push_back(settings);
  const std::optional<ScheduleSettings> newest = declared_now();
  if (!newest) return std::nullopt;
  Declared declared{.outcome = adopt_declaration(*newest, a_time_in), .in_force = *newest};
  if (*newest != settings) declared.outcome = "outvoted";
  declared.others = std::count_if(now_.workers.begin(), now_.workers.end(), [&settings](const auto& row) {
    const WorkerRow& other = row.second;
    return other.declares && other.declares != settings && !other.stopped && !other.lease_ended;
  });
  return declared;
}

void Database::pause_schedule() {
  ScheduleRow& schedule = now_.schedule;
  if (schedule.fires_at && *schedule.fires_at <= now()) {
    fire_schedule();
    if (schedule.fires_at && *schedule.fires_at <= now()) {  // a call fires no more
      skip_until(now() + 1us, Outcome::missed);
      note_last_tick(now());
      schedule.next_at = next_tick(schedule, schedule.last_tick_at.value_or(now()));
    }
  }
  schedule.is_paused = true;
  now_.schedule.fires_at.reset();
  on_schedules_changed();
}

void Database::resume_schedule() {
  ScheduleRow& schedule = now_.schedule;
  if (!std::exchange(schedule.is_paused, false)) return;
  if (schedule.next_at <= now() && mutant_ != Mutant::pause_that_leaves_no_row) {
    skip_until(now() + 1us, Outcome::paused);
    note_last_tick(now());
  }
  schedule.next_at = next_tick(schedule, std::max(now(), schedule.last_tick_at.value_or(now())));
  schedule.fires_at = looked_after_at();
  on_schedules_changed();
}

int Database::backfill_schedule(milliseconds from, milliseconds until, Overlap overlap) {
  ScheduleRow& schedule = now_.schedule;
  const std::vector<TaskId> live_before = schedule.live_tasks;
  int started = 0;
  std::optional<TimePoint> last;
  forget_ended_tasks();
  for (TimePoint tick = next_tick(schedule, now() - from - Duration{1}); tick < now() - until;
       tick += schedule.settings.every) {
    last = tick;
    if (runs_or_waits(schedule, tick)) continue;
    const auto range = schedule.ticks.find(tick);
    const auto before = range == schedule.ticks.end() ? std::nullopt : std::optional{range->second};
    decide_tick(tick, overlap, true);
    if (before && before->skipped_until && mutant_ != Mutant::range_that_loses_its_rest) hand_range_on(tick, *before);
    if (runs_or_waits(schedule, tick)) ++started;
  }
  if (overlap == Overlap::allow_all) schedule.live_tasks = live_before;
  if (last < schedule.next_at) note_last_tick(last);
  if (!schedule.is_paused) schedule.fires_at = looked_after_at();
  on_schedules_changed();
  return started;
}

void Database::hand_range_on(TimePoint tick, const ScheduleRow::Tick& skipped) {
  ScheduleRow& schedule = now_.schedule;
  if (skipped.settings_number < schedule.settings_number) {
    schedule.ticks[tick + 1us] = skipped;
    return;
  }
  const TimePoint next = std::exchange(schedule.next_at, tick + schedule.settings.every);
  skip_until(*skipped.skipped_until, skipped.outcome);
  schedule.next_at = next;
}

std::optional<milliseconds> Database::tick_due_in() const {
  const std::optional<TimePoint>& fires_at = now_.schedule.fires_at;
  if (!fires_at) return std::nullopt;
  return std::chrono::ceil<milliseconds>(*fires_at - now());
}

bool Database::is_to_cancel_others() const {
  const auto& ticks = now_.schedule.ticks;
  return waiting_ticks() == 1 && std::any_of(ticks.begin(), ticks.end(), [](const auto& tick) {
           return tick.second.outcome == Outcome::waiting && !tick.second.is_backfilled;
         });
}

bool Database::is_near_a_tick(Duration distance) const {
  const ScheduleRow& schedule = now_.schedule;
  const TimePoint end = now() + distance;
  for (TimePoint tick = schedule.next_at; tick < end; tick += schedule.settings.every) {
    if (std::chrono::abs(fires_at_of(tick) - now()) < distance) return true;
  }
  return false;
}

TimePoint Database::fires_at_of(TimePoint tick) const { return tick + jitter_of(tick, now_.schedule.settings.jitter); }

TimePoint Database::looked_after_at() const {
  const TimePoint due = fires_at_of(now_.schedule.next_at);
  return waiting_ticks() > 0 ? std::min(due, now() + until_waiting_is_looked_after) : due;
}

/// The first tick that a worker makes up for, or that is not missed.
TimePoint Database::first_to_fire() const {
  const ScheduleRow& schedule = now_.schedule;
  const auto& [every, overlap, catch_up, limit, jitter] = schedule.settings;
  const TimePoint on_time = now() - late_for_missed - jitter;
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

void Database::start_tick(TimePoint time, bool fires_beside_others) {
  ScheduleRow& schedule = now_.schedule;
  Transaction transaction = begin();
  enqueue(transaction, 1, {});
  commit(transaction);
  const TaskId id = transaction.ids.front();
  if (!fires_beside_others) promises::ticks_overlap_as_they_may(schedule, id, *this);
  // A tick that waited may be of other distances.
  ScheduleRow::Tick& tick = schedule.ticks.try_emplace(time, tick_of(schedule, Outcome::fired)).first->second;
  tick.outcome = Outcome::fired;
  tick.tasks.push_back(id);
  tick.fired_at = now();
  tick.skipped_until.reset();
  tick.is_forgotten = fires_beside_others;
  schedule.live_tasks.push_back(id);
}

void Database::start_waiting_tick() {
  for (const auto& [time, tick] : now_.schedule.ticks) {
    if (tick.outcome == Outcome::waiting) return start_tick(time, false);
  }
}

/// Passes over rows that are locked.
void Database::cancel_earlier_ticks() {
  ScheduleRow& schedule = now_.schedule;
  for (const TaskId id : schedule.live_tasks) {
    if (!now_.live.contains(id) || is_locked(now_.tasks.at(id))) continue;
    if (!now_.tasks.at(id).cancel_requested && mutant_ != Mutant::tick_that_cancels_nothing) cancel(id);
    promises::an_earlier_tick_is_cancelled(id, *this);
  }
  forget_ended_tasks();
}

void Database::supersede_waiting() {
  for (auto& [time, tick] : now_.schedule.ticks) {
    if (tick.outcome == Outcome::waiting) tick.outcome = Outcome::superseded;
  }
}

void Database::decide_tick(TimePoint time, Overlap overlap, bool is_backfilled) {
  ScheduleRow& schedule = now_.schedule;
  if (runs_or_waits(schedule, time) && !is_superseded_by(overlap, schedule.ticks.at(time)) &&
      mutant_ != Mutant::tick_that_fires_again) {
    return;
  }
  if (overlap == Overlap::cancel_other) {
    supersede_waiting();
    cancel_earlier_ticks();
  }
  const bool overlaps = !schedule.live_tasks.empty() && overlap != Overlap::allow_all;
  if (!overlaps || mutant_ == Mutant::overlap_that_is_overlooked) {
    return start_tick(time, overlap == Overlap::allow_all);
  }
  const bool is_skipped = overlap == Overlap::skip || (overlap == Overlap::buffer_one && waiting_ticks() > 0);
  schedule.ticks[time] = tick_of(schedule, is_skipped ? Outcome::overlap : Outcome::waiting);
  schedule.ticks[time].is_backfilled = is_backfilled;
}

void Database::skip_until(TimePoint time, Outcome reason) {
  ScheduleRow& schedule = now_.schedule;
  TimePoint tick = schedule.next_at;
  while (runs_or_waits(schedule, tick)) tick += schedule.settings.every;
  if (tick >= time) return;
  schedule.ticks[tick] = tick_of(schedule, reason);
  schedule.ticks[tick].skipped_until = time;
}

void Database::note_last_tick(std::optional<TimePoint> time) {
  std::optional<TimePoint>& last = now_.schedule.last_tick_at;
  last = std::max(last, time);
}

void Database::fire_schedule() {
  ScheduleRow& schedule = now_.schedule;
  const TimePoint first = first_to_fire();
  forget_ended_tasks();
  if (schedule.settings.overlap == Overlap::cancel_other && is_to_cancel_others()) cancel_earlier_ticks();
  if (schedule.live_tasks.empty()) start_waiting_tick();
  if (first > schedule.next_at) {
    skip_until(first, Outcome::missed);
    note_last_tick(first - 1us);
    schedule.next_at = first;
  }
  for (int i = 0; i < most_at_once && fires_at_of(schedule.next_at) <= now(); ++i) {
    const std::vector<TaskId> live_before = schedule.live_tasks;
    decide_tick(schedule.next_at, schedule.settings.overlap, false);
    if (schedule.settings.overlap == Overlap::allow_all) schedule.live_tasks = live_before;
    if (mutant_ == Mutant::tick_that_fires_again && scheduler_.chance(20)) break;
    schedule.last_tick_at = schedule.next_at;
    schedule.next_at += schedule.settings.every;
  }
  if (schedule.settings.overlap == Overlap::allow_all && waiting_ticks() == 0) {
    schedule.live_tasks.clear();
    for (auto& [time, tick] : schedule.ticks) tick.is_forgotten = true;
  }
  schedule.fires_at = looked_after_at();
}

void Database::settle_times_before_change() {
  ScheduleRow& schedule = now_.schedule;
  if (schedule.next_at > now()) return;
  if (schedule.fires_at && *schedule.fires_at <= now()) fire_schedule();
  if (mutant_ == Mutant::change_that_forgets_due_ticks) return;
  if (schedule.next_at <= now()) {
    skip_until(now() + 1us, schedule.is_paused ? Outcome::paused : Outcome::missed);
    note_last_tick(now());
  }
}

Database::Fired Database::fire_due_ticks() {
  if (!now_.schedule.fires_at || *now_.schedule.fires_at > now()) return {0, tick_due_in()};
  fire_schedule();
  return {1, tick_due_in()};
}

}  // namespace dogged::sim
