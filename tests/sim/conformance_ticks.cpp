// The statements of a schedule, on the model and on PostgreSQL. See comparison.hpp.
//
// A schedule of PostgreSQL fires at multiples of its distance since 1970. So the distance is the one by which time
// passes here, and no tick comes near the present: two minutes would be enough for a run.
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "sql/upkeep.hpp"

namespace dogged::sim {
namespace {

using std::chrono::seconds;

static_assert(step_of_time == minutes{20});  // query_of_ticks has it too
constexpr seconds far_from_a_tick{120};
// In the order of the enums.
constexpr std::array<const char*, 4> overlap_texts{"skip", "buffer_one", "buffer_all", "allow_all"};
constexpr std::array<const char*, 3> outcome_texts{"fired", "waiting", "skipped"};

std::int64_t in_steps(Duration time) { return time / Duration{step_of_time}; }

}  // namespace

/// The time zone decides when a distance begins: in Monrovia 44.5 minutes after UTC.
void Comparison::set_schedule() {
  if (model_.durable().schedule.fires_at) return;
  ScheduleSettings settings{.every = step_of_time, .overlap = static_cast<Overlap>(scheduler_.pick(0, 3))};
  if (scheduler_.chance(50)) settings.catch_up = scheduler_.pick(1, 2) * step_of_time;
  if (scheduler_.chance(60)) settings.catch_up_limit = static_cast<std::size_t>(scheduler_.pick(0, 2));
  const std::string overlap = overlap_texts[static_cast<std::size_t>(settings.overlap)];
  const auto catch_up = settings.catch_up ? std::optional{in_minutes(*settings.catch_up)} : std::nullopt;
  const auto limit =
      settings.catch_up_limit ? std::optional{static_cast<std::int64_t>(*settings.catch_up_limit)} : std::nullopt;
  note("a schedule with the overlap " + overlap + ", catch up " + shown(catch_up) + " min, at most " + shown(limit));
  const auto since = std::chrono::floor<seconds>(std::chrono::system_clock::now()).time_since_epoch() % step_of_time;
  const bool is_near = since < far_from_a_tick || since > step_of_time - far_from_a_tick;
  (void)postgres_.run({"schedule",
                       "select dogged.schedule('ticks', 'work', $1::text, time_zone => $2::text, overlap => $3::text, "
                       "catch_up => $4::bigint * interval '1 minute', catch_up_limit => $5::int)"},
                      db::Params{}
                          .add("every " + std::to_string(step_of_time.count()) + "m")
                          .add(std::string{is_near ? "Africa/Monrovia" : "UTC"})
                          .add(overlap)
                          .add(catch_up)
                          .add(limit));
  const std::int64_t first_in =
      postgres_
          .run({"first_tick",
                "select (extract(epoch from next_at - clock_timestamp()) * 1000)::bigint as first_in "
                "from dogged.schedules"})
          .one()
          .number("first_in");
  model_.set_schedule(settings, milliseconds{first_in});
}

/// Not while a tick that waits is looked after in less than a second: time passes in PostgreSQL.
void Comparison::fire_due_ticks() {
  const auto due_in = model_.tick_due_in();
  if (!due_in || (due_in->count() > 0 && *due_in < far_from_a_tick)) return;
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
  postgres_.run({"shift_ticks",
                 "update dogged.schedule_ticks set scheduled_at = scheduled_at - interval '1000 days' "
                 "- $1::bigint * interval '1 minute', missed_until = missed_until - $1::bigint * interval '1 minute'"},
                by);
  postgres_.run(
      {"shift_ticks_back", "update dogged.schedule_ticks set scheduled_at = scheduled_at + interval '1000 days'"});
}

const char* const Comparison::query_of_ticks =
    "select 'tick ' || row_number() over (order by scheduled_at) || ' ' || outcome || coalesce(' ' || task_id, '') || "
    "coalesce(' for ' || round(extract(epoch from missed_until - scheduled_at) / 60 / 20), '') "
    "from dogged.schedule_ticks union all "
    "select 'next tick ' || floor(extract(epoch from next_at - now()) / 60 / 20) from dogged.schedules";

void Comparison::add_ticks(Lines& lines) const {
  const ScheduleRow& schedule = model_.durable().schedule;
  int number = 0;
  for (const auto& [time, tick] : schedule.ticks) {
    std::string line = "tick " + std::to_string(++number) + " " + outcome_texts[static_cast<std::size_t>(tick.outcome)];
    for (const TaskId id : tick.tasks) line += " " + std::to_string(id);
    if (tick.missed_until) line += " for " + std::to_string(in_steps(*tick.missed_until - time));
    lines.insert(line);
  }
  if (!schedule.fires_at) return;
  const auto left = schedule.next_at - scheduler_.now();
  lines.insert("next tick " + std::to_string(left < Duration{0} ? in_steps(left) - 1 : in_steps(left)));
}

}  // namespace dogged::sim
