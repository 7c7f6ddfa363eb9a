// Spans of a worker at a collector: what it gets, and that tasks go on when it is down, slow or refuses them.
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <dogged/otlp.hpp>
#include <dogged/steps.hpp>
#include <dogged/transaction.hpp>
#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/exposition.hpp"
#include "support/otlp_receiver.hpp"
#include "support/producer_trace.hpp"
#include "support/served_worker.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;
using test::hex;
using test::no_args;
using test::OtlpReceiver;
using test::producer;
using test::ServedWorker;
using test::TestDatabase;
using test::trace_id;
using test::work;

namespace {

/// A worker that exports each span at once; `more` variables count over these.
WorkerOptions exporting_to(const std::string& endpoint, std::map<std::string, std::string> more = {}) {
  more.insert({{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}, {"OTEL_BSP_SCHEDULE_DELAY", "1"}});
  WorkerOptions options{.name = "app-1"};
  options.environment = [more](const std::string& name) -> std::optional<std::string> {
    const auto found = more.find(name);
    return found == more.end() ? std::nullopt : std::optional{found->second};
  };
  return options;
}

/// The counters of spans, by the reason of a drop; those that the collector has are under `exported`.
std::map<std::string, double> span_counts(const ServedWorker& worker) {
  const auto families = support::ExpositionReader::read(worker.get("/metrics")->body);
  std::map<std::string, double> counts;
  for (const auto& sample : families.at("dogged_worker_spans_dropped_total").samples) {
    counts[sample.labels.at("reason")] = sample.value;
  }
  counts["exported"] = families.at("dogged_worker_spans_exported_total").samples.at(0).value;
  return counts;
}

bool runs_tasks(const TestDatabase& database, int count) {
  Client client = database.client();
  const std::vector<TaskId> ids = client.enqueue_many(work, std::vector(static_cast<std::size_t>(count), no_args));
  for (const TaskId id : ids) {
    if (!client.wait(id, 20s).has_succeeded()) return false;
  }
  return true;
}

const auto succeeds = [](Context&, const nlohmann::json&) {};

void complete_in_transaction(Context& context) {
  pqxx::connection connection{context.database_url()};
  pqxx::work transaction{connection};
  context.complete_in(transaction);
  transaction.commit();
}

/// A port on which nothing listens.
std::string dead_endpoint() {
  httplib::Server server;
  const int port = server.bind_to_any_port("127.0.0.1");
  return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace

TEST_CASE("a collector gets a span for each attempt: the first is the producer's child, a retry a root with a link") {
  TestDatabase database;
  OtlpReceiver collector;
  ServedWorker worker{
      database,
      [](Context& context, const nlohmann::json&) {
        if (context.attempt() == 1) throw TaskError{"AGAIN", "once \"more\"\n"};
      },
      exporting_to(collector.endpoint()),
      {.retry = fixed(7ms).with_max_retries(1).with_jitter(Jitter::none()), .auto_retry_for = {"AGAIN"}}};
  worker->start();
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args, {.trace_context = producer + " congo=t61rcWkgMzE"});
  REQUIRE(client.wait(id, 20s).has_succeeded());
  REQUIRE(eventually([&] { return collector.spans().size() == 2; }));
  CHECK(collector.errors().empty());

  const OtlpReceiver::Span first = collector.spans().at(0);
  CHECK(hex(first.trace_id()) == trace_id);
  CHECK(hex(first.parent_span_id()) == "00f067aa0ba902b7");
  CHECK(first.span_id().size() == 8);
  CHECK(first.trace_state() == "congo=t61rcWkgMzE");
  CHECK(first.flags() == 0x301);  // sampled, and the parent is of another process
  CHECK(first.links().empty());
  CHECK(first.name() == "process work");
  CHECK(first.kind() == OtlpReceiver::Span::SPAN_KIND_CONSUMER);
  CHECK(first.start_time_unix_nano() > 1'700'000'000'000'000'000);
  CHECK(first.end_time_unix_nano() > first.start_time_unix_nano());
  CHECK(first.status().code() == opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
  CHECK(first.status().message() == "once \"more\"\n");
  CHECK(OtlpReceiver::attributes_of(first) == OtlpReceiver::Attributes{{"messaging.system", "dogged"},
                                                                       {"messaging.operation.name", "process"},
                                                                       {"messaging.operation.type", "process"},
                                                                       {"messaging.destination.name", "default"},
                                                                       {"messaging.message.id", std::to_string(id)},
                                                                       {"messaging.client.id", "app-1"},
                                                                       {"dogged.task", "work"},
                                                                       {"dogged.attempt", "1"},
                                                                       {"dogged.retry_count", "0"},
                                                                       {"dogged.outcome", "failed"},
                                                                       {"dogged.delay_ms", "7"},
                                                                       {"error.type", "AGAIN"}});

  const OtlpReceiver::Span retry = collector.spans().at(1);
  CHECK(hex(retry.trace_id()) != trace_id);
  CHECK(retry.trace_id().size() == 16);
  CHECK(retry.parent_span_id().empty());
  REQUIRE(retry.links().size() == 1);
  CHECK(hex(retry.links(0).trace_id()) == trace_id);
  CHECK(hex(retry.links(0).span_id()) == "00f067aa0ba902b7");
  CHECK(retry.links(0).trace_state() == "congo=t61rcWkgMzE");
  CHECK(retry.status().code() == opentelemetry::proto::trace::v1::Status::STATUS_CODE_UNSET);
  CHECK(OtlpReceiver::attributes_of(retry).at("dogged.attempt") == "2");
  CHECK(OtlpReceiver::attributes_of(retry).at("dogged.outcome") == "succeeded");
  CHECK_FALSE(OtlpReceiver::attributes_of(retry).contains("error.type"));

  const std::string page = worker.get("/metrics", {{"Accept", "application/openmetrics-text"}})->body;
  CHECK(contains(page, "# {trace_id=\"" + trace_id + "\",span_id=\"" + hex(first.span_id()) + "\"} "));
  CHECK(contains(page, "# {trace_id=\"" + hex(retry.trace_id()) + "\""));
}

TEST_CASE(
    "a collector gets the program's resource and the operator's headers, and the log shows neither key nor password") {
  TestDatabase database;
  OtlpReceiver collector;
  const std::string endpoint = "http://ann:s3cret@" + collector.endpoint().substr(7) + "/";
  ServedWorker worker{database, succeeds,
                      exporting_to(endpoint, {{"OTEL_SERVICE_NAME", "mailer"},
                                              {"OTEL_RESOURCE_ATTRIBUTES", "service.name=x,team=caf%C3%A9%2C1"},
                                              {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=k%3D7,tenant=a"}})};
  worker->start();
  REQUIRE(runs_tasks(database, 1));
  REQUIRE(eventually([&] { return collector.spans().size() == 1; }));
  CHECK(collector.errors().empty());
  auto resource = collector.resource();
  CHECK(resource.at("service.name") == "mailer");
  CHECK(resource.at("team") == "caf\xC3\xA9,1");
  CHECK(resource.at("telemetry.sdk.name") == "dogged");
  const auto headers = collector.headers();
  CHECK(headers.find("api-key")->second == "k=7");
  CHECK(headers.find("tenant")->second == "a");
  CHECK(headers.find("Content-Type")->second == "application/json");
  CHECK(contains(worker.log(), "traces: spans go to " + collector.endpoint() + "/v1/traces\n"));
  CHECK_FALSE(contains(worker.log(), "s3cret"));
  CHECK_FALSE(contains(worker.log(), "k=7"));
}

TEST_CASE(
    "what a handler enqueues has a send span within that of its attempt, and the new task's attempt is its child") {
  TestDatabase database;
  OtlpReceiver collector;
  std::optional<TaskId> child;
  ServedWorker worker{database,
                      [&](Context&, const nlohmann::json& args) {
                        if (args.empty()) child = database.client().enqueue(work, {{"is", "child"}});
                      },
                      exporting_to(collector.endpoint())};
  worker->start();
  Client client = database.client();
  REQUIRE(client.wait(client.enqueue(work, no_args), 20s).has_succeeded());
  REQUIRE(client.wait(child.value(), 20s).has_succeeded());
  REQUIRE(eventually([&] { return collector.spans().size() == 3; }));
  CHECK(collector.errors().empty());
  std::map<std::string, OtlpReceiver::Span> spans;
  for (const auto& span : collector.spans()) {
    const auto attributes = OtlpReceiver::attributes_of(span);
    spans[attributes.at("messaging.operation.type") + " " + attributes.at("messaging.message.id")] = span;
  }
  const OtlpReceiver::Span parent = spans.at("process 1"), send = spans.at("send " + std::to_string(*child)),
                           process = spans.at("process " + std::to_string(*child));
  CHECK(parent.parent_span_id().empty());
  CHECK(send.parent_span_id() == parent.span_id());
  CHECK(process.parent_span_id() == send.span_id());
  CHECK(send.trace_id() == parent.trace_id());
  CHECK(process.trace_id() == parent.trace_id());
  CHECK(send.name() == "send work");
  CHECK(send.kind() == OtlpReceiver::Span::SPAN_KIND_PRODUCER);
  CHECK(send.flags() == 0x101);  // sampled, and the parent is of this process
  CHECK(send.start_time_unix_nano() >= parent.start_time_unix_nano());
  CHECK(send.end_time_unix_nano() > send.start_time_unix_nano());
  CHECK(OtlpReceiver::attributes_of(send) == OtlpReceiver::Attributes{{"messaging.system", "dogged"},
                                                                      {"messaging.operation.name", "send"},
                                                                      {"messaging.operation.type", "send"},
                                                                      {"messaging.message.id", std::to_string(*child)},
                                                                      {"messaging.client.id", "app-1"},
                                                                      {"dogged.task", "work"}});
}

TEST_CASE(
    "a producer without a worker exports a send span for each call, which its tasks' first attempts are children of") {
  TestDatabase database;
  OtlpReceiver collector;
  {
    const auto tracer = otlp_tracer(exporting_to(collector.endpoint()).environment);
    REQUIRE(tracer);
    Client client{database.settings().url,
                  {.schema = database.settings().schema, .middleware = {trace_enqueues(tracer)}}};
    client.enqueue(work, no_args, {.queue = "default"});
    client.enqueue_many(work, {no_args, no_args}, {.queue = "default"});
    client.enqueue(work, no_args, {.trace_context = producer});  // keeps it
    CHECK_THROWS_AS(client.enqueue(work, no_args, {.queue = "no \"such\" queue"}), InvalidInput);
  }  // sends what waits
  const auto spans = collector.spans();
  CHECK(collector.errors().empty());
  REQUIRE(spans.size() == 3);
  const auto context_of = [&](TaskId id) {
    return TraceContext::from_text(
        database.value("select trace_context as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id)));
  };
  const auto is_of = [&](TaskId id, const OtlpReceiver::Span& span) {
    return context_of(id)->span_id_text() == hex(span.span_id()) &&
           context_of(id)->trace_id_text() == hex(span.trace_id());
  };
  CHECK(is_of(1, spans.at(0)));
  CHECK(is_of(2, spans.at(1)));
  CHECK(is_of(3, spans.at(1)));
  CHECK(context_of(4)->to_text() == producer);
  CHECK(spans.at(0).parent_span_id().empty());
  CHECK(spans.at(0).trace_id() != spans.at(1).trace_id());
  CHECK(OtlpReceiver::attributes_of(spans.at(0)) == OtlpReceiver::Attributes{{"messaging.system", "dogged"},
                                                                             {"messaging.operation.name", "send"},
                                                                             {"messaging.operation.type", "send"},
                                                                             {"messaging.destination.name", "default"},
                                                                             {"messaging.message.id", "1"},
                                                                             {"dogged.task", "work"}});
  CHECK(OtlpReceiver::attributes_of(spans.at(1)).at("messaging.batch.message_count") == "2");
  CHECK(OtlpReceiver::attributes_of(spans.at(2)).at("messaging.destination.name") == "no \"such\" queue");
  CHECK(OtlpReceiver::attributes_of(spans.at(2)).contains("error.type"));
  CHECK(spans.at(2).status().code() == opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
}

TEST_CASE("the guide's producer enqueues without a collector as well") {
  TestDatabase database;
  dogged::ClientOptions options;
  if (const auto tracer = dogged::otlp_tracer()) options.middleware = {dogged::trace_enqueues(tracer)};
  options.schema = database.settings().schema;
  Client client{database.settings().url, options};
  CHECK(client.enqueue(work, no_args) == 1);
}

TEST_CASE("a program whose environment names no collector has no tracer of its own") {
  CHECK(otlp_tracer([](const std::string&) -> std::optional<std::string> { return std::nullopt; }) == nullptr);
}

TEST_CASE("an attempt that is the root of a trace goes on record with that trace, and others with that of their task") {
  TestDatabase database;
  OtlpReceiver collector;
  // Attempt 1 ends by a report, attempt 2 by a durable wait, attempt 3 by complete_in.
  ServedWorker worker{database,
                      [&](Context& context, const nlohmann::json&) {
                        if (context.attempt() == 1) throw TaskError{"AGAIN", "once"};
                        context.sleep(1ms, "pause");
                        complete_in_transaction(context);
                      },
                      exporting_to(collector.endpoint()),
                      {.retry = fixed(1ms).with_max_retries(1), .auto_retry_for = {"AGAIN"}}};
  worker->start();
  Client client = database.client();
  const TaskId traced = client.enqueue(work, no_args, {.trace_context = producer});
  REQUIRE(client.wait(traced, 20s).has_succeeded());
  const TaskId alone = client.enqueue(work, no_args);
  REQUIRE(client.wait(alone, 20s).has_succeeded());
  REQUIRE(eventually([&] { return collector.spans().size() == 6; }));
  const auto recorded = [&](TaskId id, int attempt) {
    return database.value(
        "select trace_context as value from dogged.task_attempts where task_id = $1::bigint and attempt = $2::int",
        db::Params{}.add(id).add(attempt));
  };
  const auto exported = [&](TaskId id, int attempt) -> std::string {
    for (const auto& span : collector.spans()) {
      const auto attributes = OtlpReceiver::attributes_of(span);
      if (attributes.at("messaging.message.id") != std::to_string(id)) continue;
      if (attributes.at("dogged.attempt") != std::to_string(attempt)) continue;
      return "00-" + hex(span.trace_id()) + "-" + hex(span.span_id()) + "-01";
    }
    return "none";
  };
  CHECK(recorded(traced, 1) == producer);
  for (const auto& [id, attempt] :
       std::vector<std::pair<TaskId, int>>{{traced, 2}, {traced, 3}, {alone, 1}, {alone, 2}, {alone, 3}}) {
    CHECK(recorded(id, attempt) == exported(id, attempt));
  }
  CHECK(database.value("select count(*) as value from dogged.tasks where trace_context is null") == "1");
}

TEST_CASE("a first attempt that ends by a durable wait or by complete_in goes on record with its producer's trace") {
  TestDatabase database;
  OtlpReceiver collector;
  const bool waits = GENERATE(true, false);
  ServedWorker worker{database,
                      [&](Context& context, const nlohmann::json&) {
                        waits ? context.sleep(1ms, "pause") : complete_in_transaction(context);
                      },
                      exporting_to(collector.endpoint())};
  worker->start();
  Client client = database.client();
  REQUIRE(client.wait(client.enqueue(work, no_args, {.trace_context = producer}), 20s).has_succeeded());
  CHECK(database.value("select trace_context as value from dogged.task_attempts where attempt = 1") == producer);
}

TEST_CASE("an attempt that nobody samples goes on record without a trace") {
  TestDatabase database;
  OtlpReceiver collector;
  const auto waits_and_completes = [](Context& context, const nlohmann::json&) {
    context.sleep(1ms, "pause");
    complete_in_transaction(context);
  };
  ServedWorker worker{database, waits_and_completes,
                      exporting_to(collector.endpoint(), {{"OTEL_TRACES_SAMPLER", "always_off"}})};
  worker->start();
  REQUIRE(runs_tasks(database, 1));
  CHECK(database.value("select count(*) as value from dogged.task_attempts") == "2");
  CHECK(database.value("select count(trace_context) as value from dogged.task_attempts") == "0");
}

TEST_CASE("a malformed traceparent is dropped and counted, and its task runs as the root of a trace") {
  TestDatabase database;
  OtlpReceiver collector;
  ServedWorker worker{database, succeeds, exporting_to(collector.endpoint())};
  worker->start();
  Client client = database.client();
  const std::string upper_case = "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01";
  REQUIRE(client.wait(client.enqueue(work, no_args, {.trace_context = upper_case}), 20s).has_succeeded());
  REQUIRE(eventually([&] { return collector.spans().size() == 1; }));
  CHECK(collector.errors().empty());
  CHECK(collector.spans().at(0).parent_span_id().empty());
  CHECK(collector.spans().at(0).links().empty());
  const auto families = support::ExpositionReader::read(worker.get("/metrics")->body);
  CHECK(families.at("dogged_worker_malformed_trace_contexts_total").samples.at(0).value == 1);
}

TEST_CASE("a producer that does not sample its trace has no spans at the collector") {
  TestDatabase database;
  OtlpReceiver collector;
  ServedWorker worker{database, succeeds, exporting_to(collector.endpoint())};
  worker->start();
  Client client = database.client();
  const std::string unsampled = producer.substr(0, 53) + "00";
  REQUIRE(client.wait(client.enqueue(work, no_args, {.trace_context = unsampled}), 20s).has_succeeded());
  REQUIRE(client.wait(client.enqueue(work, no_args, {.trace_context = producer}), 20s).has_succeeded());
  static_cast<void>(worker->stop());  // sends what waits
  REQUIRE(collector.spans().size() == 1);
  CHECK(OtlpReceiver::attributes_of(collector.spans().at(0)).at("messaging.message.id") == "2");
}

TEST_CASE("tasks run while the collector is down, and the spans are dropped, counted and told of once") {
  TestDatabase database;
  const std::string endpoint = dead_endpoint();
  ServedWorker worker{database, succeeds, exporting_to(endpoint, {{"OTEL_EXPORTER_OTLP_HEADERS", "api-key=s3cret"}})};
  worker->start();
  REQUIRE(runs_tasks(database, 3));
  static_cast<void>(worker->stop());
  auto counts = span_counts(worker);
  CHECK(counts.at("exported") == 0);
  CHECK(counts.at("failed") + counts.at("shutdown") == 3);
  const std::string log = worker.log();
  const std::size_t first = log.find("[warning] traces: " + endpoint + "/v1/traces: ");
  CHECK(first != std::string::npos);
  CHECK(log.find("; tasks go on", first + 1) == log.rfind("; tasks go on"));
  CHECK(contains(log, "traces: 0 spans exported, 3 dropped"));
  CHECK_FALSE(contains(log, "s3cret"));
}

TEST_CASE("tasks run while the collector is slow: the queue of spans is bounded, and the worker stops all the same") {
  TestDatabase database;
  OtlpReceiver collector;
  collector.hold();
  ServedWorker worker{database, succeeds, exporting_to(collector.endpoint(), {{"OTEL_BSP_MAX_QUEUE_SIZE", "2"}})};
  worker->start();
  REQUIRE(runs_tasks(database, 1));
  REQUIRE(eventually([&] { return collector.requests() == 1; }));
  REQUIRE(runs_tasks(database, 5));
  auto counts = span_counts(worker);
  CHECK(counts.at("queue_full") == 3);
  CHECK(worker->stop().reason == WorkerEnd::Reason::stopped);  // while the collector holds the request
  counts = span_counts(worker);
  CHECK(counts.at("exported") == 0);
  CHECK(counts.at("failed") + counts.at("shutdown") == 3);
}

TEST_CASE("a request that the collector answers with 400 is not repeated, and the next one is sent") {
  TestDatabase database;
  OtlpReceiver collector;
  collector.will_answer({{.status = 400, .body = "no \x1b[2J" + std::string(300, 'x')}});
  ServedWorker worker{database, succeeds, exporting_to(collector.endpoint())};
  worker->start();
  REQUIRE(runs_tasks(database, 1));
  REQUIRE(eventually([&] { return span_counts(worker).at("refused") == 1; }));
  REQUIRE(runs_tasks(database, 1));
  REQUIRE(eventually([&] { return span_counts(worker).at("exported") == 1; }));
  CHECK(collector.requests() == 2);
  CHECK(contains(worker.log(), "it answers 400: no \\u001b[2J" + std::string(193, 'x') +
                                   "; tasks go on, and the spans of the request are dropped"));
  CHECK(contains(worker.log(), "/v1/traces takes spans again"));
}

TEST_CASE("a request that the collector has no time for is sent again, when it asks for that") {
  TestDatabase database;
  OtlpReceiver collector;
  collector.will_answer({{.status = 503, .retry_after = "0"}, {.status = 429, .retry_after = "0"}});
  ServedWorker worker{database, succeeds, exporting_to(collector.endpoint())};
  worker->start();
  REQUIRE(runs_tasks(database, 1));
  REQUIRE(eventually([&] { return span_counts(worker).at("exported") == 1; }));
  CHECK(collector.requests() == 3);
  CHECK(collector.spans().size() == 1);
}

TEST_CASE("spans that a collector refuses out of a request are counted as such") {
  TestDatabase database;
  OtlpReceiver collector;
  collector.will_answer({{.body = R"({"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too old"}})"}});
  ServedWorker worker{database, succeeds, exporting_to(collector.endpoint())};
  worker->start();
  REQUIRE(runs_tasks(database, 1));
  REQUIRE(eventually([&] { return span_counts(worker).at("refused") == 1; }));
  CHECK(span_counts(worker).at("exported") == 0);
  CHECK(contains(worker.log(), "it refuses some spans: too old"));
}
