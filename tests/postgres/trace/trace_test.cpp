// Traces from the producer to the handler: what a tracer is told, and what handlers, log lines and further tasks get.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>

#include <dogged/tracer.hpp>
#include <dogged/transaction.hpp>

#include "client/log_format.hpp"
#include "support/catch.hpp"
#include "support/producer_trace.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::producer;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::trace_id;
using test::work;

namespace {

constexpr Task<nlohmann::json> child_work{"child"};
constexpr Task<nlohmann::json> send_mail{"mail.send"};

/// Notes what it is told, in one line for each call, and numbers its spans.
class RecordingTracer final : public Tracer {
 public:
  [[nodiscard]] std::optional<TraceContext> current() override { return TraceContext::from_text(producer); }

  [[nodiscard]] std::unique_ptr<AttemptSpan> attempt_begins(const AttemptBegin& begin) override {
    note("begin " + std::string{begin.task_name} + " " + std::to_string(begin.attempt) + " of " +
         (begin.producer ? begin.producer->span_id_text() : "nobody") + " on " + std::string{begin.queue} + " by " +
         std::string{begin.worker});
    if (throws) throw std::runtime_error("no spans today");
    TraceContext context;
    context.trace_id.fill(0xaa);
    context.span_id.fill(static_cast<std::uint8_t>(begin.attempt));
    context.sampled = true;
    return std::make_unique<Span>(*this, context);
  }

  [[nodiscard]] std::vector<std::string> calls() const {
    const detail::Lock lock{mutex_};
    return calls_;
  }
  /// How often it was told that starts so.
  [[nodiscard]] std::size_t count(const std::string& beginning) const {
    const std::vector<std::string> all = calls();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const std::string& call) { return call.starts_with(beginning); }));
  }

  bool throws = false;

 private:
  class Span final : public AttemptSpan {
   public:
    Span(RecordingTracer& tracer, TraceContext context) : tracer_(tracer), context_(std::move(context)) {}
    [[nodiscard]] TraceContext context() const override { return context_; }
    void ended(const AttemptEnd& end) noexcept override {
      tracer_.note("end " + std::string{to_text(end.outcome)} + " " + std::string{end.error_code} +
                   (end.retry_in ? " again in " + std::to_string(end.retry_in->count()) : ""));
    }
    void left() noexcept override { tracer_.note("left"); }

   private:
    RecordingTracer& tracer_;
    const TraceContext context_;
  };

  void note(std::string call) {
    const detail::Lock lock{mutex_};
    calls_.push_back(std::move(call));
  }

  mutable detail::Mutex mutex_;
  std::vector<std::string> calls_ DOGGED_GUARDED_BY(mutex_);
};

runtime::WorkerSettings traced_by(std::shared_ptr<Tracer> tracer) {
  runtime::WorkerSettings settings;
  settings.name = "app-1";
  settings.tracer = std::move(tracer);
  return settings;
}

std::string trace_context_of(TestDatabase& database, TaskId id) {
  return database.value("select trace_context as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id));
}

}  // namespace

TEST_CASE("the guide's producer and handler: the header of the handler's call names the producer's trace") {
  TestDatabase database;
  struct {
    std::map<std::string, std::string> headers;
  } request;
  RunningWorker worker{database, {registered(send_mail, [&](Context& ctx, const nlohmann::json&) {
                         if (const auto trace = ctx.trace()) request.headers["traceparent"] = trace->traceparent();
                       })}};
  Client client = database.client();
  const nlohmann::json mail = {{"to", "ada"}};
  const TaskId id =
      client.enqueue(send_mail, mail, {.trace_context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(request.headers.at("traceparent") == producer);
}

TEST_CASE("without a tracer a handler's own tasks carry the trace of its producer") {
  TestDatabase database;
  std::optional<TraceContext> seen;
  RunningWorker worker{database, {registered(work, [&](Context& context, const nlohmann::json&) {
                         seen = context.trace();
                         Client client = database.client();
                         static_cast<void>(client.enqueue(child_work, no_args));
                         static_cast<void>(client.enqueue_many(child_work, {no_args, no_args}));
                         static_cast<void>(client.enqueue(child_work, no_args, {.trace_context = "own"}));
                       })}};
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = producer});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(seen == TraceContext::from_text(producer));
  CHECK(database.value("select string_agg(trace_context, ' ' order by id) as value from dogged.tasks where name = "
                       "'child'") == producer + " " + producer + " " + producer + " own");
}

TEST_CASE("a trace context that is no traceparent is dropped: the task runs, and hands nothing on") {
  TestDatabase database;
  bool has_trace = true;
  std::string given;
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = "00-no-trace-01"});
  RunningWorker worker{database, {registered(work, [&](Context& context, const nlohmann::json&) {
                         has_trace = context.trace().has_value();
                         given = context.trace_context();
                         static_cast<void>(database.client().enqueue(child_work, no_args));
                       })}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK_FALSE(has_trace);
  CHECK(given == "00-no-trace-01");
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'child' and trace_context is null") ==
        "1");
}

TEST_CASE("a tracer hears of each attempt, with the producer's span, how the attempt ended, and the delay of a retry") {
  TestDatabase database;
  const auto tracer = std::make_shared<RecordingTracer>();
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = producer});
  RunningWorker worker{
      database,
      {registered(work,
                  [&](Context& context, const nlohmann::json&) {
                    if (context.attempt() == 1) throw TaskError{"AGAIN", "once more"};
                  },
                  {.retry = fixed(7ms).with_max_retries(1).with_jitter(Jitter::none()), .auto_retry_for = {"AGAIN"}})},
      traced_by(tracer)};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(tracer->calls() == std::vector<std::string>{"begin work 1 of 00f067aa0ba902b7 on default by app-1", "left",
                                                    "end failed AGAIN again in 7",
                                                    "begin work 2 of 00f067aa0ba902b7 on default by app-1", "left",
                                                    "end succeeded "});
}

TEST_CASE("the attempt's span is the trace of its handler and of the tasks that the handler enqueues") {
  TestDatabase database;
  const auto tracer = std::make_shared<RecordingTracer>();
  std::string seen;
  TaskId child = 0;
  TaskId child_in = 0;
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = producer});
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     seen = context.trace().value().to_text();
                                     child = database.client().enqueue(child_work, no_args);
                                     pqxx::connection connection{database.settings().url};
                                     pqxx::work transaction{connection};
                                     child_in = enqueue_in(transaction, child_work, no_args, {}, {database.schema()});
                                     transaction.commit();
                                   })},
                       traced_by(tracer)};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(seen == "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-0101010101010101-01");
  CHECK(trace_context_of(database, child) == seen);
  CHECK(trace_context_of(database, child_in) == seen);
  CHECK(trace_context_of(database, id) == producer);
}

TEST_CASE("the span of a handler that is given up ends with the attempt, and once", "[own_process]") {
  TestDatabase database;
  const auto tracer = std::make_shared<RecordingTracer>();
  test::Gate gate;
  runtime::WorkerSettings settings = traced_by(tracer);
  settings.stop_grace = 1ms;
  const TaskId id = database.client().enqueue(work, no_args);
  {
    RunningWorker worker{database,
                         {registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); }, {.timeout = 1ms})},
                         settings};
    REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
    CHECK(tracer->count("end timed_out TIMEOUT") == 1);
    CHECK(tracer->count("left") == 0);
    gate.open();
    CHECK(eventually([&] { return tracer->count("left") == 1; }));
  }
  CHECK(tracer->count("end") == 1);
}

TEST_CASE("a tracer that throws costs the attempt its span, and nothing else") {
  TestDatabase database;
  const auto tracer = std::make_shared<RecordingTracer>();
  tracer->throws = true;
  std::optional<TraceContext> seen;
  RunningWorker worker{database,
                       {registered(work, [&](Context& context, const nlohmann::json&) { seen = context.trace(); })},
                       traced_by(tracer)};
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = producer});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(seen == TraceContext::from_text(producer));
  CHECK(tracer->count("end") == 0);
}

namespace {

/// The log of a worker while a task logs `hello` and fails.
std::string lines_of_failure(LogFormat format) {
  TestDatabase database;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  lines->set_formatter(formatter_of(format));
  WorkerOptions options{.database_url = database.settings_of("worker").url, .schema = database.schema()};
  options.tracer = std::make_shared<RecordingTracer>();
  options.log = std::make_shared<spdlog::logger>("test", lines);
  Worker worker{options, Tasks{}.add(
                             [](Context& context, const nlohmann::json&) {
                               context.log().info("hello");
                               throw TaskError{"BROKEN", "for good"};
                             },
                             work)};
  worker.start();
  Client client = database.client();
  CHECK(client.wait(client.enqueue(work, no_args), 20s).error_code == "BROKEN");
  static_cast<void>(worker.stop());
  std::string all;
  for (const std::string& line : lines->last_formatted()) all += line;
  return all;
}

const std::string traced(32, 'a');

}  // namespace

TEST_CASE("lines of a handler and lines of events carry the trace's id") {
  const std::string all = lines_of_failure(LogFormat::text);
  const std::string& id = traced;
  CHECK(contains(all, "info [test task=1 name=work queue=default attempt=1 trace=" + id + "] hello"));
  CHECK(contains(all, "event=not_retried task=1 name=work queue=default attempt=1 error=BROKEN trace=" + id));
}

TEST_CASE("lines of a handler have the attempt's fields in the formats for programs, under the worker's logger") {
  CHECK(contains(lines_of_failure(LogFormat::json),
                 R"("logger":"test","event":"log","task":1,"name":"work","queue":"default","attempt":1,"trace":")" +
                     traced + R"(","message":"hello"})"));
  CHECK(contains(lines_of_failure(LogFormat::logfmt),
                 "logger=test event=log task=1 name=work queue=default attempt=1 trace=" + traced + " message=hello"));
}

TEST_CASE("the line of a task that expired before its handler began carries the producer's trace") {
  TestDatabase database;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  test::Gate gate;
  WorkerOptions options{.database_url = database.settings_of("worker").url, .schema = database.schema()};
  options.queues = {{"default", 1}};
  options.heartbeat = 20min;  // upkeep, which would end the task in the queue, looks with the heartbeat
  options.lease = 1h;
  options.log = std::make_shared<spdlog::logger>("test", lines);
  Worker worker{options, Tasks{}.add(
                             [&](Context&, const nlohmann::json& args) {
                               if (args.contains("hold")) gate.wait();
                             },
                             work)};
  worker.start();
  Client client = database.client();
  const std::vector<TaskId> quick = client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args));
  for (const TaskId id : quick) static_cast<void>(client.wait(id, 20s));  // from now on it claims several at once
  const TaskId late = client
                          .enqueue_many({NewTask{"work", R"({"hold": 1})", {}},
                                         NewTask{"work", "{}", {.trace_context = producer, .expires_in = 300ms}}})
                          .back();
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  REQUIRE(eventually([&] {
    return database.value("select expires_at < clock_timestamp() as value from dogged.tasks where id = $1::bigint",
                          db::Params{}.add(late)) == "t";
  }));
  gate.open();
  REQUIRE(eventually([&] { return database.status_of(late) == "expired"; }));
  static_cast<void>(worker.stop());
  std::string all;
  for (const std::string& line : lines->last_formatted()) all += line;
  INFO(all);
  CHECK(contains(all, "event=expired task=" + std::to_string(late) + " name=work queue=default trace=" + trace_id));
}

TEST_CASE("trace_enqueues gives the tracer's current span to tasks that have no trace context of their own") {
  TestDatabase database;
  Client client{database.settings().url,
                {.schema = database.schema(),
                 .warns_of_undeclared = false,
                 .middleware = {trace_enqueues(std::make_shared<RecordingTracer>())}}};
  CHECK(trace_context_of(database, client.enqueue(work, no_args)) == producer);
  CHECK(trace_context_of(database, client.enqueue(work, no_args, {.trace_context = "own"})) == "own");
  CHECK(contains(error_of<InvalidInput>([] { static_cast<void>(trace_enqueues(nullptr)); }).message(), "no tracer"));
}
