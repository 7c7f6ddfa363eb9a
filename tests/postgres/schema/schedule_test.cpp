// Schedules: what a tick does while the task of an earlier one has not ended, and ticks that nobody could fire in time.
// Also backfill, and workers that fire, one of which is killed.
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <dogged/worker.hpp>

#include "sql/upkeep.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/worker_process.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::RunningWorker;
using test::TestDatabase;
using test::WorkerProcess;

namespace {

constexpr Task<nlohmann::json> report{"report"};

/// A schedule whose next tick is not for years, so that only the test makes ticks due.
void add_schedule(TestDatabase& database, const std::string& options = "", const std::string& name = "nightly") {
  database.run("select dogged.schedule('" + name + "', 'report', '0 0 1 1 *'" + options + ")");
}

/// The schedule fires every minute, and its ticks of the last `minutes` minutes are due. The last of them is 10 s old,
/// so that no further one becomes due within 50 s.
void make_due(TestDatabase& database, int minutes) {
  database.run(
      "update dogged.schedules set compiled = dogged.compile_spec(extract(second from last.at)::int || ' * * * * *'), "
      "next_at = last.at - interval '" +
      std::to_string(minutes - 1) +
      " minutes', fires_at = case when paused_at is null then now() - interval '1 second' end "
      "from (select date_trunc('second', now()) - interval '10 seconds' as at) last");
}

/// Fires until nothing is due; how many schedules were handled.
int fire(TestDatabase& database) {
  int handled = 0;
  for (;;) {
    const auto fired = db::one(database.connection().run(sql::FireDueTicks{.most = 100}));
    handled += fired.schedules;
    if (fired.schedules == 0 || fired.due_in_ms.value_or(1) > 0) return handled;
  }
}

/// A tick that waits is looked after every second: now.
void look_after_waiting(TestDatabase& database) {
  database.run("update dogged.schedules set fires_at = now()");
  fire(database);
}

/// `fired 3, skipped overlap 2`, in the order of the words.
std::string ticks(TestDatabase& database) {
  return database.value(
      "select coalesce(string_agg(concat_ws(' ', outcome, reason, count), ', ' order by outcome, reason), '') as value "
      "from (select outcome, split_part(reason, ':', 1) as reason, count(*) as count from dogged.schedule_ticks group "
      "by 1, 2) t");
}

std::int64_t last_task(TestDatabase& database) {
  return std::stoll(database.value("select max(task_id)::text as value from dogged.schedule_ticks"));
}

void end_last_task(TestDatabase& database) {
  database.run("select dogged.cancel($1)", db::Params{}.add(last_task(database)));
}

InvalidInput refusal_of(TestDatabase& database, const std::string& sql) {
  return error_of<InvalidInput>([&] { database.run(sql); });
}

}  // namespace

TEST_CASE("a tick enqueues the task of its schedule with its args, queue and priority, and is recorded with it") {
  TestDatabase database;
  database.run("select dogged.create_queue('reports')");
  add_schedule(database, R"(, args => '{"day": 1}', queue => 'reports', priority => -3, args_version => 2)");
  make_due(database, 1);
  CHECK(fire(database) == 1);
  CHECK(ticks(database) == "fired 1");
  CHECK(database.value(
            "select concat_ws(' ', name, args, queue, priority, args_version, tags) as value from dogged.tasks") ==
        R"(report {"day": 1} reports -3 2 {schedule:nightly})");
  CHECK(database.value("select (t.scheduled_at = date_trunc('second', t.scheduled_at) and t.task_id = l.id and "
                       "t.late_ms >= 0)::text as value "
                       "from dogged.schedule_ticks t, dogged.tasks_live l") == "true");
  CHECK(fire(database) == 0);
}

TEST_CASE("a tick records how late it was fired") {
  TestDatabase database;
  add_schedule(database);
  make_due(database, 1);  // 10 s ago
  database.run("update dogged.schedules set fires_at = next_at");
  fire(database);
  CHECK(std::stoll(database.value("select late_ms::text as value from dogged.schedule_ticks")) >= 10'000);
  CHECK(database.value("select last_late_ms = (select late_ms from dogged.schedule_ticks) as value from "
                       "dogged.schedule_overview") == "t");
}

TEST_CASE("a handler reads for which time its schedule has enqueued the task, and no time for other tasks") {
  TestDatabase database;
  std::map<TaskId, std::string> told;  // of the one thread of the queue
  const auto tell = [&](Context& ctx, const nlohmann::json&) {
    const auto time = ctx.scheduled_for();
    told[ctx.task_id()] =
        time ? std::to_string(std::chrono::floor<std::chrono::microseconds>(time->time_since_epoch()).count()) : "none";
  };
  add_schedule(database);
  make_due(database, 1);
  fire(database);
  const TaskId other = database.client().enqueue(report, nlohmann::json::object());
  {
    RunningWorker worker{database, {test::registered(report, tell)}, {.queues = {{"default", 1}}}};
    CHECK(eventually([&] { return database.status_of(other) == "succeeded"; }));
  }
  CHECK(told[last_task(database)] ==
        database.value(
            "select (extract(epoch from scheduled_at) * 1000000)::bigint::text as value from dogged.schedule_ticks"));
  CHECK(told[other] == "none");
}

TEST_CASE("skip: a tick that finds the task of an earlier one alive enqueues nothing, and says why") {
  TestDatabase database;
  add_schedule(database, ", catch_up_limit => null");
  make_due(database, 3);
  fire(database);
  CHECK(ticks(database) == "fired 1, skipped overlap 2");
  end_last_task(database);
  database.run("delete from dogged.schedule_ticks");
  make_due(database, 2);
  fire(database);
  CHECK(ticks(database) == "fired 1, skipped overlap 1");
}

TEST_CASE("buffer one: one tick waits for the task before it, and further ones are skipped") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'buffer_one', catch_up_limit => null");
  make_due(database, 4);
  fire(database);
  CHECK(ticks(database) == "fired 1, waiting 1, skipped overlap 2");
  look_after_waiting(database);
  CHECK(ticks(database) == "fired 1, waiting 1, skipped overlap 2");
  end_last_task(database);
  look_after_waiting(database);
  CHECK(ticks(database) == "fired 2, skipped overlap 2");
}

TEST_CASE("buffer all: every tick runs, one after the other, in their order") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'buffer_all', catch_up_limit => null");
  make_due(database, 4);
  fire(database);
  CHECK(ticks(database) == "fired 1, waiting 3");
  for (int ended = 1; ended <= 3; ++ended) {
    end_last_task(database);
    look_after_waiting(database);
  }
  CHECK(ticks(database) == "fired 4");
  CHECK(
      database.value(
          "select bool_and(task_id = place)::text as value from (select task_id - min(task_id) over () + 1 as task_id, "
          "row_number() over (order by scheduled_at) as place from dogged.schedule_ticks) t") == "true");
}

TEST_CASE("buffer all: up to 1,000 ticks wait, and further ones are skipped because the schedule is full") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'buffer_all', catch_up => null, catch_up_limit => null");
  make_due(database, 1003);
  fire(database);
  CHECK(ticks(database) == "fired 1, waiting 1000, skipped full 2");
}

TEST_CASE("cancel other: a tick cancels the waiting task of an earlier one, and its own runs") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'cancel_other', catch_up_limit => null");
  make_due(database, 3);
  fire(database);
  CHECK(ticks(database) == "fired 3");
  CHECK(database.value("select string_agg(status::text, ' ' order by id) as value from dogged.tasks") ==
        "cancelled cancelled pending");
  CHECK(database.value("select distinct actor as value from dogged.audit where action = 'cancel'") ==
        "schedule nightly");
}

TEST_CASE("cancel other: a task that runs is asked to stop, and the latest tick waits until it has") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'cancel_other', catch_up_limit => null");
  make_due(database, 1);
  fire(database);
  database.claim_all_for(test::add_worker(database));
  database.run("delete from dogged.schedule_ticks");
  database.run(
      "update dogged.schedules set next_at = next_at - interval '3 hours', fires_at = now() - interval '1 second', "
      "catch_up_limit = 3, catch_up_ms = null");
  fire(database);
  CHECK(database.value("select (cancel_requested_at is not null)::text as value from dogged.tasks_live") == "true");
  CHECK(contains(ticks(database), "waiting 1, "));
  CHECK(contains(ticks(database), "skipped superseded"));
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("cancel other: a task that another transaction has locked holds up no tick, and is asked to stop later") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'cancel_other'");
  make_due(database, 1);
  fire(database);
  const TaskId first = last_task(database);
  db::Connection handler{database.settings()};
  handler.run({"begin", "begin"});
  handler.run({"lock", "select from dogged.tasks_live where id = $1 for no key update"}, db::Params{}.add(first));
  add_schedule(database, "", "other");
  make_due(database, 1);
  database.run("update dogged.schedules set next_at = next_at + interval '1 second' where name = 'nightly'");
  fire(database);
  CHECK(ticks(database) == "fired 2, waiting 1");  // the other schedule's as well
  handler.run({"rollback", "rollback"});
  look_after_waiting(database);
  CHECK(database.status_of(first) == "cancelled");
  CHECK(ticks(database) == "fired 3");
}

TEST_CASE("allow all: every tick enqueues its task at once") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all', catch_up_limit => null");
  make_due(database, 5);
  fire(database);
  CHECK(ticks(database) == "fired 5");
  CHECK(database.count_tasks() == 5);
}

TEST_CASE(
    "of ticks that nobody fired in time the latest within an hour is made up for, and one row stands for the others") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all'");
  make_due(database, 600);
  fire(database);
  CHECK(ticks(database) == "fired 2, skipped missed 1");  // and the last tick is on time
  CHECK(
      database.value("select (skipped_until > now() - interval '3 minutes' and skipped_until <= now())::text as value "
                     "from dogged.schedule_ticks where reason = 'missed'") == "true");
}

TEST_CASE("a tick that is older than the window is not made up for") {
  TestDatabase database;
  add_schedule(database);
  database.run(
      "update dogged.schedules set next_at = now() - interval '61 minutes', fires_at = now() - interval '61 minutes'");
  fire(database);
  CHECK(ticks(database) == "skipped missed 1");
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("with no catch-up nothing that is late is made up for, and with all everything is, in batches") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all', catch_up_limit => 0");
  make_due(database, 300);
  fire(database);
  CHECK(contains(ticks(database), "skipped missed 1"));
  CHECK(database.count_tasks() <= 1);
  database.script(
      "delete from dogged.schedule_ticks; update dogged.schedules set catch_up_ms = null, catch_up_limit = null");
  make_due(database, 300);
  const std::int64_t before = database.count_tasks();
  const auto first = db::one(database.connection().run(sql::FireDueTicks{.most = 100}));
  CHECK(first.schedules == 1);
  CHECK(first.due_in_ms.value() <= 0);
  CHECK(database.count_tasks() == before + 20);
  fire(database);
  CHECK(
      database.value(
          "select (count(*) between 300 and 301)::text as value from dogged.schedule_ticks where outcome = 'fired'") ==
      "true");
}

TEST_CASE("a limit of catch-up takes the latest ticks of its window") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all', catch_up => '3 hours', catch_up_limit => 50");
  make_due(database, 300);
  fire(database);
  CHECK(database.value(
            "select (count(*) between 50 and 51)::text as value from dogged.schedule_ticks where outcome = 'fired'") ==
        "true");
  CHECK(database.value("select (min(scheduled_at) filter (where outcome = 'fired') >= max(skipped_until))::text as "
                       "value from dogged.schedule_ticks") == "true");
}

TEST_CASE("no tick is made again, whatever is set, paused, renamed or pruned, and however the clock is set") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all'");
  make_due(database, 1);
  fire(database);
  const std::int64_t fired = database.count_tasks();
  // As after a clock that was set back by a day: what was decided lies ahead.
  database.run("update dogged.schedules set last_tick_at = now() + interval '1 day'");
  database.run(
      "select dogged.rename_schedule('nightly', 'daily'), dogged.pause_schedule('daily'), "
      "dogged.resume_schedule('daily')");
  database.run("select dogged.set_schedule('daily', '{\"spec\": \"*/5 * * * *\"}')");
  CHECK(database.value("select (next_at > now() + interval '1 day')::text as value from dogged.schedules") == "true");
  database.run("delete from dogged.tasks_live");
  database.run(
      "update dogged.schedules set compiled = dogged.compile_spec('0 0 1 1 *'), fires_at = now(), "
      "next_at = (select max(scheduled_at) from dogged.schedule_ticks)");
  CHECK(fire(database) == 1);
  CHECK(database.count_tasks() + fired == fired);
}

TEST_CASE("resume from now starts a schedule that a clock ahead had put off, and no tick fires twice") {
  TestDatabase database;
  add_schedule(database);
  const auto resume = [&] {
    return database.value("select dogged.resume_schedule('nightly', from_now => true)::text as value");
  };
  const std::string next = "select next_at::text as value from dogged.schedules";
  const std::string passed_over = "select dogged.passed_over_tick(id)::text as value from dogged.schedules";
  // Once a day, half a day from now: no tick falls due meanwhile.
  database.run(
      "select dogged.set_schedule('nightly', jsonb_build_object('spec', "
      "to_char(now() at time zone 'UTC' + interval '12 hours', 'FMMI FMHH24') || ' * * *'))");
  const std::string upcoming = database.value(next);
  CHECK(resume() == "false");
  CHECK(database.value(passed_over) == "null");
  // The clock was 100 days ahead: the tick of then has fired, and the next one has not.
  database.run(
      "insert into dogged.schedule_ticks (schedule_id, scheduled_at, outcome, origin, decided_at) "
      "select id, next_at + interval '2400 hours', 'fired', 'clock', now() from dogged.schedules");
  database.run(
      "update dogged.schedules set last_tick_at = next_at + interval '2400 hours', "
      "next_at = next_at + interval '2424 hours', fires_at = next_at + interval '2424 hours'");
  CHECK(database.value(passed_over) == upcoming);
  SECTION("not paused") {}
  SECTION("paused") { database.run("select dogged.pause_schedule('nightly')"); }
  SECTION("paused and resumed, which does not suffice") {
    database.script("select dogged.pause_schedule('nightly'); select dogged.resume_schedule('nightly')");
  }
  CHECK(database.value(passed_over) == upcoming);
  CHECK(resume() == "true");
  CHECK(database.value(next) == upcoming);
  CHECK(database.value("select (fires_at = next_at and last_tick_at <= now())::text as value from dogged.schedules") ==
        "true");
  CHECK(database.value(passed_over) == "null");
  CHECK(resume() == "false");
  // The time of the tick that has fired comes.
  database.script(
      "update dogged.schedule_ticks set scheduled_at = date_trunc('second', now()); "
      "update dogged.schedules set next_at = scheduled_at, fires_at = scheduled_at from dogged.schedule_ticks");
  CHECK(fire(database) == 1);
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("a schedule whose ticks have all fired before the clock was set back passes over none") {
  TestDatabase database;
  add_schedule(database);
  database.run(
      "insert into dogged.schedule_ticks (schedule_id, scheduled_at, outcome, origin, decided_at) "
      "select id, next_at, 'fired', 'clock', now() from dogged.schedules");
  database.run(
      "update dogged.schedules set last_tick_at = next_at, next_at = next_at + interval '1 year', fires_at = fires_at "
      "+ interval '1 year'");
  CHECK(database.value("select dogged.passed_over_tick(id)::text as value from dogged.schedules") == "null");
}

TEST_CASE("the next ticks of a schedule begin with the one that workers fire, wherever that lies") {
  TestDatabase database;
  add_schedule(database);
  const std::string first = "select min(scheduled_at)::text as value from dogged.next_ticks_of('nightly')";
  const std::string next = "select next_at::text as value from dogged.schedules";
  CHECK(database.value(first) == database.value(next));
  // As after a clock that was years ahead.
  database.run(
      "update dogged.schedules set next_at = next_at + interval '4 years', fires_at = fires_at + interval '4 years', "
      "last_tick_at = next_at + interval '3 years'");
  CHECK(database.value(first) == database.value(next));
  CHECK(database.value("select count(*)::text as value from dogged.next_ticks_of('nightly')") == "10");
  CHECK(database.value("select count(*)::text as value from dogged.next_ticks_of('nightly', 3)") == "3");
  database.run("select dogged.pause_schedule('nightly')");
  const std::string while_paused = database.value(first);
  database.run("select dogged.resume_schedule('nightly')");
  CHECK(while_paused == database.value(next));
  CHECK(database.value("select count(*)::text as value from dogged.next_ticks_of('other')") == "0");
}

TEST_CASE("the next ticks of a schedule that is overdue are those that workers make up for") {
  TestDatabase database;
  const std::string limit = GENERATE("0", "1", "5", "null");
  add_schedule(database, ", overlap => 'allow_all', catch_up_limit => " + limit);
  make_due(database, 20);
  const std::string foretold = database.value(
      "select string_agg(scheduled_at::text, ' ' order by scheduled_at) as value "
      "from dogged.next_ticks_of('nightly', 50) where fires_at <= now()");
  fire(database);
  CHECK(foretold == database.value("select string_agg(scheduled_at::text, ' ' order by scheduled_at) as value "
                                   "from dogged.schedule_ticks where outcome = 'fired'"));
}

TEST_CASE("a number of next ticks that is none, or too many, is refused") {
  TestDatabase database;
  add_schedule(database);
  for (const char* most : {"null", "0", "10001"}) {
    for (const char* asked : {"next_ticks_of('nightly', ", "next_ticks('@daily', most => "}) {
      CHECK(contains(refusal_of(database, "select * from dogged." + std::string{asked} + most + ")").message(),
                     "most is " + std::string{most} + ", which is not from 1 to 10000"));
    }
  }
}

TEST_CASE(
    "a change of a schedule looks for the name of its time zone only if the zone is new or unknown to the server") {
  TestDatabase database;
  add_schedule(database);
  database.run(
      "update dogged.schedules set time_zone = 'Factory'");  // a zone of the server that no schedule may be given
  database.run("select dogged.set_schedule('nightly', '{\"priority\": 1}')");
  CHECK(contains(refusal_of(database, "select dogged.schedule('other', 'report', '@daily', 'Factory')").message(),
                 "its time zone \"Factory\" is not known"));
  database.run("update dogged.schedules set time_zone = 'Mars/Olympus'");
  CHECK(contains(refusal_of(database, "select dogged.set_schedule('nightly', '{\"priority\": 2}')").message(),
                 "its time zone \"Mars/Olympus\" is not known"));
}

TEST_CASE("a tick that has fired, or waits, is none of the next ticks of its schedule") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'buffer_all', catch_up_limit => null");
  make_due(database, 3);
  database.run(
      "select dogged.backfill_schedule('nightly', next_at, next_at + interval '90 seconds') from dogged.schedules");
  CHECK(ticks(database) == "fired 1, waiting 1");
  CHECK(database.value("select (min(n.scheduled_at) = min(s.next_at) + interval '2 minutes')::text as value "
                       "from dogged.next_ticks_of('nightly') n, dogged.schedules s") == "true");
}

TEST_CASE("the next ticks of a schedule have the jitter with which they fire") {
  TestDatabase database;
  add_schedule(database, ", jitter => '1 hour'");
  CHECK(database.value("select (min(n.fires_at) = min(s.fires_at) and min(n.fires_at) > min(n.scheduled_at))::text as "
                       "value from dogged.next_ticks_of('nightly') n, dogged.schedules s") == "true");
}

TEST_CASE("a paused schedule fires nothing, and does not make up for it when it goes on") {
  TestDatabase database;
  add_schedule(database);
  CHECK(database.value("select dogged.pause_schedule('nightly') as value") == "t");
  CHECK(database.value("select dogged.pause_schedule('nightly') as value") == "f");
  make_due(database, 5);
  CHECK(fire(database) == 0);
  CHECK(database.value("select dogged.resume_schedule('nightly') as value") == "t");
  CHECK(database.value("select dogged.resume_schedule('nightly') as value") == "f");
  CHECK(database.value("select (next_at > now())::text as value from dogged.schedules") == "true");
  CHECK(database.count_tasks() == 0);
  CHECK(ticks(database) == "skipped paused 1");
  CHECK(database.value("select (scheduled_at < now() - interval '4 minutes' and skipped_until <= clock_timestamp() and "
                       "skipped_until > scheduled_at + interval '4 minutes')::text as value "
                       "from dogged.schedule_ticks") == "true");
  // A clock that is set back makes none of them again.
  CHECK(database.value("select (last_tick_at >= skipped_until - interval '1 microsecond')::text as value "
                       "from dogged.schedules, dogged.schedule_ticks") == "true");
}

TEST_CASE("a pause takes no tick that was due before it: such a tick fires, or is missed, as the catch-up says") {
  TestDatabase database;
  const auto [catch_up, settled] =
      GENERATE(table<std::string, std::string>({{"catch_up_limit => 1", "fired 1, skipped missed 1, skipped overlap 1"},
                                                {"catch_up_limit => 0", "fired 1, skipped missed 1"}}));
  add_schedule(database, ", " + catch_up);
  make_due(database, 5);
  database.run("select dogged.pause_schedule('nightly')");
  CHECK(fire(database) == 0);
  database.run("select dogged.resume_schedule('nightly')");
  CHECK(ticks(database) == settled);
}

TEST_CASE("a tick that jitter has put off into a pause is one of the pause") {
  TestDatabase database;
  add_schedule(database, ", jitter => '1 day'");
  make_due(database, 1);
  database.run("update dogged.schedules set fires_at = now() + interval '1 hour'");
  database.run("select dogged.pause_schedule('nightly'), dogged.resume_schedule('nightly')");
  CHECK(ticks(database) == "skipped paused 1");
}

TEST_CASE("of two ticks a pause fires the one that is due, and takes the one that jitter has put off") {
  TestDatabase database;
  database.script(
      "select dogged.create_queue('load');"
      "select dogged.schedule('s' || i, 'load', 'every 1s', queue => 'load', jitter => '1 second', overlap => "
      "'allow_all', "
      "catch_up => null, catch_up_limit => null, allow_frequent => true) from generate_series(1, 50) i;"
      // Some of the 50 jitters are longer than the part of this second that is over.
      "update dogged.schedules set next_at = date_trunc('second', clock_timestamp()) - interval '1 second', fires_at = "
      "clock_timestamp();"
      "select dogged.pause_schedule(name), dogged.resume_schedule(name) from dogged.schedules");
  CHECK(database.value(
            "select count(distinct schedule_id) as value from dogged.schedule_ticks where outcome = 'fired'") == "50");
  CHECK(database.value("select count(*) as value from dogged.schedule_ticks where reason = 'missed'") == "0");
}

TEST_CASE("a schedule with an unknown time zone can be paused") {
  TestDatabase database;
  add_schedule(database);
  make_due(database, 5);
  database.run("update dogged.schedules set time_zone = 'Europe/Nowhere'");
  CHECK(database.value("select dogged.pause_schedule('nightly') as value") == "t");
  CHECK(fire(database) == 0);
}

TEST_CASE("a pause and its end compute the next time anew, as is needed after an update of time zone data") {
  TestDatabase database;
  add_schedule(database);
  const std::string computed = database.value("select next_at::text as value from dogged.schedules");
  database.run(
      "update dogged.schedules set next_at = next_at + interval '1 hour', fires_at = fires_at + interval '1 hour'");
  database.run("select dogged.pause_schedule('nightly'), dogged.resume_schedule('nightly')");
  CHECK(database.value("select next_at::text as value from dogged.schedules") == computed);
}

TEST_CASE("a pause in which no tick falls leaves no row") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.pause_schedule('nightly')");
  database.run("select dogged.resume_schedule('nightly')");
  CHECK(ticks(database).empty());
}

TEST_CASE("a run by hand enqueues whatever the overlap says, and later ticks find its task") {
  TestDatabase database;
  add_schedule(database);
  const std::string first = database.value("select dogged.run_schedule('nightly')::text as value");
  CHECK(first == std::to_string(last_task(database)));
  database.run("select dogged.run_schedule('nightly')");
  make_due(database, 1);
  fire(database);
  CHECK(ticks(database) == "fired 2, skipped overlap 1");
}

TEST_CASE(
    "a backfill makes up for the times that have not fired, one after the other or all at once, and for none twice") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.set_schedule('nightly', '{\"spec\": \"0 3 * * *\"}')");
  // Read once: the tests may run over midnight.
  const std::string today =
      "'" + database.value("select date_trunc('day', now(), 'UTC')::text as value") + "'::timestamptz";
  const std::string range = today + " - interval '144 hours', " + today + " - interval '24 hours')::text as value";
  CHECK(database.value("select dogged.backfill_schedule('nightly', " + range) == "5");
  CHECK(ticks(database) == "fired 1, waiting 4");
  CHECK(database.value("select dogged.backfill_schedule('nightly', " + range) == "0");
  end_last_task(database);
  look_after_waiting(database);
  CHECK(ticks(database) == "fired 2, waiting 3");
  CHECK(database.value("select distinct origin as value from dogged.schedule_ticks") == "backfill");
  CHECK(database.value("select dogged.backfill_schedule('nightly', " + today + " - interval '480 hours', " + today +
                       " - interval '360 hours', 'allow_all')::text as value") == "5");
  CHECK(ticks(database) == "fired 7, waiting 3");
}

TEST_CASE("a backfill makes up for what was skipped") {
  TestDatabase database;
  add_schedule(database, ", catch_up_limit => 0");
  make_due(database, 10);
  fire(database);
  CHECK(ticks(database) == "fired 1, skipped missed 1");  // the last is on time, and one row stands for the nine before
  CHECK(database.value("select dogged.backfill_schedule('nightly', now() - interval '10 minutes', now(), "
                       "'allow_all')::text as value") == "9");
  CHECK(database.value("select count(*)::text as value from dogged.schedule_ticks where outcome <> 'fired'") == "0");
}

TEST_CASE("a tick that a backfill has taken is decided no second time by the clock") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.run_schedule('nightly')");
  const auto backfill = [&](const std::string& since) {
    return database.value("select dogged.backfill_schedule('nightly', now() - interval '" + since +
                          "', now())::text as value");
  };
  SECTION("on time") {
    make_due(database, 1);
    CHECK(backfill("30 seconds") == "1");
    fire(database);
    CHECK(ticks(database) == "fired 1, waiting 1");
    end_last_task(database);
    look_after_waiting(database);
    CHECK(ticks(database) == "fired 2");
  }
  SECTION("missed") {
    make_due(database, 10);
    CHECK(backfill("10 minutes") == "10");
    fire(database);
    CHECK(ticks(database) == "fired 1, waiting 10");
  }
  SECTION("some of those that were missed") {
    make_due(database, 10);
    CHECK(
        database.value("select dogged.backfill_schedule('nightly', next_at, next_at + interval '90 seconds')::text as "
                       "value from dogged.schedules") == "2");
    fire(database);
    CHECK(contains(ticks(database), "skipped missed 1"));
    CHECK(database.value("select count(*)::text as value from dogged.schedule_ticks where outcome = 'waiting'") == "2");
  }
}

TEST_CASE("the ticks of a backfill run one after the other although the schedule allows all at once") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all'");
  make_due(database, 1);
  CHECK(database.value("select dogged.backfill_schedule('nightly', now() - interval '5 minutes', now() - interval '1 "
                       "minute')::text as value") == "4");
  database.run(
      "update dogged.schedules set compiled = dogged.compile_spec('0 0 1 1 *'), next_at = now() + interval '1 "
      "year'");
  for (int i = 0; i < 3; ++i) look_after_waiting(database);
  CHECK(ticks(database) == "fired 1, waiting 3");
  end_last_task(database);
  for (int i = 0; i < 3; ++i) look_after_waiting(database);
  CHECK(ticks(database) == "fired 2, waiting 2");
}

TEST_CASE("the ticks of a backfill do not wait for those of the clock where the schedule allows all at once") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all', catch_up_limit => 0");
  make_due(database, 3);
  database.run("update dogged.schedules set next_at = next_at + interval '2 minutes'");  // the last alone
  database.run(
      "select dogged.backfill_schedule('nightly', now() - interval '150 seconds', now() - interval '30 seconds')");
  fire(database);
  CHECK(ticks(database) == "fired 2, waiting 1");
  database.run(
      "select dogged.cancel(task_id) from dogged.schedule_ticks where origin = 'backfill' and task_id is not null");
  look_after_waiting(database);
  CHECK(ticks(database) == "fired 3");
}

TEST_CASE("the ticks that wait are skipped when their schedule is deleted") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'buffer_all', catch_up_limit => null");
  make_due(database, 3);
  fire(database);
  CHECK(ticks(database) == "fired 1, waiting 2");
  database.run("select dogged.delete_schedule('nightly')");
  CHECK(ticks(database) == "fired 1, skipped deleted 2");
}

TEST_CASE("a backfill counts no tick that it has skipped") {
  TestDatabase database;
  database.run("select dogged.create_queue('small'), dogged.set_queue('small', '{\"max_depth\": 2}')");
  add_schedule(database, ", queue => 'small'");
  make_due(database, 1);
  CHECK(database.value("select dogged.backfill_schedule('nightly', now() - interval '5 minutes', now(), "
                       "'allow_all')::text as value") == "2");
  CHECK(ticks(database) == "fired 2, skipped the queue \"small\" is full 3");
}

TEST_CASE("a backfill of a part of a skipped range leaves the rest of the range on record") {
  TestDatabase database;
  add_schedule(database, ", catch_up_limit => 0");
  make_due(database, 60);
  fire(database);
  const auto backfill = [&](const std::string& from, const std::string& until) {
    database.run("select dogged.backfill_schedule('nightly', at + interval '" + from + "', at + interval '" + until +
                 "', 'allow_all') from (select min(scheduled_at) as at from dogged.schedule_ticks) as first");
  };
  backfill("1 minute", "2 minutes");  // in the middle
  backfill("0", "1 minute");          // its first tick: the next has been taken already
  CHECK(
      database.value("select string_agg(concat_ws(' ', extract(epoch from scheduled_at - at)::int / 60, outcome, "
                     "reason, extract(epoch from skipped_until - scheduled_at)::int / 60), ', ' order by scheduled_at) "
                     "as value from (select *, min(scheduled_at) over () as at from dogged.schedule_ticks) t "
                     "where scheduled_at < at + interval '30 minutes'") == "0 fired, 1 fired, 2 skipped missed 57");
}

TEST_CASE("a backfill by other times than those of a skipped range leaves the rest of the range on record") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.pause_schedule('nightly')");
  make_due(database, 60);
  const std::string first = database.value("select next_at::text as value from dogged.schedules");
  database.run(
      "select dogged.set_schedule('nightly', jsonb_build_object('spec', to_char($1::timestamptz at time zone "
      "'UTC', 'FMSS FMMI FMHH24') || ' * * *'))",
      db::Params{}.add(first));
  database.run("select dogged.backfill_schedule('nightly', $1::timestamptz, now())", db::Params{}.add(first));
  CHECK(database.value("select string_agg(concat_ws(' ', outcome, reason), ', ' order by scheduled_at) as value "
                       "from dogged.schedule_ticks") == "fired, skipped paused");
  CHECK(database.value("select (skipped_until > now() - interval '1 minute')::text as value from dogged.schedule_ticks "
                       "where reason = 'paused'") == "true");
}

TEST_CASE("a schedule of which a backfill has taken all missed ticks loses no tick to a pause") {
  TestDatabase database;
  add_schedule(database, ", catch_up_limit => 0");
  database.run(
      "update dogged.schedules set compiled = dogged.compile_spec(extract(second from last.at)::int || ' * * * * *'), "
      "next_at = last.at, fires_at = now() "
      "from (select date_trunc('second', now()) - interval '40 seconds' as at) last");  // the next is in 20 s
  database.run("select dogged.backfill_schedule('nightly', now() - interval '1 minute', now(), 'allow_all')");
  fire(database);
  const std::string next = database.value("select next_at::text as value from dogged.schedules");
  database.script("select dogged.pause_schedule('nightly'); select dogged.resume_schedule('nightly')");
  CHECK(database.value("select next_at::text as value from dogged.schedules") == next);
}

TEST_CASE("a clock that is set back after a backfill in a pause loses no tick") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.pause_schedule('nightly')");
  make_due(database, 10);
  database.run("select dogged.backfill_schedule('nightly', now() - interval '2 minutes', now(), 'allow_all')");
  // Now stands for five minutes ago: the backfilled ticks lie ahead.
  database.script(
      "update dogged.schedules set next_at = next_at + interval '5 minutes', last_tick_at = last_tick_at + interval '5 "
      "minutes'; "
      "update dogged.schedule_ticks set scheduled_at = scheduled_at + interval '5 minutes'");
  database.run("select dogged.resume_schedule('nightly')");
  CHECK(database.value("select (next_at <= now() + interval '1 minute')::text as value from dogged.schedules") ==
        "true");
}

TEST_CASE("ticks that wait are looked after within a second, whatever is changed of their schedule") {
  TestDatabase database;
  add_schedule(database, ", overlap => 'buffer_all'");
  make_due(database, 3);
  fire(database);
  const std::string settings = GENERATE(R"({"priority": 5.0})", R"({"spec": "0 0 1 2 *"})");
  database.run("select dogged.set_schedule('nightly', $1::jsonb)", db::Params{}.add(settings));
  CHECK(database.value("select (fires_at < now() + interval '2 seconds')::text as value from dogged.schedules") ==
        "true");
}

TEST_CASE("a tick that is due when its schedule gets other times is not lost") {
  TestDatabase database;
  SECTION("it fires") {
    add_schedule(database);
    make_due(database, 1);
    database.run("select dogged.set_schedule('nightly', '{\"spec\": \"0 0 1 2 *\"}')");
    CHECK(ticks(database) == "fired 1");
    CHECK(database.value("select (live_tasks <> '{}')::text as value from dogged.schedules") == "true");
  }
  SECTION("it is put off by jitter: it is noted as missed") {
    add_schedule(database, ", jitter => '1 day'");
    make_due(database, 1);
    database.run("update dogged.schedules set fires_at = now() + interval '1 hour'");
    database.run("select dogged.set_schedule('nightly', '{\"time_zone\": \"Europe/Berlin\"}')");
    CHECK(ticks(database) == "skipped missed 1");
  }
  SECTION("its schedule is paused: it is noted as paused") {
    add_schedule(database);
    database.run("select dogged.pause_schedule('nightly')");
    make_due(database, 1);
    database.run("select dogged.set_schedule('nightly', '{\"spec\": \"0 0 1 2 *\"}')");
    CHECK(ticks(database) == "skipped paused 1");
  }
}

TEST_CASE("a tick that falls due while a change of its schedule waits for a lock is not lost") {
  TestDatabase database;
  add_schedule(database);
  // If a check fails, the connection closes first, which releases the lock. Then the thread is joined.
  std::jthread change;
  db::Connection locking{database.settings()};
  locking.run({"begin", "begin"});
  locking.run({"lock", "select from dogged.schedules for update"});
  change = std::jthread{[settings = database.settings()] {
    db::Connection connection{settings};
    connection.run({"change", R"(select dogged.set_schedule('nightly', '{"spec": "0 0 1 2 *"}'))"});
  }};
  // The clock's second is later than the change, so that this second can be the time of a tick.
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) as value from pg_stat_activity where wait_event_type = 'Lock' and datname = "
               "current_database() and query_start < date_trunc('second', clock_timestamp())") != "0";
  }));
  locking.run({"due",
               "update dogged.schedules set next_at = at, fires_at = at, compiled = "
               "dogged.compile_spec(extract(second from at)::int || ' * * * * *') "
               "from (select date_trunc('second', clock_timestamp()) as at) now"});
  locking.run({"commit", "commit"});
  change.join();
  CHECK(ticks(database) == "fired 1");
}

TEST_CASE("a window of catch-up that is shorter than the jitter leaves out no tick that is not missed") {
  TestDatabase database;
  const std::string limit = GENERATE("1", "null");
  add_schedule(database, ", jitter => '1 hour', catch_up => '1 minute', catch_up_limit => " + limit);
  make_due(database, 120);
  CHECK(database.value("select (dogged.first_to_fire(s, now()) < now() - interval '59 minutes')::text as value from "
                       "dogged.schedules s") == "true");
}

TEST_CASE("an unknown time zone skips a tick with that reason, and holds up no other schedule") {
  TestDatabase database;
  add_schedule(database, "", "first");
  add_schedule(database, "", "second");
  make_due(database, 1);
  database.run("update dogged.schedules set time_zone = 'Mars/Olympus' where name = 'first'");
  CHECK(fire(database) == 2);
  CHECK(ticks(database) == "fired 1, skipped time zone \"Mars/Olympus\" not recognized 1");
  CHECK(database.value("select last_reason as value from dogged.schedule_overview where name = 'first'") ==
        "time zone \"Mars/Olympus\" not recognized");
  CHECK(database.value("select (dogged.time_in(next_at, time_zone) is null)::text as value from dogged.schedules "
                       "where name = 'first'") == "true");
  database.run("select dogged.set_schedule('first', '{\"time_zone\": \"UTC\"}')");
  CHECK(fire(database) == 0);
}

TEST_CASE(
    "functions that need a schedule's time zone name the schedule and the zone if the server does not know the zone") {
  TestDatabase database;
  add_schedule(database);
  database.run("update dogged.schedules set time_zone = 'Mars/Olympus'");
  const std::string call = GENERATE(
      "dogged.resume_schedule('nightly')", "dogged.backfill_schedule('nightly', now() - interval '1 day', now())",
      "dogged.next_ticks_of('nightly')", "dogged.set_schedule('nightly', '{\"spec\": \"@daily\"}')");
  database.run("select dogged.pause_schedule('nightly')");
  const InvalidInput error = refusal_of(database, "select " + call);
  INFO(call << ": " << error.message());
  CHECK(contains(error.message(), "the schedule \"nightly\": its time zone \"Mars/Olympus\" is not known"));
  CHECK(contains(error.hint(), "pg_timezone_names"));
}

TEST_CASE("an error of dogged's own while a tick is decided is raised, and passes for no unknown time zone") {
  TestDatabase database;
  add_schedule(database);
  make_due(database, 1);
  database.run(
      "create or replace function dogged.looked_after_at(schedule dogged.schedules, now_at timestamptz) returns "
      "timestamptz language plpgsql as $$ begin raise invalid_parameter_value; end $$");
  CHECK_THROWS_AS(fire(database), InvalidInput);
  CHECK(ticks(database).empty());
}

TEST_CASE("a window of catch-up that is set after none makes up for one tick") {
  TestDatabase database;
  add_schedule(database, ", catch_up_limit => 0");
  database.run("select dogged.set_schedule('nightly', '{\"catch_up_ms\": 21600000}')");
  CHECK(database.value("select catch_up_limit::text as value from dogged.schedules") == "1");
}

TEST_CASE("jitter puts a tick off, by the same time whenever it is asked for, and spreads schedules of one time") {
  TestDatabase database;
  for (int i = 0; i < 50; ++i) add_schedule(database, ", jitter => '1 hour'", "s" + std::to_string(i));
  CHECK(database.value("select (count(distinct fires_at) > 45 and min(fires_at) >= min(next_at) and "
                       "max(fires_at) <= max(next_at) + interval '1 hour')::text as value from dogged.schedules") ==
        "true");
  CHECK(database.value("select bool_and(fires_at = dogged.fires_at_of(s))::text as value from dogged.schedules s") ==
        "true");
}

TEST_CASE("a tick whose task is refused is skipped with the reason, and holds up no other schedule") {
  TestDatabase database;
  database.run("select dogged.create_queue('full')");
  add_schedule(database, ", queue => 'full'", "first");
  add_schedule(database, "", "second");
  database.run("select dogged.set_queue('full', '{\"max_depth\": 1}'), dogged.enqueue('other', queue => 'full')");
  make_due(database, 1);
  CHECK(fire(database) == 2);
  CHECK(ticks(database) == "fired 1, skipped the queue \"full\" is full 1");
}

TEST_CASE("settings that a schedule cannot have are refused, with the value and the range, and change nothing") {
  TestDatabase database;
  add_schedule(database);
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {R"({"jitter_ms": -1})", "its jitter_ms is -1; it must be a whole number from 0 to 86400000"},
      {R"({"priority": 40000})", "its priority is 40000; it must be a whole number from -32768 to 32767"},
      {R"({"catch_up_limit": 1.5})", "its catch_up_limit is 1.5; it must be a whole number from 0 to 10000"},
      {R"({"catch_up_ms": 34560000000})", "must be a whole number from 0 to 31622400000 (366 days)"},
      {R"({"catch_up_ms": "1h"})", "its catch_up_ms is \"1h\", not a number"},
      {R"({"overlap": "queue"})", "its overlap is \"queue\""},
      {R"({"spec": null})", "its spec is null, not a string"},
      {R"({"allow_frequent": true})", "allow_frequent is given without a spec, and has no effect"},
      {R"({"cron": "* * * * *"})", "\"cron\" is not a setting"},
      {R"({"queue": "nowhere"})", "the queue \"nowhere\" does not exist"},
      {R"({"task": "a b"})", "the task name \"a b\" is not made of"},
      {R"([])", "its settings are [], not a JSON object"},
  };
  const std::string before = database.value("select s::text as value from dogged.schedules s");
  for (const auto& [settings, message] : mistakes) {
    const InvalidInput error = refusal_of(database, "select dogged.set_schedule('nightly', '" + settings + "')");
    INFO(settings << ": " << error.message());
    CHECK(contains(error.message(), message));
  }
  CHECK(database.value("select s::text as value from dogged.schedules s") == before);
  CHECK(contains(refusal_of(database, R"(select dogged.create_schedule('s9', '{"task": "t"}'))").message(),
                 "the schedule \"s9\": it has no spec"));
  CHECK(contains(refusal_of(database, "select dogged.pause_schedule('other')").message(),
                 "the schedule \"other\" does not exist"));
  CHECK(contains(refusal_of(database, "select dogged.schedule('a b', 'report', '@daily')").message(),
                 "the schedule name \"a b\" is not"));
  CHECK(
      contains(refusal_of(database, "select dogged.create_schedule('nightly', '{}')").message(), "it exists already"));
  CHECK(contains(refusal_of(database, "select dogged.create_schedule('other', '{\"spec\": \"@daily\"}')").message(),
                 "it has no task"));
}

TEST_CASE("a backfill that would do nothing, is to come, ends before it begins or is too large is refused") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.set_schedule('nightly', '{\"spec\": \"* * * * *\"}')");
  const auto refused = [&](const std::string& range) {
    return refusal_of(database, "select dogged.backfill_schedule('nightly', " + range + ")").message();
  };
  CHECK(contains(refused("'2026-01-01', '2026-01-02', 'skip'"), "the overlap of its backfill is \"skip\""));
  CHECK(contains(refused("'2026-01-02', '2026-01-01'"), "its backfill is from"));
  CHECK(contains(refused("null, '2026-01-01'"), "the from_time of its backfill is null"));
  CHECK(contains(refused("'-infinity', '2026-01-01'"), "the from_time of its backfill is -infinity"));
  CHECK(contains(refused("'2026-01-01', 'infinity'"), "the until_time of its backfill is infinity"));
  CHECK(contains(refused("now(), now() + interval '1 day'"), "which is to come"));
  CHECK(contains(refused("now() - interval '2 days', now()"), "it has more than 1000 times"));
  CHECK(contains(refused("'2026-01-01', '2026-01-02'"), "are not on record any more"));
  CHECK(ticks(database).empty());
}

TEST_CASE("ticks go with the days that retention drops, and the schedule stays") {
  TestDatabase database;
  add_schedule(database);
  database.run("select dogged.run_schedule('nightly')");
  database.script(
      "insert into dogged.schedule_ticks (schedule_id, scheduled_at, outcome, origin, decided_at) "
      "select id, now() - interval '40 days', 'skipped', 'clock', now() from dogged.schedules; "
      "select dogged.make_partitions()");
  CHECK(database.value("select outcome as value from dogged.drop_oldest_day('schedule_ticks')") == "dropped");
  CHECK(ticks(database) == "fired 1");
  CHECK(database.value("select outcome as value from dogged.drop_oldest_day('schedule_ticks')") == "nothing");
}

TEST_CASE(
    "no tick fires again in a backfill of a day that retention has dropped, however long ticks are kept since then") {
  TestDatabase database;
  add_schedule(database);
  database.script(
      "insert into dogged.schedule_ticks (schedule_id, scheduled_at, outcome, origin, decided_at) "
      "select id, now() - interval '40 days', 'fired', 'clock', now() from dogged.schedules; "
      "select dogged.make_partitions()");
  CHECK(database.value("select outcome as value from dogged.drop_oldest_day('schedule_ticks')") == "dropped");
  database.run("update dogged.settings set keep_ticks_days = 100");
  const auto backfill = [](const std::string& from) {
    return "select dogged.backfill_schedule('nightly', " + from + ", now())";
  };
  CHECK(contains(refusal_of(database, backfill("now() - interval '41 days'")).message(), "are not on record any more"));
  database.run(backfill("(select ticks_since from dogged.settings)::timestamp at time zone 'UTC'"));
}

TEST_CASE("no tick of a day that retention has dropped fires, whatever the catch-up: a backfill may have fired it") {
  const std::string catch_up = GENERATE("null", "100", "0");
  TestDatabase database;
  add_schedule(database, ", overlap => 'allow_all', catch_up => '10 days', catch_up_limit => " + catch_up);
  // Read once: the test may run over midnight.
  const std::string today = "'" + database.value("select (now() at time zone 'UTC')::date::text as value") + "'::date";
  database.run("update dogged.settings set ticks_since = " + today + " - 2");
  database.run(
      "update dogged.schedules set compiled = dogged.compile_spec('0 12 * * *'), fires_at = now() - interval '1 s', "
      "next_at = (" +
      today + " - 5 + time '12:00') at time zone 'UTC'");
  fire(database);
  CHECK(database.value("select count(*) as value from dogged.schedule_ticks, dogged.settings "
                       "where outcome = 'fired' and scheduled_at < ticks_since::timestamp at time zone 'UTC'") == "0");
  CHECK((database.value("select min(scheduled_at) = (" + today +
                        " - 2 + time '12:00') at time zone "
                        "'UTC' as value from dogged.schedule_ticks where outcome = 'fired'") == "t") ==
        (catch_up != "0"));
  CHECK(contains(ticks(database), "skipped missed 1"));
}

TEST_CASE(
    "retention keeps a day of ticks while one of them waits, and as long as the last tick that a row stands for") {
  TestDatabase database;
  add_schedule(database);
  const auto [row, ends] = GENERATE(table<std::string, std::string>(
      {{"'waiting', null", "outcome = 'fired'"},
       {"'skipped', now() - interval '20 days'", "skipped_until = now() - interval '32 days'"}}));
  database.script(
      "insert into dogged.schedule_ticks (schedule_id, scheduled_at, outcome, skipped_until, origin, decided_at) "
      "select id, now() - interval '40 days', " +
      row + ", 'clock', now() from dogged.schedules; select dogged.make_partitions()");
  const std::string drop = "select outcome as value from dogged.drop_oldest_day('schedule_ticks')";
  CHECK(database.value(drop) == "nothing");
  database.run("update dogged.schedule_ticks set " + ends);
  CHECK(database.value(drop) == "dropped");
}

TEST_CASE("a worker ends, and does not ask for ever, if the schema has no function that fires ticks") {
  TestDatabase database;
  add_schedule(database);
  make_due(database, 1);
  database.run("drop function dogged.fire_due_ticks(integer)");
  const db::Settings settings = database.settings_of("worker");
  WorkerOptions options;
  options.database_url = settings.url;
  options.schema = settings.schema;
  options.log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  Worker worker{options, Tasks{}.add([](Context&, const nlohmann::json&) {}, report)};
  worker.start();
  CHECK(worker.wait().reason == WorkerEnd::Reason::failed);
}

TEST_CASE("a worker fires what is set while it sleeps, and goes on with each tick") {
  TestDatabase database;
  RunningWorker worker{database, {test::registered(report, [](Context&, const nlohmann::json&) {})}, {.heartbeat = 5s}};
  REQUIRE(test::worker_is_asleep(database, worker.id()));
  database.run("select dogged.schedule('each-second', 'report', 'every 1s', allow_frequent => true)");
  CHECK(eventually([&] {
    return std::stoi(database.value("select count(*)::text as value from dogged.tasks where status = 'succeeded'")) >=
           3;
  }));
}

TEST_CASE("workers fire 1,000 ticks of one second once, although one of them is killed meanwhile") {
  TestDatabase database;
  database.run("select dogged.create_queue('load')");
  database.script(
      "select dogged.schedule('s' || i, 'load', '0 0 1 1 *', queue => 'load', args => '{\"failures\": 0, \"code\": "
      "\"\"}') "
      "from generate_series(1, 1000) i");
  WorkerProcess first{database}, second{database}, third{database};
  REQUIRE(eventually(
      [&] { return database.value("select count(*)::text as value from dogged.workers where asleep") == "3"; }));
  database.script(
      "update dogged.schedules set next_at = date_trunc('second', now()) + interval '2 seconds', "
      "fires_at = date_trunc('second', now()) + interval '2 seconds'; "
      "select pg_notify('dogged.schedules', '')");
  REQUIRE(
      eventually([&] { return database.value("select count(*)::text as value from dogged.schedule_ticks") != "0"; }));
  (void)first.stop(SIGKILL);
  CHECK(eventually(
      [&] { return database.value("select count(*)::text as value from dogged.schedule_ticks") == "1000"; }));
  CHECK(ticks(database) == "fired 1000");
  CHECK(database.value("select concat_ws(' ', count(*), count(distinct tags)) as value from dogged.tasks") ==
        "1000 1000");
  CHECK(database.value("select count(*)::text as value from dogged.schedule_ticks t where not exists "
                       "(select from dogged.tasks where id = t.task_id)") == "0");
}
