// Workers that are killed at the moment of firing: DOGGED_KILLS of them, 20 unless said.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/worker_process.hpp"

using namespace dogged;
using test::eventually;
using test::TestDatabase;
using test::WorkerProcess;

namespace {

constexpr int schedules = 10;

int kills() {
  const char* said = std::getenv("DOGGED_KILLS");
  return said == nullptr ? 20 : std::atoi(said);
}

/// Ten schedules that fire each second, spread over it, and make up for each tick that came late.
void add_schedules(TestDatabase& database) {
  database.script(
      "select dogged.create_queue('load'); select dogged.schedule('s' || i, 'load', 'every 1s', queue => 'load', "
      "args => '{\"failures\": 0, \"code\": \"\"}', jitter => '1 second', overlap => 'allow_all', catch_up => null, "
      "catch_up_limit => null, allow_frequent => true) from generate_series(1, " +
      std::to_string(schedules) + ") i");
}

std::int64_t number(TestDatabase& database, const std::string& sql) { return std::stoll(database.value(sql)); }

/// Two workers at any time, by the application name of their sessions.
class Fleet {
 public:
  explicit Fleet(TestDatabase& database) : database_(database) {
    for (int i = 0; i < 2; ++i) start_one();
  }

  void kill(const std::string& application) {
    workers_.at(application)->stop(SIGKILL);
    workers_.erase(application);
    start_one();
  }

 private:
  void start_one() {
    const std::string application = "killed" + std::to_string(++started_);
    workers_[application] = std::make_unique<WorkerProcess>(database_, application);
  }

  TestDatabase& database_;
  int started_ = 0;
  std::map<std::string, std::unique_ptr<WorkerProcess>> workers_;
};

/// A session that is about to write a tick: its task is enqueued, and the transaction is open.
struct Firing {
  std::string application;
  std::string pid;
};

/// While ticks cannot be written, since `since`. Waits until so many workers have asked for due ticks.
Firing wait_for_firing(TestDatabase& database, const std::string& since, int workers) {
  Firing firing;
  REQUIRE(eventually([&] {
    const test::Rows rows = database.run(
        "select application_name, pid::text as pid, wait_event_type is not distinct from 'Lock' as waits from "
        "pg_stat_activity where datname = current_database() and query like '/* dogged:fire_due_ticks */%' and "
        "(wait_event_type = 'Lock' or query_start >= $1::timestamptz)",
        db::Params{}.add(since));
    for (const test::Row& row : rows) {
      if (row.boolean("waits")) firing = {row.text("application_name"), row.text("pid")};
    }
    return !firing.pid.empty() && rows.size() >= static_cast<std::size_t>(workers);
  }));
  return firing;
}

}  // namespace

TEST_CASE("workers that are killed while they fire lose no tick, and no tick fires twice") {
  TestDatabase database;
  add_schedules(database);
  const auto seconds_of = [&](const std::string& column) {
    return number(database,
                  "select sum(extract(epoch from " + column + "))::bigint::text as value from dogged.schedules");
  };
  const std::int64_t first_ticks = seconds_of("next_at");
  db::Connection holder{database.settings()};
  {
    Fleet fleet{database};
    for (int i = 0; i < kills(); ++i) {
      holder.transaction([&] {
        holder.run({"hold ticks", "lock table dogged.schedule_ticks in share mode"});
        const std::string since = database.value("select clock_timestamp()::text as value");
        // The server ends what the dead worker began, and the other worker must not begin it as well. Or, each second
        // time, the server loses the transaction, too.
        const bool is_lost = i % 2 == 0;
        const Firing firing = wait_for_firing(database, since, is_lost ? 1 : 2);
        fleet.kill(firing.application);
        if (is_lost) database.run("select pg_terminate_backend(" + firing.pid + ")");
      });
    }
    // A pause would settle what is due by itself.
    database.run("update dogged.schedules set fires_at = null");
  }
  const std::int64_t ticks = number(database, "select count(*)::text as value from dogged.schedule_ticks");
  CHECK(ticks == seconds_of("last_tick_at") - first_ticks + schedules);
  CHECK(number(database, "select count(*)::text as value from dogged.schedule_ticks where outcome = 'fired'") == ticks);
  CHECK(number(database,
               "select count(distinct t.id)::text as value from dogged.tasks t join dogged.schedule_ticks k on "
               "k.task_id = t.id") == ticks);
  CHECK(number(database, "select count(*)::text as value from dogged.tasks") == ticks);
  std::cout << kills() << " workers killed while they fired; " << ticks << " ticks, late by up to "
            << database.value("select max(late_ms)::text as value from dogged.schedule_ticks") << " ms\n";
}
