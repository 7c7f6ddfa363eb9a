// The completer without a worker. The tests choose its batches, and hold up single records.
#include "report/completer.hpp"

#include <memory>
#include <string>
#include <vector>

#include <pqxx/pqxx>
#include <spdlog/sinks/null_sink.h>

#include "base/session.hpp"
#include "claim/inbox.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Report;
using runtime::SteadyClock;
using test::eventually;
using test::no_args;
using test::TestDatabase;
using test::work;

namespace {

Report success(TaskId id, const std::string& result) {
  Report report;
  report.id = id;
  report.attempt = 1;
  report.started_at = report.finished_at = SteadyClock::now();
  report.result_json = result;
  report.transition = {.status = lifecycle::Status::succeeded, .outcome = lifecycle::Outcome::succeeded};
  return report;
}

/// While a test holds this advisory lock, no attempt of the task gets on record.
void hold_up_records_of(TestDatabase& database, TaskId id) {
  database.script(
      "create function hold_up() returns trigger language plpgsql as "
      "$$ begin perform pg_advisory_xact_lock(" +
      std::to_string(id) +
      "); return new; end $$;"
      "create trigger wait before insert on dogged.task_attempts for each row when (new.task_id = " +
      std::to_string(id) + ") execute function hold_up()");
}

/// A completer without a worker.
struct Parts {
  Parts(const TestDatabase& database, std::shared_ptr<runtime::SharedLease> of_worker, detail::RegisteredTask task)
      : lease(std::move(of_worker)),
        circuits(std::make_shared<runtime::Circuits>(
            std::make_shared<const runtime::Definitions>(runtime::make_definitions({std::move(task)})),
            [] { return 0.5; }, log)),
        completer({.session = std::make_shared<runtime::Session>(database.settings(), "completer", log)}, lease,
                  circuits, std::make_shared<runtime::ClaimInbox>(), std::make_shared<runtime::Tally>(), {.log = log}) {
  }

  std::shared_ptr<spdlog::logger> log =
      std::make_shared<spdlog::logger>("completer", std::make_shared<spdlog::sinks::null_sink_mt>());
  std::shared_ptr<runtime::SharedLease> lease;
  std::shared_ptr<runtime::Circuits> circuits;
  runtime::Completer completer;
};

}  // namespace

TEST_CASE("a completer that has written a part of its batch holds only the attempts of the rest") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args});
  const std::int64_t worker_id = test::add_worker(database);
  database.claim_all_for(worker_id);
  hold_up_records_of(database, ids[1]);
  pqxx::connection holder{database.settings().url};
  pqxx::work held_up{holder};
  held_up.exec("select pg_advisory_xact_lock(" + std::to_string(ids[1]) + ")");

  // Nothing is sent before the lease is renewed, so both reports are of one batch.
  const auto lease = std::make_shared<runtime::SharedLease>(worker_id, 10s, SteadyClock::now() - 1min);
  (void)lease->lapse_if_due(SteadyClock::now());
  Parts parts{database, lease, test::does_nothing()};
  runtime::Completer& completer = parts.completer;
  completer.add(success(ids[0], "17"));
  completer.add(success(ids[1], R"("\u0000")"));  // PostgreSQL refuses this text, so the batch is halved
  const auto renewed_at = SteadyClock::now();
  (void)lease->note_renewed(renewed_at, renewed_at);
  completer.note_lease_decided();

  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) = 1 as value from pg_locks where locktype = 'advisory' and not granted "
               "and database = (select oid from pg_database where datname = current_database())") == "t";
  }));
  CHECK(database.value("select status::text as value from dogged.tasks where id = $1::bigint",
                       db::Params{}.add(ids[0])) == "succeeded");
  CHECK(completer.held() == std::vector<runtime::Attempt>{{ids[1], 1}});

  held_up.commit();
  CHECK(completer.wait_written(SteadyClock::now() + 1min));
  CHECK(completer.held().empty());
}

TEST_CASE("a completer writes the noted events of circuits before it ends, without a wake-up") {
  TestDatabase database;
  database.run("insert into dogged.circuits (name, generation) values ('api', 7)");
  Parts parts{database, std::make_shared<runtime::SharedLease>(test::add_worker(database), 1min, SteadyClock::now()),
              test::registered(work, [](Context&, const auto&) {}, {.circuit = "api"})};
  REQUIRE(eventually([&] { return parts.completer.is_ready(); }));
  Report failed;
  failed.circuit = "api";
  failed.circuit_event = {detail::CircuitEvent::Kind::failure, 7};
  parts.circuits->note(failed);
  CHECK(parts.completer.finish(SteadyClock::now() + 1min) == 0);
  CHECK(database.value("select failures as value from dogged.circuits where name = 'api'") == "1");
}
