// The statements of a schedule, on the model and on PostgreSQL. See comparison.hpp.
//
// A schedule of PostgreSQL fires at multiples of its distance since 1970. So the distances here divide the one by which
// time passes, and no tick comes near the present. A run may take two minutes.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "sql/registration.hpp"
#include "sql/upkeep.hpp"

namespace dogged::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

static_assert(step_of_time == minutes{20});  // query_of_ticks has it too
constexpr minutes shortest_distance{10};
constexpr seconds far_from_a_tick{120};
// In the order of the enums.
constexpr std::array<const char*, 5> overlap_texts{"skip", "buffer_one", "buffer_all", "cancel_other", "allow_all"};
constexpr std::array<const char*, 6> tick_outcome_texts{
    "fired", "waiting", "skipped overlap", "skipped superseded", "skipped missed", "skipped paused"};

std::int64_t in_steps(Duration time) { return time / Duration{step_of_time}; }

/// Also of a range that ends between two ticks.
std::int64_t steps_begun(Duration time) {
  const minutes rounded = std::chrono::round<minutes>(time);
  return (rounded + shortest_distance - minutes{1}) / shortest_distance;
}

}  // namespace

ScheduleSettings Comparison::some_settings() {
  ScheduleSettings settings{.every = scheduler_.pick(1, 2) * shortest_distance,
                            .overlap = static_cast<Overlap>(scheduler_.pick(0, 4))};
  if (scheduler_.chance(50)) settings.catch_up = scheduler_.pick(1, 2) * step_of_time;
  if (scheduler_.chance(60)) settings.catch_up_limit = static_cast<std::size_t>(scheduler_.pick(0, 2));
  // So that ticks are as far from being missed as from being due.
  if (scheduler_.chance(30)) settings.jitter = scheduler_.pick(1, 2) * step_of_time;
  return settings;
}

/// The model and PostgreSQL might decide otherwise: a tick is due now, or waits and is looked after now.
bool Comparison::is_no_moment_for_ticks() const {
  const ScheduleRow& schedule = model_.durable().schedule;
  const auto due_in = model_.tick_due_in();
  if (due_in && due_in->count() > 0 && *due_in < far_from_a_tick) return true;
  return schedule.settings.jitter > milliseconds{0} && model_.is_near_a_tick(far_from_a_tick);
}

std::int64_t Comparison::next_tick_of_postgres() {
  const test::Rows rows = postgres_.run(
      {"next_tick", "select (extract(epoch from next_at) * 1000000)::bigint as us from dogged.schedules"});
  return rows.one().number("us");
}

void Comparison::note_next_tick() {
  next_tick_ = model_.durable().schedule.next_at;
  next_tick_in_postgres_ = next_tick_of_postgres();
}

/// PostgreSQL derives the jitter from the time of the tick. All ticks are minutes apart.
Duration Comparison::jitter_in_postgres(TimePoint tick, milliseconds most) {
  if (most == milliseconds{0}) return Duration{0};
  const microseconds ahead = std::chrono::round<minutes>(tick - next_tick_);
  const test::Rows rows = postgres_.run(
      {"jitter",
       "select (extract(epoch from dogged.fires_at_of(tick) - tick.next_at) * 1000)::bigint as ms "
       "from dogged.schedules s, lateral jsonb_populate_record(s, jsonb_build_object("
       "'next_at', to_timestamp(0) + $1::bigint * interval '1 microsecond', 'jitter_ms', $2::bigint)) tick"},
      db::Params{}.add(next_tick_in_postgres_ + ahead.count()).add(std::int64_t{most.count()}));
  return milliseconds{rows.one().number("ms")};
}

/// The time zone decides when a distance begins: in Monrovia 44.5 minutes after UTC.
void Comparison::choose_time_zone() {
  if (!time_zone_.empty()) return;
  const auto since =
      std::chrono::floor<seconds>(std::chrono::system_clock::now()).time_since_epoch() % shortest_distance;
  const bool is_near = since < far_from_a_tick || since > shortest_distance - far_from_a_tick;
  time_zone_ = is_near ? "Africa/Monrovia" : "UTC";
}

/// One of its times in PostgreSQL, after PostgreSQL has changed the schedule and before the model does. The same times
/// of the old and the new distance are the same to the microsecond.
milliseconds Comparison::time_of_schedule_in() {
  if (model_.has_schedule()) {
    const microseconds moved{next_tick_of_postgres() - next_tick_in_postgres_};
    return std::chrono::round<milliseconds>(next_tick_ + moved - scheduler_.now());
  }
  const test::Rows rows = postgres_.run(
      {"first_tick_in",
       "select (extract(epoch from next_at - clock_timestamp()) * 1000)::bigint as first_in from dogged.schedules"});
  if (rows.empty()) return milliseconds{0};  // no live worker has declared one
  const milliseconds first_in{rows.one().number("first_in")};
  next_tick_ = scheduler_.now() + first_in;
  next_tick_in_postgres_ = next_tick_of_postgres();
  return first_in;
}

void Comparison::set_schedule() {
  const bool is_new = !model_.has_schedule();
  choose_time_zone();
  if (!is_new) {
    note_next_tick();
    if (is_no_moment_for_ticks()) return;
  }
  const ScheduleSettings settings = some_settings();
  const std::string overlap = overlap_texts[static_cast<std::size_t>(settings.overlap)];
  const auto catch_up = settings.catch_up ? std::optional{in_minutes(*settings.catch_up)} : std::nullopt;
  const auto limit =
      settings.catch_up_limit ? std::optional{static_cast<std::int64_t>(*settings.catch_up_limit)} : std::nullopt;
  note("a schedule every " + std::to_string(in_minutes(settings.every)) + " min with the overlap " + overlap +
       ", catch up " + shown(catch_up) + " min, at most " + shown(limit) + ", jitter " +
       std::to_string(in_minutes(settings.jitter)) + " min");
  (void)postgres_.run(
      {"schedule",
       "select dogged.schedule('ticks', 'work', $1::text, time_zone => $2::text, args => '[]', overlap => $3::text, "
       "catch_up => $4::bigint * interval '1 minute', catch_up_limit => $5::int, "
       "jitter => $6::bigint * interval '1 minute')"},
      db::Params{}
          .add("every " + std::to_string(in_minutes(settings.every)) + "m")
          .add(time_zone_)
          .add(overlap)
          .add(catch_up)
          .add(limit)
          .add(in_minutes(settings.jitter)));
  const milliseconds a_time_in = time_of_schedule_in();
  is_new ? model_.set_schedule(settings, a_time_in) : model_.change_schedule(settings, a_time_in);
}

/// Mostly one that a worker has made before: an older one, or again the newest.
ScheduleSettings Comparison::some_declaration() {
  const std::vector<ScheduleSettings>& known = model_.durable().declarations;
  if (model_.has_schedule() && scheduler_.chance(15)) return model_.durable().schedule.settings;
  if (known.empty() || scheduler_.chance(30)) return some_settings();
  return known[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(known.size()) - 1))];
}

/// As declarations_of() writes it, and as PostgreSQL writes jsonb.
std::string Comparison::in_json(const ScheduleSettings& settings) const {
  const auto number_of = [](const auto& number) { return number ? std::to_string(*number) : "null"; };
  const auto catch_up = settings.catch_up ? std::optional{settings.catch_up->count()} : std::nullopt;
  return R"({"args": [], "spec": "every )" + std::to_string(in_minutes(settings.every)) +
         R"(m", "task": "work", "queue": null, "overlap": ")" +
         overlap_texts[static_cast<std::size_t>(settings.overlap)] + R"(", "priority": 0, "jitter_ms": )" +
         std::to_string(settings.jitter.count()) + R"(, "time_zone": ")" + time_zone_ + R"(", "catch_up_ms": )" +
         number_of(catch_up) + R"(, "args_version": 1, "allow_frequent": false, "catch_up_limit": )" +
         number_of(settings.catch_up_limit) + "}";
}

void Comparison::declare_schedule() {
  choose_time_zone();
  if (model_.has_schedule()) {
    note_next_tick();
    if (is_no_moment_for_ticks()) return;
  }
  const std::int64_t worker = any_worker();
  const ScheduleSettings settings = some_declaration();
  note("worker " + std::to_string(worker) + " declares the schedule " + in_json(settings));
  const auto rows = postgres_.run(
      sql::DeclareSchedules{.worker_id = worker, .declarations = R"({"ticks": )" + in_json(settings) + "}"});
  const std::optional<Database::Declared> model = model_.declare_schedule(worker, settings, time_of_schedule_in());
  require_alike("a live worker declares the schedule", model.has_value(), !rows.empty());
  if (!model) return;
  const auto& postgres = db::one(rows);
  require_alike("outcome", std::string{model->outcome}, postgres.outcome);
  require_alike("in force", in_json(model->in_force), postgres.in_force);
  require_alike("others", model->others, postgres.others);
}

void Comparison::pause_schedule() {
  if (!model_.has_schedule()) return;
  note_next_tick();
  if (is_no_moment_for_ticks()) return;  // a pause fires due ticks
  const bool pauses = !model_.durable().schedule.is_paused;
  note(pauses ? "pause the schedule" : "resume the schedule");
  if (pauses) {
    model_.pause_schedule();
    postgres_.run({"pause_schedule", "select dogged.pause_schedule('ticks')"});
  } else {
    model_.resume_schedule();
    postgres_.run({"resume_schedule", "select dogged.resume_schedule('ticks')"});
  }
}

/// The first tick of a skipped range alone, or a range of times.
void Comparison::backfill_schedule() {
  if (!model_.has_schedule()) return;
  note_next_tick();
  minutes from = scheduler_.pick(1, 12) * shortest_distance;
  minutes until = from - scheduler_.pick(1, from / shortest_distance) * shortest_distance;
  for (const auto& [time, tick] : model_.durable().schedule.ticks) {
    if (!tick.skipped_until || !scheduler_.chance(40)) continue;
    from = std::chrono::ceil<minutes>(scheduler_.now() - time + seconds{30});  // the two clocks differ by milliseconds
    until = std::max(minutes{0}, from - shortest_distance);
    break;
  }
  const Overlap overlap = scheduler_.chance(60) ? Overlap::buffer_all : Overlap::allow_all;
  const std::string overlap_text = overlap_texts[static_cast<std::size_t>(overlap)];
  note("backfill from " + std::to_string(from.count()) + " to " + std::to_string(until.count()) + " minutes ago, " +
       overlap_text);
  const int model = model_.backfill_schedule(from, until, overlap);
  const test::Rows postgres =
      postgres_.run({"backfill_schedule",
                     "select dogged.backfill_schedule('ticks', now() - $1::bigint * interval '1 minute', "
                     "now() - $2::bigint * interval '1 minute', $3::text) as started"},
                    db::Params{}.add(std::int64_t{from.count()}).add(std::int64_t{until.count()}).add(overlap_text));
  require_alike("ticks that run or wait", std::int64_t{model}, postgres.one().number("started"));
}

void Comparison::fire_due_ticks() {
  if (!model_.tick_due_in()) return;
  note_next_tick();
  if (is_no_moment_for_ticks()) return;
  note("fire");
  const Database::Fired model = model_.fire_due_ticks();
  const auto postgres = db::one(postgres_.run(sql::FireDueTicks{.most = 100}));
  require_alike("schedules that have fired", static_cast<std::int64_t>(model.schedules),
                static_cast<std::int64_t>(postgres.schedules));
  require_alike("has a next tick", model.due_in.has_value(), postgres.due_in_ms.has_value());
}

/// Ticks are unique by their times, so that they take a way round each other.
void Comparison::shift_ticks() {
  const db::Params by = db::Params{}.add(std::int64_t{step_of_time.count()});
  postgres_.run({"shift_schedules",
                 "update dogged.schedules set next_at = next_at - $1::bigint * interval '1 minute', "
                 "fires_at = fires_at - $1::bigint * interval '1 minute', "
                 "last_tick_at = last_tick_at - $1::bigint * interval '1 minute'"},
                by);
  postgres_.run(
      {"shift_ticks",
       "update dogged.schedule_ticks set scheduled_at = scheduled_at - interval '1000 days' "
       "- $1::bigint * interval '1 minute', skipped_until = skipped_until - $1::bigint * interval '1 minute'"},
      by);
  postgres_.run(
      {"shift_ticks_back", "update dogged.schedule_ticks set scheduled_at = scheduled_at + interval '1000 days'"});
}

// When a schedule is due is compared as its distance from the next tick, since time passes in PostgreSQL.
const char* const Comparison::query_of_ticks =
    "select 'tick ' || row_number() over (order by scheduled_at) || ' ' || outcome || coalesce(' ' || reason, '') || "
    "coalesce(' ' || task_id, '') || "
    "coalesce(' for ' || ceil(extract(epoch from skipped_until - scheduled_at) / 60 / 10), '') "
    "from dogged.schedule_ticks union all "
    "select 'next tick ' || floor(extract(epoch from next_at - now()) / 60 / 20) || case "
    "when exists (select from dogged.schedule_ticks where outcome = 'waiting') then '' "
    "when fires_at is null then ', paused' "
    "else ', put off by ' || round(extract(epoch from fires_at - next_at) / 60) end from dogged.schedules";

void Comparison::add_ticks(Lines& lines) const {
  const ScheduleRow& schedule = model_.durable().schedule;
  int number = 0;
  for (const auto& [time, tick] : schedule.ticks) {
    std::string line =
        "tick " + std::to_string(++number) + " " + tick_outcome_texts[static_cast<std::size_t>(tick.outcome)];
    for (const TaskId id : tick.tasks) line += " " + std::to_string(id);
    if (tick.skipped_until) line += " for " + std::to_string(steps_begun(*tick.skipped_until - time));
    lines.insert(line);
  }
  if (!model_.has_schedule()) return;
  const auto left = schedule.next_at - scheduler_.now();
  std::string line = "next tick " + std::to_string(left < Duration{0} ? in_steps(left) - 1 : in_steps(left));
  const bool waits = std::any_of(schedule.ticks.begin(), schedule.ticks.end(),
                                 [](const auto& tick) { return tick.second.outcome == ScheduleRow::Outcome::waiting; });
  if (!waits) {
    line +=
        schedule.fires_at
            ? ", put off by " +
                  std::to_string(in_minutes(std::chrono::round<milliseconds>(*schedule.fires_at - schedule.next_at)))
            : ", paused";
  }
  lines.insert(line);
}

// The declarations are numbered in the order in which they were first seen.
const char* const Comparison::query_of_declarations =
    "select 'declaration ' || row_number() over (order by d.first_seen_at) || ' of {' || "
    "coalesce((select string_agg(w.id::text, ' ' order by w.id) from dogged.workers w "
    "where w.schedules -> d.name = d.settings), '') || '}' || "
    "case when exists (select from dogged.schedules s where s.declared = d.settings) then ' adopted' else '' end "
    "from dogged.schedule_declarations d union all "
    "select 'schedule ' || spec || ' overlap ' || overlap || ' catch up ' || coalesce((catch_up_ms / 60000)::text, "
    "'none') "
    "|| ' limit ' || coalesce(catch_up_limit::text, 'none') || ' jitter ' || jitter_ms / 60000 from dogged.schedules";

void Comparison::add_declarations(Lines& lines) const {
  int number = 0;
  for (const ScheduleSettings& settings : model_.durable().declarations) {
    std::set<std::int64_t> workers;
    for (const auto& [id, worker] : model_.workers()) {
      if (worker.declares == settings) workers.insert(id);
    }
    lines.insert("declaration " + std::to_string(++number) + " of " + shown(workers) +
                 (model_.durable().schedule.declared == settings ? " adopted" : ""));
  }
  if (!model_.has_schedule()) return;
  const auto& [every, overlap, catch_up, limit, jitter] = model_.durable().schedule.settings;
  lines.insert("schedule every " + std::to_string(in_minutes(every)) + "m overlap " +
               overlap_texts[static_cast<std::size_t>(overlap)] + " catch up " +
               shown(catch_up ? std::optional{in_minutes(*catch_up)} : std::nullopt) + " limit " + shown(limit) +
               " jitter " + std::to_string(in_minutes(jitter)));
}

}  // namespace dogged::sim
