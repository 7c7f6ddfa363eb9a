// The threads of a queue where the system has no more of them, and where dogged has a mistake. tests/postgres tests the
// tasks that executors run.
#include "run/executor.hpp"

#include <chrono>
#include <exception>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <sys/resource.h>
#include <unistd.h>

#include <dogged/worker.hpp>

#include "base/first_defect.hpp"
#include "base/invariant.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/counting_listener.hpp"
#include "tasks/definition.hpp"

using namespace dogged;
using namespace std::chrono_literals;

namespace {

/// The address space that this process may have, while it lives: threads need some for their stacks.
class LittleAddressSpace {
 public:
  explicit LittleAddressSpace(std::size_t bytes_more) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    rlimit little = before_;
    little.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes_more;
    ::setrlimit(RLIMIT_AS, &little);
  }
  ~LittleAddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }
  LittleAddressSpace(const LittleAddressSpace&) = delete;
  LittleAddressSpace& operator=(const LittleAddressSpace&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("threads that the system refuses are started when it has more, and both is logged once") {
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  const auto definitions = std::make_shared<const runtime::Definitions>();
  test::CountingListener listener;
  runtime::Executor executor{{.queue = "mail", .concurrency = 2},
                             {.log = std::make_shared<spdlog::logger>("test", lines),
                              .lease = std::make_shared<runtime::SharedLease>(1, 30s, std::chrono::steady_clock::now()),
                              .definitions = definitions,
                              .tally = std::make_shared<runtime::Tally>(),
                              .listener = listener}};
  constexpr std::size_t many = 200;
  {
    const LittleAddressSpace little{64UL << 20};  // for some stacks of 8 MiB
    executor.set_concurrency(many);
    CHECK(executor.demand() < many);
    executor.start_missing_threads();
    CHECK(executor.demand() < many);
    CHECK(executor.demand() >= 2);
  }
  executor.start_missing_threads();
  executor.start_missing_threads();
  CHECK(executor.demand() == many);
  const auto logged = lines->last_formatted();
  REQUIRE(logged.size() == 2);
  CHECK(logged[0].find("and not 200, until more threads can be started") != std::string::npos);
  CHECK(logged[1].find("runs 200 tasks at once") != std::string::npos);
}

TEST_CASE("a broken invariant on a thread reaches the owner, and nothing waits for the attempt") {
  class BrokenListener final : public runtime::Executor::Listener {
   public:
    void on_report(runtime::Report&& /*report*/) override { runtime::require_invariant(false, "on purpose"); }
    void on_deadline(runtime::SteadyClock::time_point /*deadline*/) override {}
    void on_expired() override {}
    void on_defect(std::exception_ptr error) override { defect.set_value(runtime::message_of(error)); }

    std::promise<std::string> defect;
  } listener;
  const auto definitions = std::make_shared<const runtime::Definitions>(
      runtime::make_definitions(Tasks{}.add([](Context&, const nlohmann::json&) {}, Task<nlohmann::json>{"a"}).all()));
  runtime::Executor executor{{.queue = "mail", .concurrency = 1},
                             {.log = std::make_shared<spdlog::logger>("test"),
                              .lease = std::make_shared<runtime::SharedLease>(1, 30s, std::chrono::steady_clock::now()),
                              .definitions = definitions,
                              .tally = std::make_shared<runtime::Tally>(),
                              .listener = listener}};
  runtime::ClaimedTask task;
  task.id = 7;
  task.attempt = 1;
  task.definition = &definitions->at("a");
  task.args_json = "{}";
  std::vector<runtime::ClaimedTask> tasks{task};
  executor.submit(std::move(tasks));
  auto defect = listener.defect.get_future();
  REQUIRE(defect.wait_for(20s) == std::future_status::ready);
  CHECK(defect.get() == "broken invariant: on purpose");
  CHECK(executor.wait_idle(std::chrono::steady_clock::now() + 20s));
  CHECK(executor.give_up_all().empty());
  REQUIRE(executor.held().size() == 1);
  CHECK(executor.held().front().id == 7);
}

TEST_CASE("a thread that has no memory for its next attempt takes no task, so that the task can be given back") {
  if (!support::counts_allocations) return;
  class ForgetfulListener final : public runtime::Executor::Listener {
   public:
    void on_report(runtime::Report&& /*report*/) override { support::refuses_allocations = true; }
    void on_deadline(runtime::SteadyClock::time_point /*deadline*/) override {}
    void on_expired() override {}
    void on_defect(std::exception_ptr /*error*/) override {
      support::refuses_allocations = false;
      defect.set_value();
    }

    std::promise<void> defect;
  } listener;
  const auto definitions = std::make_shared<const runtime::Definitions>(
      runtime::make_definitions(Tasks{}.add([](Context&, const nlohmann::json&) {}, Task<nlohmann::json>{"a"}).all()));
  runtime::Executor executor{{.queue = "mail", .concurrency = 1},
                             {.log = std::make_shared<spdlog::logger>("test"),
                              .lease = std::make_shared<runtime::SharedLease>(1, 30s, std::chrono::steady_clock::now()),
                              .definitions = definitions,
                              .tally = std::make_shared<runtime::Tally>(),
                              .listener = listener}};
  std::vector<runtime::ClaimedTask> tasks(2);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].id = static_cast<TaskId>(i + 1);
    tasks[i].attempt = 1;
    tasks[i].definition = &definitions->at("a");
    tasks[i].args_json = "{}";
  }
  executor.submit(std::move(tasks));
  REQUIRE(listener.defect.get_future().wait_for(20s) == std::future_status::ready);
  const std::vector<runtime::ClaimedTask> given_back = executor.take_back();
  REQUIRE(given_back.size() == 1);
  CHECK(given_back.front().id == 2);
  CHECK_FALSE(executor.holds_any());
}

TEST_CASE("a thread that runs tasks of several names counts each attempt under the name of its task") {
  const auto succeeds = [](Context&, const nlohmann::json&) {};
  const auto definitions = std::make_shared<const runtime::Definitions>(runtime::make_definitions(
      Tasks{}.add(succeeds, Task<nlohmann::json>{"a"}).add(succeeds, Task<nlohmann::json>{"b"}).all()));
  const auto tally = std::make_shared<runtime::Tally>();
  test::CountingListener listener;
  runtime::Executor executor{{.queue = "mail", .concurrency = 1},
                             {.log = std::make_shared<spdlog::logger>("test"),
                              .lease = std::make_shared<runtime::SharedLease>(1, 30s, std::chrono::steady_clock::now()),
                              .definitions = definitions,
                              .tally = tally,
                              .listener = listener}};
  std::vector<runtime::ClaimedTask> tasks;
  for (const char* name : {"a", "b", "a"}) {
    runtime::ClaimedTask& task = tasks.emplace_back();
    task.id = static_cast<TaskId>(tasks.size());
    task.attempt = 1;
    task.definition = &definitions->at(name);
    task.queue = "mail";
    task.args_json = "{}";
  }
  executor.submit(std::move(tasks));
  REQUIRE(executor.wait_idle(std::chrono::steady_clock::now() + 20s));
  const auto succeeded = [&](const char* name) {
    return tally->attempts.of_task("mail", name)[static_cast<std::size_t>(AttemptOutcome::succeeded)].read().count();
  };
  CHECK(succeeded("a") == 2);
  CHECK(succeeded("b") == 1);
}
