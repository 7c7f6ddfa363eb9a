// See stage.hpp.
#include "stage.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

#include "evidence.hpp"
#include "support/test_database.hpp"

namespace dogged::faults {
namespace {

namespace fs = std::filesystem;

/// The directory of all scenarios, deleted when the program ends in order.
struct Place {
  Place() {
    std::string name = fs::temp_directory_path() / "dogged-scenarios-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw Error("cannot make a directory like " + name);
    directory = name;
    fs::permissions(directory, fs::perms{0755});  // PostgreSQL may have to run as another user
    server = std::make_unique<Server>(directory);
  }
  ~Place() {
    server.reset();
    fs::remove_all(directory);
  }
  fs::path directory;
  std::unique_ptr<Server> server;
};

Place& place() {
  static Place the_place;
  return the_place;
}

std::string new_name() {
  static int count = 0;
  return "scenario_" + std::to_string(++count);
}

}  // namespace

Stage::Stage() : directory_(place().directory / new_name()), database_(server().url(), directory_.filename()) {
  fs::create_directory(directory_);
  database_.migrate();
}

Stage::~Stage() = default;

Server& Stage::server() { return *place().server; }

WorkerSlot& Stage::add_worker(const CommandOptions& options) {
  const int number = static_cast<int>(workers_.size()) + 1;
  return workers_.emplace_back(server(), WorkerSettings{directory_, database_.settings().schema, number, options});
}

WorkerSlot& Stage::start_worker(const CommandOptions& options) {
  WorkerSlot& worker = add_worker(options);
  start_again(worker);
  return worker;
}

void Stage::start_again(WorkerSlot& worker) {
  worker.start();
  if (!test::eventually([&] { return worker.was_ready() || worker.process().has_ended(); }) || !worker.was_ready()) {
    throw Error("a worker does not start: " + worker.log_of_process());
  }
}

TaskId Stage::enqueue(const Task<Plan>& task, Plan plan) {
  plan.key = next_key_++;
  Client client{server().url(), {.schema = database_.settings().schema}};
  const TaskId id = client.enqueue(task, plan, {.queue = queue_name});
  evidence_.enqueued[plan.key] = id;
  return id;
}

void Stage::open_gate() { std::ofstream{gate()}; }

bool Stage::has_started(TaskId task, int attempt) {
  return test::eventually([&] {
    const auto log = read_handler_log(handler_log_of(directory_));
    return std::any_of(log.begin(), log.end(),
                       [&](const Execution& run) { return run.task == task && run.attempt == attempt; });
  });
}

bool Stage::has_ended(TaskId task, int attempt, std::string_view how) {
  return test::eventually([&] {
    const auto log = read_handler_log(handler_log_of(directory_));
    return std::any_of(log.begin(), log.end(), [&](const Execution& run) {
      return run.task == task && run.attempt == attempt && run.how == how;
    });
  });
}

bool Stage::all_ended() {
  return test::eventually([&] { return database_.value("select count(*) as value from dogged.tasks_live") == "0"; });
}

std::string Stage::status_of(TaskId task) {
  return database_.value("select status::text as value from dogged.tasks where id = $1::bigint",
                         db::Params{}.add(task));
}

std::string Stage::history_of(TaskId task) {
  return database_.value(
      "select coalesce(string_agg(attempt || ' ' || outcome || ' ' || will_retry, ', ' order by attempt), '') as value "
      "from dogged.task_attempts where task_id = $1::bigint",
      db::Params{}.add(task));
}

int Stage::incarnations_of(WorkerSlot& worker) {
  return static_cast<int>(database_
                              .run("select count(*) as value from dogged.workers where pid = $1::int",
                                   db::Params{}.add(static_cast<int>(worker.process().pid())))
                              .one()
                              .number("value"));
}

std::string Stage::broken_promises() {
  std::string text;
  for (const std::string& promise : faults::broken_promises(read())) text += promise + "\n";
  return text.empty() ? "none" : text;
}

milliseconds Stage::worst_lateness() { return milliseconds{lateness(read()).at_most / 1000}; }

const Evidence& Stage::read() {
  read_evidence(database_, handler_log_of(directory_), evidence_);
  return evidence_;
}

}  // namespace dogged::faults
