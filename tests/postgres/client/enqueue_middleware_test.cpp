// Hooks around enqueue: their order, what they may change or refuse, and what they hear.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using dogged::test::contains;
using dogged::test::error_of;
using dogged::test::no_args;
using dogged::test::TestDatabase;
using dogged::test::work;

namespace {

class EnqueueRecorder : public dogged::EnqueueMiddleware {
 public:
  EnqueueRecorder(std::string name, std::vector<std::string>& calls, std::string throws_in = "")
      : name_(std::move(name)), calls_(calls), throws_in_(std::move(throws_in)) {}

  void before(std::vector<dogged::NewTask>& tasks) override {
    for (dogged::NewTask& task : tasks) task.options.tags.push_back(name_);
    note("before");
  }
  void after(const std::vector<dogged::NewTask>&, const std::vector<dogged::TaskId>& ids) override {
    note("after " + std::to_string(ids.size()));
  }
  void on_error(const std::vector<dogged::NewTask>&, const std::exception_ptr&) override { note("on_error"); }

 private:
  void note(const std::string& hook) {
    calls_.push_back(name_ + " " + hook);
    if (hook == throws_in_) throw std::runtime_error("no " + hook);
  }

  std::string name_;
  std::vector<std::string>& calls_;
  std::string throws_in_;
};

/// A client of `database` with these hooks; its log is kept.
dogged::Client client_with(const TestDatabase& database, const dogged::EnqueueMiddlewares& middleware,
                           const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt>& lines) {
  return dogged::Client{database.settings().url,
                        {.schema = database.schema(),
                         .log = std::make_shared<spdlog::logger>("kept", lines),
                         .warns_of_undeclared = false,
                         .middleware = middleware}};
}

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("hooks around enqueue may change tasks, in the order of the list, and hear the ids in the reverse one") {
  TestDatabase database;
  Calls calls;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  dogged::Client client = client_with(
      database, {std::make_shared<EnqueueRecorder>("a", calls), std::make_shared<EnqueueRecorder>("b", calls)}, lines);
  static_cast<void>(client.enqueue_many(work, {no_args, no_args}));
  CHECK(calls == Calls{"a before", "b before", "b after 2", "a after 2"});
  CHECK(database.value("select count(*) as value from dogged.tasks where tags = '{a,b}'") == "2");
}

TEST_CASE("a hook sees the unique rule of a task's key, and may take it away") {
  class Reset : public dogged::EnqueueMiddleware {
    void before(std::vector<dogged::NewTask>& tasks) override {
      for (dogged::NewTask& task : tasks) {
        if (task.args_json == "{}") task.options.unique.reset();
      }
    }
  };
  static constexpr dogged::Task<nlohmann::json> unique_work{"work", {.unique = dogged::Unique{}}};
  TestDatabase database;
  dogged::Client client =
      client_with(database, {std::make_shared<Reset>()}, std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10));
  CHECK(client.enqueue(unique_work, {{"n", 1}}) == client.enqueue(unique_work, {{"n", 1}}));
  CHECK(client.enqueue(unique_work, no_args) != client.enqueue(unique_work, no_args));
}

TEST_CASE("hooks hear of a call that is refused, and may refuse one themselves: nothing is enqueued then") {
  TestDatabase database;
  Calls calls;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  {
    dogged::Client client = client_with(database, {std::make_shared<EnqueueRecorder>("a", calls)}, lines);
    CHECK_THROWS_AS(client.enqueue(work, no_args, {.queue = "nope"}), dogged::InvalidInput);
    CHECK(calls == Calls{"a before", "a on_error"});
  }
  calls.clear();
  dogged::Client client = client_with(
      database,
      {std::make_shared<EnqueueRecorder>("a", calls), std::make_shared<EnqueueRecorder>("b", calls, "before"),
       std::make_shared<EnqueueRecorder>("c", calls)},
      lines);
  CHECK_THROWS_AS(client.enqueue(work, no_args), std::runtime_error);
  CHECK(calls == Calls{"a before", "b before", "a on_error"});
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("a hook that changes how many tasks there are is refused") {
  class Doubles : public dogged::EnqueueMiddleware {
    void before(std::vector<dogged::NewTask>& tasks) override { tasks.push_back(tasks.front()); }
  };
  TestDatabase database;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  dogged::Client client = client_with(database, {std::make_shared<Doubles>()}, lines);
  CHECK(contains(error_of<dogged::InvalidInput>([&] { static_cast<void>(client.enqueue(work, no_args)); }).what(),
                 "made 2 tasks of 1"));
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("an exception of a hook after an enqueue is logged, and the call gives its ids") {
  TestDatabase database;
  Calls calls;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  dogged::Client client = client_with(
      database,
      {std::make_shared<EnqueueRecorder>("a", calls), std::make_shared<EnqueueRecorder>("b", calls, "after 1")}, lines);
  CHECK(client.enqueue(work, no_args) > 0);
  CHECK(calls.back() == "a after 1");
  REQUIRE(lines->last_formatted().size() == 1);
  CHECK(contains(lines->last_formatted().front(), "no after 1"));
}

TEST_CASE("hooks are around enqueue_in as well") {
  TestDatabase database;
  Calls calls;
  pqxx::connection connection{database.settings().url};
  pqxx::work transaction{connection};
  dogged::enqueue_in(transaction, work, no_args, {},
                     {database.schema(), {std::make_shared<EnqueueRecorder>("a", calls)}});
  transaction.commit();
  CHECK(calls == Calls{"a before", "a after 1"});
  CHECK(database.value("select tags[1] as value from dogged.tasks") == "a");
}
