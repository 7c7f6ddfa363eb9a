// Hooks around handlers: their order, what they may change, and what they hear of the end.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>

#include <dogged/middleware.hpp>
#include <dogged/worker.hpp>

#include "run/attempt.hpp"
#include "support/catch.hpp"
#include "tasks/definition.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> work{"work"};

using Calls = std::vector<std::string>;

/// Notes the calls of its hooks, and throws in the hooks that the test names.
class Recorder : public Middleware {
 public:
  Recorder(std::string name, Calls& calls, std::string throws_in = "")
      : name_(std::move(name)), calls_(calls), throws_in_(std::move(throws_in)) {}

  void before(Context&) override { note("before"); }
  void after(Context&) override { note("after"); }
  void on_error(Context&, const AttemptEnd& end) override { note("on_error", std::string{end.error_code}); }
  void on_retry(Context&, const AttemptEnd& end) override {
    note("on_retry", std::to_string(end.retry_in.value().count()));
  }
  void on_end(Context&, const AttemptEnd& end) override { note("on_end", std::string{to_text(end.outcome)}); }

 private:
  void note(const std::string& hook, const std::string& more = "") {
    calls_.push_back(name_ + " " + hook + (more.empty() ? "" : " " + more));
    if (hook == throws_in_) throw TaskError{"HOOK_FAILED", "the hook " + hook + " of " + name_};
  }

  std::string name_;
  Calls& calls_;
  std::string throws_in_;
};

using Handler = std::function<nlohmann::json(Context&, const nlohmann::json&)>;

/// Runs one attempt of `handler` with these hooks.
struct Run {
  Run(const Handler& handler, const Middlewares& middleware, const TaskOptions& options = {},
      const runtime::StopSignal& stop = {})
      : definitions(runtime::make_definitions(Tasks{}.add(handler, work, options).all(), {}, middleware)) {
    runtime::ClaimedTask task;
    task.id = 7;
    task.attempt = 1;
    task.definition = &definitions.at("work");
    task.queue = "default";
    task.args_json = R"({"tenant": "t1"})";
    report = runtime::run_attempt({std::move(task), runtime::SteadyClock::now()}, stop, {}, runtime::AttemptTrace{},
                                  *log, 0.5);
  }

  [[nodiscard]] std::string code() const { return std::string{report.transition.code()}; }

  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  std::shared_ptr<spdlog::logger> log = std::make_shared<spdlog::logger>("test", lines);
  runtime::Definitions definitions;
  runtime::Report report;
};

const Handler succeeds = [](Context&, const nlohmann::json&) { return nlohmann::json{1}; };
const Handler fails = [](Context&, const nlohmann::json&) -> nlohmann::json { throw TaskError{"HTTP_503", "down"}; };

Calls inner_calls;
const Middlewares& inner_hooks() {
  static const Middlewares hooks{std::make_shared<Recorder>("task", inner_calls)};
  return hooks;
}

}  // namespace

TEST_CASE("hooks are called from the outside in before a handler, and from the inside out after it") {
  Calls calls;
  const Run run{[&](Context&, const nlohmann::json&) {
                  calls.push_back("handler");
                  return nlohmann::json{};
                },
                {std::make_shared<Recorder>("outer", calls), std::make_shared<Recorder>("inner", calls)}};
  CHECK(calls == Calls{"outer before", "inner before", "handler", "inner after", "outer after",
                       "inner on_end succeeded", "outer on_end succeeded"});
}

TEST_CASE("the hooks of a task are within those of its worker") {
  inner_calls.clear();
  const Run run{succeeds, {std::make_shared<Recorder>("worker", inner_calls)}, {.middleware = inner_hooks}};
  CHECK(inner_calls == Calls{"worker before", "task before", "task after", "worker after", "task on_end succeeded",
                             "worker on_end succeeded"});
}

TEST_CASE("hooks hear of an error with its code, and of the retry with its delay") {
  Calls calls;
  const Run run{fails,
                {std::make_shared<Recorder>("m", calls)},
                {.retry = Fixed{.interval = 2s, .max_retries = 1}, .auto_retry_for = {"HTTP_503"}}};
  CHECK(calls == Calls{"m before", "m on_error HTTP_503", "m on_retry 2000", "m on_end failed"});
  calls.clear();
  const Run last{fails, {std::make_shared<Recorder>("m", calls)}};
  CHECK(calls == Calls{"m before", "m on_error HTTP_503", "m on_end failed"});
}

TEST_CASE(
    "an exception of before or after fails the attempt as the handler's would, and hooks that have not begun hear "
    "nothing") {
  Calls calls;
  bool has_run = false;
  const Run in_before{[&](Context&, const nlohmann::json&) {
                        has_run = true;
                        return nlohmann::json{};
                      },
                      {std::make_shared<Recorder>("a", calls), std::make_shared<Recorder>("b", calls, "before"),
                       std::make_shared<Recorder>("c", calls)}};
  CHECK_FALSE(has_run);
  CHECK(in_before.code() == "HOOK_FAILED");
  CHECK(calls == Calls{"a before", "b before", "a on_error HOOK_FAILED", "a on_end failed"});

  calls.clear();
  const Run in_after{succeeds,
                     {std::make_shared<Recorder>("a", calls), std::make_shared<Recorder>("b", calls, "after")}};
  CHECK(in_after.code() == "HOOK_FAILED");
  CHECK(calls == Calls{"a before", "b before", "b after", "b on_error HOOK_FAILED", "b on_end failed",
                       "a on_error HOOK_FAILED", "a on_end failed"});
}

TEST_CASE("an exception of a hook about an end is logged and changes nothing") {
  for (const std::string hook : {"on_error", "on_end"}) {
    Calls calls;
    const Run run{fails, {std::make_shared<Recorder>("a", calls), std::make_shared<Recorder>("b", calls, hook)}};
    CAPTURE(hook);
    CHECK(run.code() == "HTTP_503");
    CHECK(calls.back() == "a on_end failed");
    REQUIRE(run.lines->last_formatted().size() == 1);
    CHECK(run.lines->last_formatted().front().find("test task=7 name=work queue=default attempt=1") !=
          std::string::npos);
    CHECK(run.lines->last_formatted().front().find(hook) != std::string::npos);
  }
}

TEST_CASE("hooks and the handler share values of the attempt, which end after the last hook, the latest first") {
  static Calls ends;
  ends.clear();
  struct Tenant {
    std::string name;
    ~Tenant() { ends.push_back("tenant"); }
  };
  struct Span {
    ~Span() { ends.push_back("span"); }
  };
  class Tenancy : public Middleware {
    void before(Context& context) override {
      context.local<Tenant>().name = nlohmann::json::parse(context.args_json()).at("tenant");
    }
    void on_end(Context& context, const AttemptEnd&) override {
      ends.push_back("on_end of " + context.local<Tenant>().name);
    }
  };
  const Run run{[](Context& context, const nlohmann::json&) {
                  static_cast<void>(context.local<Span>());
                  return nlohmann::json{context.local<Tenant>().name};
                },
                {std::make_shared<Tenancy>()}};
  CHECK(run.report.result_json == R"(["t1"])");
  CHECK(ends == Calls{"on_end of t1", "span", "tenant"});
}

TEST_CASE("options that TASK_REGISTER would not compile are refused in a list of tasks, with rule and value") {
  const auto mistake_in = [](const TaskOptions& options) -> std::string {
    try {
      static_cast<void>(runtime::make_definitions(Tasks{}.add(succeeds, work, options).all()));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  CHECK(mistake_in({}).empty());
  CHECK(mistake_in({.queue = "a b"}).find("the task work: queue must be") == 0);
  CHECK(mistake_in({.timeout = 25h}).find("timeout must be 1ms to 24h, or 0 for none, and is 25h") !=
        std::string::npos);
  CHECK(mistake_in({.max_losses = 0}).find("max_losses must be 1 to 100, and is 0") != std::string::npos);
  CHECK(mistake_in({.max_snoozes = -1}).find("max_snoozes must be 0 to 1000000, and is -1") != std::string::npos);
  CHECK(mistake_in({.circuit = "c d"}).find("circuit must be") != std::string::npos);
  CHECK(mistake_in({.circuit_settings = {.failure_threshold = 7}}).find("circuit_settings need a circuit") !=
        std::string::npos);
  CHECK(mistake_in({.redact = {"card"}}).find("redact must have JSON pointers of at most 256") != std::string::npos);
}

TEST_CASE("a handler's wait passes, and ends when the handler is asked to stop") {
  runtime::StopSignal stop;
  bool has_passed = false, goes_on = true;
  const Handler waits = [&](Context& context, const nlohmann::json&) {
    has_passed = context.wait_for(1ms);
    stop.request(StopReason::shutdown);
    goes_on = context.wait_for(1h);
    return nlohmann::json{};
  };
  static_cast<void>(Run{waits, {}, {}, stop});
  CHECK(has_passed);
  CHECK_FALSE(goes_on);
}
