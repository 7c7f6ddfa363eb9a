// The queue of a task's key holds for producers and workers, in whatever order they come. Client and worker warn of
// tasks that would wait for ever.
#include <memory>
#include <string>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json> charge{"card.charge", {.queue = "payments"}};
constexpr Task<nlohmann::json> mail{"mail.send"};

/// A logger that keeps its lines.
class KeptLog {
 public:
  KeptLog() { sink_->set_pattern("%l %v"); }
  [[nodiscard]] std::shared_ptr<spdlog::logger> logger() const {
    return std::make_shared<spdlog::logger>("kept", sink_);
  }
  /// The lines that have `part` in them.
  [[nodiscard]] std::vector<std::string> with(const std::string& part) const {
    std::vector<std::string> lines;
    for (const std::string& line : sink_->last_formatted()) {
      if (contains(line, part)) lines.push_back(line);
    }
    return lines;
  }

 private:
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> sink_ = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
};

std::string queue_of(TestDatabase& database, TaskId id) {
  return database.value("select queue as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id));
}

/// A worker's start-up log. It does not end its lease, so another one of its name waits 30 s for that.
KeptLog started(TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks,
                runtime::WorkerSettings settings) {
  KeptLog log;
  settings.database = database.settings_of("worker");
  if (settings.name.empty()) settings.name = "starts";
  const runtime::WakeFd stop;
  const runtime::Worker worker{settings, runtime::make_definitions(tasks), log.logger(), stop};
  return log;
}

}  // namespace

TEST_CASE("a producer that comes before its worker enqueues to the queue of the key, where the worker finds the task") {
  TestDatabase database;
  Client client{database.settings_of("producer").url, {.schema = database.schema()}};
  const TaskId first = client.enqueue(charge, no_args);
  const std::vector<TaskId> many = client.enqueue_many(charge, std::vector<nlohmann::json>{no_args, no_args});
  CHECK(queue_of(database, first) == "payments");
  CHECK(queue_of(database, many.back()) == "payments");
  const RunningWorker worker{database, {does_nothing(charge)}};
  CHECK(eventually([&] { return database.status_of(many.back()) == "succeeded"; }));
}

TEST_CASE("a transaction's enqueue makes the queue of the key with the caller's rights of a producer") {
  TestDatabase database;
  pqxx::connection connection{database.settings_of("producer").url};
  {
    pqxx::work transaction{connection};
    enqueue_in(transaction, charge, no_args, {}, database.schema());
  }
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'payments'") == "0");
  pqxx::work transaction{connection};
  const TaskId id = enqueue_in(transaction, charge, no_args, {}, database.schema());
  transaction.commit();
  CHECK(queue_of(database, id) == "payments");
}

TEST_CASE("a call's own queue counts over that of the key, and is not made") {
  TestDatabase database;
  Client client = database.client();
  CHECK(queue_of(database, client.enqueue(charge, no_args, {.queue = "default"})) == "default");
  CHECK_THROWS_AS(client.enqueue(charge, no_args, {.queue = "paymnets"}), InvalidInput);
}

TEST_CASE("a worker that registers a task for another queue than its key's is refused") {
  const auto error =
      error_of<InvalidInput>([] { (void)runtime::make_definitions({does_nothing(charge, {.queue = "billing"})}); });
  CHECK(contains(error.message(), "card.charge"));
  CHECK(contains(error.message(), "\"billing\""));
  CHECK(contains(error.message(), "\"payments\""));
  CHECK_NOTHROW(runtime::make_definitions({does_nothing(charge, {.queue = "payments"})}));
  CHECK(runtime::make_definitions({does_nothing(charge)}).at("card.charge").queue == "payments");
  CHECK(runtime::make_definitions({does_nothing(mail)}).at("mail.send").queue == "default");
}

TEST_CASE("a key with a bad queue is refused at run time as well") {
  const std::string queue = "with space";
  CHECK_THROWS_AS((Task<nlohmann::json>{"a", {.queue = queue}}), InvalidInput);
}

TEST_CASE("a text that a producer gave forges no line of its client's log, and moves no cursor") {
  TestDatabase database;
  const KeptLog log;
  Client client{database.settings().url,
                {.schema = database.schema(), .application_name = "shop\x1b[31m", .log = log.logger()}};
  CHECK_THROWS_AS(client.enqueue(NewTask{.name = "lost", .options = {.queue = "q\n2026 error FORGED\u202e"}}),
                  InvalidInput);
  REQUIRE(log.with("no worker has declared").size() == 1);
  CHECK(contains(log.with("no worker has declared").front(), R"(the queue q\n2026 error FORGED\u202e)"));
  CHECK(contains(log.with("no worker has declared").front(), R"(shop\u001b[31m)"));
}

TEST_CASE("a client warns once of each name that no worker has declared, and not of one that has been") {
  TestDatabase database;
  test::declare(database, {does_nothing(mail)});
  const KeptLog log;
  Client client{database.settings().url, {.schema = database.schema(), .log = log.logger()}};
  client.enqueue(mail, no_args);
  CHECK(log.with("no worker has declared").empty());
  client.enqueue_many({{"lost"}, {"lost"}, {"card.charge", "{}", {}, "payments"}});
  client.enqueue({"lost"});
  client.enqueue(charge, no_args);
  REQUIRE(log.with("no worker has declared").size() == 2);
  CHECK(contains(log.with("the task lost").front(), "the queue default"));
  CHECK(contains(log.with("the task card.charge").front(), "the queue payments"));
}

TEST_CASE(
    "a worker that starts tells of tasks of its names in queues that nobody serves, with the command that moves them") {
  TestDatabase database;
  Client client = database.client();
  client.enqueue_many({{"card.charge"}, {"card.charge"}, {"mail.send"}, {"unknown.name"}});
  client.enqueue({"card.charge", "{}", {.delay = std::chrono::hours{1}}});
  const auto lines = started(database, {does_nothing(charge)}, {}).with("tasks move");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines.front(), "3 tasks of card.charge wait in the queue default"));
  CHECK(contains(lines.front(), "`dogged tasks move --schema " + database.schema() +
                                    " --queue default --name card.charge --to payments`"));

  const RunningWorker serves_both{database, {does_nothing(charge)}, {.queues = {{"default", 1}, {"payments", 1}}}};
  client.enqueue({"card.charge", "{}", {.delay = std::chrono::hours{1}}});
  CHECK(started(database, {does_nothing(charge)}, {.name = "starts later"}).with("tasks move").empty());
}

TEST_CASE("a worker names the queues of its tasks that it does not serve") {
  TestDatabase database;
  const KeptLog log = started(database, {does_nothing(charge), does_nothing(mail)}, {.queues = {{"default", 1}}});
  REQUIRE(log.with("does not serve").size() == 1);
  CHECK(contains(log.with("does not serve").front(), "payments (card.charge)"));
}

TEST_CASE("a misspelt queue of --queues is refused with the nearest names, and no such queue is made") {
  TestDatabase database;
  database.run("select dogged.create_queue('webhooks')");
  const auto error = error_of<InvalidInput>([&] {
    (void)started(database, {does_nothing(mail)}, {.queues = {{"webhoks", 1}, {"default", 1}}});
  });
  CHECK(contains(error.message(), "\"webhoks\" does not exist"));
  CHECK(contains(error.message(), "webhooks"));
  CHECK(contains(error.hint(), "--create-queues"));
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'webhoks'") == "0");
  CHECK(database.value("select count(*) as value from dogged.workers") == "0");

  (void)started(database, {does_nothing(mail)}, {.queues = {{"webhoks", 1}}, .create_queues = true});
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'webhoks'") == "1");
}

TEST_CASE("a worker serves a queue that exists or that one of its tasks names") {
  TestDatabase database;
  database.run("select dogged.create_queue('webhooks')");
  CHECK_NOTHROW(started(database, {does_nothing(charge)}, {.queues = {{"webhooks", 1}, {"payments", 1}}}));
}
