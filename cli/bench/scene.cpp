// See scene.hpp.
#include "cli/bench/scene.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <vector>

#include <dogged/client.hpp>

#include "cli/bench/server.hpp"
#include "cli/bench/worker/worker_program.hpp"
#include "cli/failure.hpp"
#include "cli/io/interrupt.hpp"
#include "migrate/migrate.hpp"
#include "sql/bench.hpp"
#include "sql/client.hpp"
#include "sql/commands.hpp"

namespace dogged::cli::bench {
namespace {

constexpr std::int64_t history_batch = 200'000;
constexpr std::int64_t deferred_batch = 10'000;
constexpr int more_urgent = -100;

}  // namespace

bool must_be_settled(const Conditions& conditions) noexcept {
  return conditions.history > 0 || conditions.deferred > 0;
}

void require_not_interrupted() {
  if (was_interrupted()) throw Failure(ExitCode::interrupted, "interrupted; what the benchmark had made is removed");
}

void with_snapshot_held(const db::Settings& settings, const std::function<void()>& work) {
  db::Connection connection{settings};
  connection.transaction([&] {
    connection.run(sql::OneSnapshot{});
    connection.run(sql::BenchHoldSnapshot{});
    work();
  });
}

Scene::Scene(const db::Settings& settings, const Conditions& conditions, const Progress& progress)
    : conditions_(conditions), progress_(progress), connection_(settings) {
  make_schema();
  try {
    migrate::apply(connection_);
    connection_.run(sql::CreateQueue{.name = bench_queue});
    add_history();
    add_deferred();
    settle();
  } catch (...) {
    end();
    throw;
  }
}

void Scene::end() {
  connection_.run(sql::BenchDropSchema{});
  connection_.run(sql::BenchEnd{});
}

Scene::~Scene() {
  try {
    end();
  } catch (const std::exception& error) {
    std::cerr << "dogged: the schema " << settings().schema << " could not be dropped: " << error.what()
              << "\nhint: the next `dogged bench` drops it, or: drop schema " << settings().schema << " cascade\n";
  }
}

void Scene::make_schema() {
  const std::string& schema = settings().schema;
  const auto [locked, present, is_ours] = db::one(connection_.run(sql::BenchBegin{}));
  if (!locked) {
    throw Failure(ExitCode::not_done, "another `dogged bench` is under way in this database",
                  "wait for it: two would measure each other");
  }
  if (present) {
    if (!is_ours.value_or(false)) {
      throw InvalidInput("the schema " + schema + " is there, and no benchmark has made it",
                         "a benchmark drops its schema: name one that does not exist, with --bench-schema");
    }
    progress_("removing what an earlier benchmark left", 0, 0);
    connection_.run(sql::BenchDropSchema{});
  }
  connection_.run(sql::BenchMakeSchema{});
}

void Scene::add_history() {
  if (conditions_.history == 0) return;
  connection_.run(sql::BenchMakePastDays{});
  for (std::int64_t done = 0; done < conditions_.history;) {
    require_not_interrupted();
    progress_("adding finished tasks", done, conditions_.history);
    const std::int64_t batch = std::min(history_batch, conditions_.history - done);
    connection_.run(sql::BenchAddHistory{.count = batch});
    done += batch;
  }
}

void Scene::settle() {
  if (!must_be_settled(conditions_)) return;
  progress_("vacuuming and writing what is there", 0, 0);
  connection_.run(sql::BenchVacuumHistory{});
  if (look_at_server(connection_).may_checkpoint) connection_.run(sql::BenchCheckpoint{});
}

void Scene::add_deferred() {
  if (conditions_.deferred == 0) return;
  Client client{settings().url,
                {.schema = settings().schema, .application_name = "dogged bench", .warns_of_undeclared = false}};
  const NewTask task{task_name, "{}", {.queue = bench_queue, .delay = std::chrono::hours{24}, .priority = more_urgent}};
  for (std::int64_t done = 0; done < conditions_.deferred;) {
    require_not_interrupted();
    progress_("adding deferred tasks", done, conditions_.deferred);
    const std::int64_t batch = std::min(deferred_batch, conditions_.deferred - done);
    client.enqueue_many(std::vector<NewTask>(static_cast<std::size_t>(batch), task));
    done += batch;
  }
}

}  // namespace dogged::cli::bench
