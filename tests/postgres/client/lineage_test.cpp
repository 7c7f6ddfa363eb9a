// A task that a handler enqueues knows its parent.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/place_in_call.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json> parent{"order.import"};
constexpr Task<nlohmann::json> child{"mail.send"};

std::string parent_of(TestDatabase& database, TaskId id) {
  return database.value("select coalesce(parent_id::text, 'none') as value from dogged.tasks where id = $1::bigint",
                        db::Params{}.add(id));
}

Client producer(const TestDatabase& database) {
  return Client{database.settings_of("producer").url, {.schema = database.schema()}};
}

/// Runs `enqueue` in the handler of a task; gives that task's id.
TaskId in_handler(TestDatabase& database, const std::function<void(Context&)>& enqueue) {
  const RunningWorker worker{database,
                             {registered(parent, [&](Context& context, const nlohmann::json&) { enqueue(context); })}};
  const TaskId id = database.client().enqueue(parent, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  return id;
}

}  // namespace

TEST_CASE("tasks that a handler enqueues have its task for a parent, by each way in") {
  TestDatabase database;
  std::vector<TaskId> children;
  const TaskId id = in_handler(database, [&](Context&) {
    Client client = producer(database);
    children.push_back(client.enqueue(child, no_args));
    for (TaskId one : client.enqueue_many(child, std::vector<nlohmann::json>{no_args, no_args}))
      children.push_back(one);
    for (TaskId one : client.enqueue_many({{"a"}, {"b"}})) children.push_back(one);
    pqxx::connection connection{database.settings_of("producer").url};
    pqxx::work transaction{connection};
    children.push_back(enqueue_in(transaction, child, no_args, {}, database.schema()));
    transaction.commit();
  });
  REQUIRE(children.size() == 6);
  for (TaskId one : children) CHECK(parent_of(database, one) == std::to_string(id));
  CHECK(parent_of(database, id) == "none");
}

TEST_CASE("a parent that a caller names counts over the handler's task, and 0 is none") {
  TestDatabase database;
  std::vector<TaskId> children;
  TaskId of_thread = 0, named_on_thread = 0;
  const TaskId id = in_handler(database, [&](Context& context) {
    Client client = producer(database);
    children.push_back(client.enqueue(child, no_args, {.parent = 7}));
    children.push_back(client.enqueue(child, no_args, {.parent = 0}));
    for (TaskId one : client.enqueue_many(
             {{.name = "a", .options = {.parent = 7}}, {.name = "a", .options = {.parent = 0}}, {.name = "a"}})) {
      children.push_back(one);
    }
    std::thread{[&] {
      of_thread = client.enqueue(child, no_args);
      named_on_thread = client.enqueue(child, no_args, {.parent = context.task_id()});
    }}.join();
  });
  REQUIRE(children.size() == 5);
  CHECK(parent_of(database, children[0]) == "7");
  CHECK(parent_of(database, children[1]) == "none");
  CHECK(parent_of(database, children[2]) == "7");
  CHECK(parent_of(database, children[3]) == "none");
  CHECK(parent_of(database, children[4]) == std::to_string(id));
  CHECK(parent_of(database, of_thread) == "none");
  CHECK(parent_of(database, named_on_thread) == std::to_string(id));
}

TEST_CASE("a handler's task is no parent of what its handler enqueues to another queue") {
  TestDatabase database, other;
  std::vector<TaskId> children;
  in_handler(database, [&](Context&) {
    Client client = producer(other);
    children.push_back(client.enqueue(child, no_args));
    children.push_back(client.enqueue(child, no_args, {.parent = 7}));
    for (TaskId one : client.enqueue_many({{"a"}, {"b"}})) children.push_back(one);
  });
  REQUIRE(children.size() == 4);
  CHECK(parent_of(other, children[0]) == "none");
  CHECK(parent_of(other, children[1]) == "7");
  CHECK(parent_of(other, children[2]) == "none");
  CHECK(parent_of(other, children[3]) == "none");
}

TEST_CASE("SQL names a parent, which need not exist") {
  TestDatabase database;
  const auto in_sql = [&](const std::string& call) { return parent_of(database, std::stoll(database.value(call))); };
  CHECK(in_sql("select dogged.enqueue('a', parent_id => 7) as value") == "7");
  CHECK(in_sql("select (dogged.enqueue_many('{a}', '{1,2}', parent_ids => '{7}'))[2] as value") == "7");
  CHECK(in_sql("select (dogged.enqueue_many('{a}', '{1,2}', parent_ids => '{7,null}'))[2] as value") == "none");
  CHECK(database.value("select count(*) as value from dogged.task_overview where parent_id = 7") == "4");
}

TEST_CASE("a parent that cannot be the id of a task is refused by each way in") {
  TestDatabase database;
  Client client = database.client();
  CHECK(contains(error_of<InvalidInput>([&] { client.enqueue(child, no_args, {.parent = -7}); }).message(),
                 "parent is -7; it must be the id of a task"));
  for (const char* call :
       {"select dogged.enqueue('a', parent_id => 0)", "select dogged.enqueue_many('{a}', '{1,2}', parent_ids => '{0}')",
        "select dogged.enqueue_many('{a}', '{1,2}', parent_ids => '{1,0}')"}) {
    CHECK(contains(test::without_place(error_of<InvalidInput>([&] { database.run(call); }).message()),
                   "task \"a\": parent_id is 0"));
  }
}

TEST_CASE("a task keeps its parent and the version of its args wherever it goes") {
  TestDatabase database;
  const auto kept = [&](TaskId id, const std::string& status) {
    return database.value(
               "select status || ' ' || parent_id || ' ' || args_version as value from dogged.tasks where id "
               "= $1::bigint",
               db::Params{}.add(id)) == status + " 7 2";
  };
  const auto enqueue = [&](const std::string& name, const std::string& more = "") {
    return TaskId{std::stoll(database.value("select dogged.enqueue('" + name + "', parent_id => 7, args_version => 2" +
                                            more + ") as value"))};
  };
  const TaskId cancelled = enqueue("nobody");
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(cancelled));
  CHECK(kept(cancelled, "cancelled"));

  const Task<nlohmann::json> succeeds{"succeeds", {.version = 2}}, fails{"fails", {.version = 2}},
      commits{"commits", {.version = 2}};
  RunningWorker worker{database,
                       {registered(succeeds, [](Context&, const nlohmann::json&) {}),
                        registered(fails,
                                   [](Context&, const nlohmann::json&) {
                                     throw TaskError{"BROKEN", "it is"};
                                   }),
                        registered(commits, [&](Context& context, const nlohmann::json&) {
                          pqxx::connection connection{database.settings_of("worker").url};
                          pqxx::work transaction{connection};
                          context.complete_in(transaction);
                          transaction.commit();
                        })}};
  const TaskId succeeded = enqueue("succeeds"), failed = enqueue("fails"), committed = enqueue("commits");
  CHECK(eventually([&] { return kept(succeeded, "succeeded"); }));
  CHECK(eventually([&] { return kept(committed, "succeeded"); }));
  CHECK(eventually([&] { return kept(failed, "failed"); }));
  const TaskId expired = enqueue("nobody", ", expires_at => clock_timestamp() + interval '300 ms'");
  CHECK(eventually([&] { return kept(expired, "expired"); }));
  worker.stop();

  const std::string letter = database.value("select letter as value from dogged.export_dead_letters(array[$1::bigint])",
                                            db::Params{}.add(failed));
  database.run("select dogged.purge($1::bigint)", db::Params{}.add(failed));
  database.run("delete from dogged.tasks_failed");
  database.run("select dogged.import_dead_letters(array[$1::jsonb])", db::Params{}.add(letter));
  CHECK(kept(failed, "failed"));
  database.run("select dogged.replay($1::bigint)", db::Params{}.add(failed));
  CHECK(kept(failed, "pending"));
}

TEST_CASE("each partition has an index of the tasks with a parent") {
  TestDatabase database;
  CHECK(database.value("select count(*) as value from pg_indexes where schemaname = $1 and indexdef like '%(parent_id, "
                       "id) WHERE (parent_id IS NOT NULL)' and tablename in ('tasks_live', 'tasks_failed', "
                       "'tasks_done', 'tasks_failed_default', 'tasks_done_default')",
                       db::Params{}.add(database.schema())) == "5");
}
