// Metrics of retries: the counts, their bounds, and the text for Prometheus.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <dogged/retry.hpp>

#include "retry/metric_series.hpp"
#include "retry_world.hpp"
#include "support/catch.hpp"
#include "support/exposition.hpp"
#include "support/property.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;
using Snapshot = RetryMetricsSnapshot;

namespace {

constexpr Exponential three_retries{.base = 1s, .max_retries = 3, .jitter = Jitter::none()};

const RetryPolicy as_variant = three_retries;
constexpr RetrySource mail{RetrySource::Kind::task, "mail"};
const Snapshot::Source mail_source{RetrySource::Kind::task, "mail"};
const Snapshot::Source unnamed{RetrySource::Kind::operation, "other"};

/// A first attempt of the task that failed.
void fail(RetryMetrics& metrics, std::string_view code) { metrics.failed({mail, as_variant}, code, true); }

struct GoodOrBad {
  bool is_good;
  [[nodiscard]] bool has_value() const { return is_good; }
  [[nodiscard]] int operator*() const { return 1; }
  [[nodiscard]] int error() const { return 2; }
};

std::uint64_t sum_of(const auto& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

using Page = decltype(support::ExpositionReader::read(""));

Page page_of(const RetryMetrics& metrics) { return support::ExpositionReader::read(metrics.to_prometheus_text()); }

/// The values of a label in a family, and the sum of the samples that have each.
std::map<std::string, double> values(const Page& page, const std::string& family, const std::string& label) {
  std::map<std::string, double> result;
  for (const auto& sample : page.at(family).samples) result[sample.labels.at(label)] += sample.value;
  return result;
}

std::map<std::string, double> values(const RetryMetrics& metrics, const std::string& family, const std::string& label) {
  return values(page_of(metrics), family, label);
}

}  // namespace

TEST_CASE("retries are counted by policy and number") {
  RetryMetrics metrics;
  for (const int retry : {10, 2, 2, 20}) metrics.retry_scheduled(mail, three_retries, retry, 1s);
  metrics.retry_scheduled(mail, Linear{}, 1, 1s);
  metrics.retry_scheduled(mail, Fixed{}, 1, 1s);
  for (const RetryPolicy& each : {RetryPolicy{three_retries}, RetryPolicy{Fixed{}}, RetryPolicy{NoRetry{}}}) {
    metrics.succeeded({mail, each, 1});
  }
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.retries == std::vector<Snapshot::Retries>{{mail_source, "exponential", "2", 2},
                                                           {mail_source, "exponential", "10", 1},
                                                           {mail_source, "exponential", "20", 1},
                                                           {mail_source, "fixed", "1", 1},
                                                           {mail_source, "linear", "1", 1}});
  CHECK(snapshot.successes == std::vector<Snapshot::Successes>{{mail_source, "exponential", 1},
                                                               {mail_source, "fixed", 1},
                                                               {mail_source, "none", 1}});
}

TEST_CASE("retry numbers that no policy has are counted as other") {
  RetryMetrics metrics;
  for (const int retry : {0, -1, 21, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    metrics.retry_scheduled(mail, three_retries, retry, 1s);
  }
  CHECK(metrics.snapshot().retries == std::vector<Snapshot::Retries>{{mail_source, "exponential", "other", 5}});
}

TEST_CASE("a delay is in the first bucket whose bound is not below it") {
  for (std::size_t i = 0; i < retry_delay_buckets.size(); ++i) {
    RetryMetrics metrics;
    metrics.retry_scheduled(mail, three_retries, 1, retry_delay_buckets[i]);
    metrics.retry_scheduled(mail, three_retries, 1, retry_delay_buckets[i] + 1ms);
    const auto delays = metrics.snapshot().delays.at(0);
    CHECK(delays.counts[i] == 1);
    CHECK(delays.counts[i + 1] == 1);
    CHECK(sum_of(delays.counts) == 2);
    CHECK(delays.sum == 2 * retry_delay_buckets[i] + 1ms);
  }
}

TEST_CASE("the buckets go up from 1 ms to 24 h") {
  CHECK(retry_delay_buckets.front() == limits::min_delay);
  CHECK(retry_delay_buckets.back() == limits::max_delay);
  CHECK(std::is_sorted(retry_delay_buckets.begin(), retry_delay_buckets.end(), std::less_equal<>{}));
}

TEST_CASE("a negative delay is counted as 0") {
  RetryMetrics metrics;
  metrics.retry_scheduled(mail, three_retries, 1, milliseconds::min());
  CHECK(metrics.snapshot().delays.at(0).counts[0] == 1);
  CHECK(metrics.snapshot().delays.at(0).sum == 0ms);
}

TEST_CASE("a histogram's buckets add up to its count, in seconds and in ascending order") {
  RetryMetrics metrics;
  for (const milliseconds delay : {0ms, 1ms, 1500ms, milliseconds{24h}, milliseconds{25h}}) {
    metrics.retry_scheduled(mail, three_retries, 1, delay);
  }
  const auto text = support::ExpositionReader::read(metrics.to_prometheus_text());
  const auto& family = text.at("queue_retry_delay_seconds");
  CHECK(family.type == "histogram");
  std::vector<std::pair<std::string, double>> buckets;
  std::map<std::string, double> others;
  for (const auto& sample : family.samples) {
    CHECK(sample.labels.at("policy_type") == "exponential");
    if (sample.name.ends_with("_bucket")) {
      buckets.emplace_back(sample.labels.at("le"), sample.value);
    } else {
      others[sample.name] = sample.value;
    }
  }
  CHECK(buckets == std::vector<std::pair<std::string, double>>{{"0.001", 2},
                                                               {"0.005", 2},
                                                               {"0.01", 2},
                                                               {"0.05", 2},
                                                               {"0.1", 2},
                                                               {"0.25", 2},
                                                               {"0.5", 2},
                                                               {"1.0", 2},
                                                               {"5.0", 3},
                                                               {"15.0", 3},
                                                               {"60.0", 3},
                                                               {"300.0", 3},
                                                               {"900.0", 3},
                                                               {"3600.0", 3},
                                                               {"14400.0", 3},
                                                               {"43200.0", 3},
                                                               {"86400.0", 4},
                                                               {"+Inf", 5}});
  CHECK(others == std::map<std::string, double>{{"queue_retry_delay_seconds_count", 5},
                                                {"queue_retry_delay_seconds_sum", 86400 + 90000 + 1.501}});
}

TEST_CASE("the text of metrics that counted nothing has every family and no sample") {
  std::map<std::string, std::string> types;
  for (const auto& [name, family] : support::ExpositionReader::read(RetryMetrics{}.to_prometheus_text())) {
    types[name] = family.type;
    CHECK(family.samples.empty());
    CHECK_FALSE(family.help.empty());
  }
  CHECK(types == std::map<std::string, std::string>{{"queue_retry_attempts_total", "counter"},
                                                    {"queue_retry_successes_total", "counter"},
                                                    {"queue_retry_failures_total", "counter"},
                                                    {"queue_retry_delay_seconds", "histogram"},
                                                    {"queue_retry_duration_seconds", "histogram"},
                                                    {"queue_errors_total", "counter"},
                                                    {"queue_circuit_breaker_state", "gauge"},
                                                    {"queue_dead_letter_messages_total", "counter"},
                                                    {"queue_retry_throttled_total", "counter"}});
}

TEST_CASE("the text is what Prometheus's format says, letter by letter") {
  RetryMetrics metrics;
  metrics.retry_scheduled(mail, three_retries, 2, 1s);
  metrics.succeeded({mail, as_variant, 2, 3s});
  metrics.failed({{RetrySource::Kind::operation, "fetch"}, as_variant, 1}, "HTTP_500", true);
  metrics.failed({mail, as_variant}, "HTTP_404", false);
  metrics.dead_lettered("a\"b\\c\nd", "mail", "HTTP_500");
  metrics.circuit_state("payments", CircuitState::half_open);
  metrics.retry_throttled("web");
  const std::string text = metrics.to_prometheus_text();
  for (const char* line :
       {"queue_retry_attempts_total{policy_type=\"exponential\",attempt=\"2\",task=\"mail\"} 1\n",
        "# TYPE queue_retry_successes_total counter\n",
        "queue_retry_successes_total{policy_type=\"exponential\",task=\"mail\"} 1\n",
        "queue_retry_failures_total{policy_type=\"exponential\",error_type=\"HTTP_500\",operation=\"fetch\"} 1\n",
        "queue_retry_delay_seconds_bucket{policy_type=\"exponential\",task=\"mail\",le=\"+Inf\"} 1\n",
        "queue_retry_duration_seconds_bucket{policy_type=\"exponential\",task=\"mail\",le=\"2.5\"} 0\n",
        "queue_retry_duration_seconds_bucket{policy_type=\"exponential\",task=\"mail\",le=\"5.0\"} 1\n",
        "queue_retry_duration_seconds_sum{policy_type=\"exponential\",task=\"mail\"} 3\n",
        "queue_errors_total{kind=\"transient\",error_type=\"HTTP_500\",operation=\"fetch\"} 1\n",
        "queue_errors_total{kind=\"permanent\",error_type=\"HTTP_404\",task=\"mail\"} 1\n",
        "queue_circuit_breaker_state{circuit=\"payments\"} 2\n", "queue_retry_throttled_total{queue_name=\"web\"} 1\n",
        R"(queue_dead_letter_messages_total{queue_name="a\"b\\c\nd",error_type="HTTP_500",task="mail"} 1)"}) {
    INFO(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("a first attempt counts as an error if it fails, and as no retry") {
  RetryMetrics metrics;
  metrics.succeeded({mail, as_variant, 0, 1s});
  metrics.failed({mail, as_variant, 0, 1s}, "HTTP_500", true);
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.errors == std::vector<Snapshot::Errors>{{mail_source, "transient", "HTTP_500", 1}});
  CHECK(snapshot.failures.empty());
  CHECK(snapshot.successes.empty());
  CHECK(snapshot.durations.empty());
}

TEST_CASE("a retry whose duration nobody knows is counted, and has no duration") {
  RetryMetrics metrics;
  metrics.failed({mail, as_variant, 1}, "WORKER_LOST", true);
  CHECK(metrics.snapshot().failures.size() == 1);
  CHECK(metrics.snapshot().durations.empty());
}

TEST_CASE("a task and an operation of the same name are counted apart") {
  RetryMetrics metrics;
  metrics.retry_scheduled(mail, three_retries, 1, 1s);
  metrics.retry_scheduled({RetrySource::Kind::operation, "mail"}, three_retries, 1, 1s);
  metrics.succeeded({{RetrySource::Kind::operation, "mail"}, as_variant, 1});
  const Snapshot::Source operation{RetrySource::Kind::operation, "mail"};
  CHECK(metrics.snapshot().retries ==
        std::vector<Snapshot::Retries>{{mail_source, "exponential", "1", 1}, {operation, "exponential", "1", 1}});
  CHECK(metrics.snapshot().successes == std::vector<Snapshot::Successes>{{operation, "exponential", 1}});
}

TEST_CASE("any label reads back from the text as it was") {
  REQUIRE(test::holds([] {
    std::string label = "x";
    for (const char c : test::any_chars()) label += c > 0 ? c : '"';
    label.resize(std::min(label.size(), limits::metric_label_bytes));
    RetryMetrics metrics;
    fail(metrics, label);
    metrics.dead_lettered("\\" + label.substr(1), "mail", label);
    RC_ASSERT(values(metrics, "queue_errors_total", "error_type") == (std::map<std::string, double>{{label, 1}}));
    RC_ASSERT(values(metrics, "queue_dead_letter_messages_total", "queue_name") ==
              (std::map<std::string, double>{{"\\" + label.substr(1), 1}}));
  }));
}

TEST_CASE("a text that no label may have is counted as other") {
  const std::vector<std::string> bad = {
      "", std::string(129, 'x'), "\xFF", "a\xC0\x80", "\xED\xA0\x80", "cut \xE2\x82", std::string{"nul\0", 4}};
  RetryMetrics metrics;
  for (const std::string& text : bad) {
    fail(metrics, text);
    metrics.dead_lettered("mail", "mail", text);
    metrics.dead_lettered(text, "mail", text);
    metrics.retry_throttled(text);
  }
  CHECK(metrics.snapshot().throttled == std::vector<Snapshot::Throttled>{{"other", bad.size()}});
  CHECK(metrics.snapshot().errors == std::vector<Snapshot::Errors>{{mail_source, "transient", "other", bad.size()}});
  CHECK(metrics.snapshot().dead_letters == std::vector<Snapshot::DeadLetters>{{"mail", "other", "mail", bad.size()},
                                                                              {"other", "other", "mail", bad.size()}});
}

TEST_CASE("a text that may be a label is counted as it is") {
  const std::vector<std::string> good = {"HTTP_500", std::string(128, 'x'), "\xC3\xA4", "\xF0\x9F\x90\x95", "a b\t"};
  RetryMetrics metrics;
  std::map<std::string, double> counted;
  for (const std::string& text : good) {
    fail(metrics, text);
    counted[text] = 1;
  }
  CHECK(values(metrics, "queue_errors_total", "error_type") == counted);
}

TEST_CASE("a text that is other by itself shares the series of what is counted as other") {
  RetryMetrics metrics;
  fail(metrics, "other");
  fail(metrics, "");
  metrics.dead_lettered("other", "other", "other");
  metrics.dead_lettered("", "", "");
  CHECK(values(metrics, "queue_errors_total", "error_type") == std::map<std::string, double>{{"other", 2}});
  CHECK(metrics.snapshot().dead_letters == std::vector<Snapshot::DeadLetters>{{"other", "other", "other", 2}});
}

TEST_CASE("error codes made of ids are other from the hundredth on, and leave all tasks their names") {
  RetryMetrics metrics;
  for (int round = 0; round < 2; ++round) {
    for (int id = 0; id < 1500; ++id) {
      fail(metrics, "CODE_" + std::to_string(id));
      metrics.dead_lettered("mail", "mail", "CODE_" + std::to_string(id));
    }
  }
  metrics.dead_lettered("mail", "pdf", "PDF_BROKEN");
  metrics.dead_lettered("print", "mail", "PRINTER_OFF");
  const auto errors = values(metrics, "queue_errors_total", "error_type");
  CHECK(errors.size() == most_error_codes + 1);
  CHECK(errors.at("CODE_99") == 2);
  CHECK(errors.at("other") == 2 * 1400);
  CHECK(values(metrics, "queue_errors_total", "task") == std::map<std::string, double>{{"mail", 3000}});
  const std::vector<Snapshot::DeadLetters> letters = metrics.snapshot().dead_letters;
  const auto has = [&](const Snapshot::DeadLetters& expected) {
    return std::find(letters.begin(), letters.end(), expected) != letters.end();
  };
  CHECK(letters.size() == most_error_codes + 3);
  CHECK(has({"mail", "other", "mail", 2 * 1400}));
  CHECK(has({"mail", "PDF_BROKEN", "pdf", 1}));
  CHECK(has({"print", "PRINTER_OFF", "mail", 1}));
}

TEST_CASE("when a family has 1000 error codes, further tasks keep their names, and lose their codes") {
  RetryMetrics metrics;
  constexpr int many = static_cast<int>(limits::metric_series) + 10;
  for (int task = 0; task < many; ++task) metrics.dead_lettered("mail", "task_" + std::to_string(task), "CODE");
  const auto tasks = values(metrics, "queue_dead_letter_messages_total", "task");
  CHECK(tasks.size() == many);
  CHECK(tasks.count("other") == 0);
  CHECK(values(metrics, "queue_dead_letter_messages_total", "error_type") ==
        std::map<std::string, double>{{"CODE", limits::metric_series}, {"other", 10}});
}

TEST_CASE("a family has at most 1000 series with error codes, 1000 without them, and one that is all other") {
  RetryMetrics metrics;
  constexpr int many = 10'000;
  for (int id = 0; id < many; ++id) {
    metrics.dead_lettered("queue_" + std::to_string(id), "mail", "CODE");
    metrics.circuit_state("circuit_" + std::to_string(id), CircuitState::open);
  }
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.circuits.size() == limits::metric_series + 1);
  REQUIRE(snapshot.dead_letters.size() == 2 * limits::metric_series + 1);
  CHECK(std::count(snapshot.dead_letters.begin(), snapshot.dead_letters.end(),
                   Snapshot::DeadLetters{"other", "other", "other", many - 2 * limits::metric_series}) == 1);
}

TEST_CASE("each family of retries has at most 1000 tasks, and counts the attempts of the others", "[one_thread]") {
  RetryMetrics metrics;
  constexpr int many = 10'000;
  for (int id = 0; id < many; ++id) {
    const std::string task = "task_" + std::to_string(id);
    const RetrySource source{RetrySource::Kind::task, task};
    metrics.retry_scheduled(source, as_variant, 1, 1s);
    metrics.succeeded({source, as_variant, 1, 1ms});
    metrics.failed({source, as_variant, 1, 1ms}, "CODE", true);
  }
  const Page page = page_of(metrics);
  for (const char* family : {"queue_retry_attempts_total", "queue_retry_successes_total", "queue_retry_failures_total",
                             "queue_errors_total"}) {
    CAPTURE(family);
    const auto tasks = values(page, family, "task");
    CHECK(tasks.size() <= 2 * limits::metric_series + 1);
    CHECK(tasks.count("other") == 1);
    CHECK(std::accumulate(tasks.begin(), tasks.end(), 0.0,
                          [](double sum, const auto& task) { return sum + task.second; }) == many);
  }
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.delays.size() == limits::metric_series + 1);
  CHECK(snapshot.durations.size() == limits::metric_series + 1);
}

TEST_CASE("lists of a snapshot are sorted") {
  RetryMetrics metrics;
  for (const char* code : {"B", "C", "A"}) {
    fail(metrics, code);
    metrics.circuit_state(code, CircuitState::closed);
    metrics.dead_lettered("z", "mail", code);
    metrics.dead_lettered("a", "mail", code);
    metrics.retry_throttled(code);
  }
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.errors == std::vector<Snapshot::Errors>{{mail_source, "transient", "A", 1},
                                                         {mail_source, "transient", "B", 1},
                                                         {mail_source, "transient", "C", 1}});
  CHECK(snapshot.circuits.front().circuit == "A");
  CHECK(snapshot.throttled == std::vector<Snapshot::Throttled>{{"A", 1}, {"B", 1}, {"C", 1}});
  CHECK(snapshot.dead_letters == std::vector<Snapshot::DeadLetters>{{"a", "A", "mail", 1},
                                                                    {"a", "B", "mail", 1},
                                                                    {"a", "C", "mail", 1},
                                                                    {"z", "A", "mail", 1},
                                                                    {"z", "B", "mail", 1},
                                                                    {"z", "C", "mail", 1}});
}

TEST_CASE("counts of several threads at once add up exactly") {
  constexpr int thread_count = 4;
  constexpr int rounds = 5000;
  RetryMetrics metrics;
  const auto count = [&metrics] {
    for (int i = 0; i < rounds; ++i) {
      fail(metrics, "CODE_" + std::to_string(i % 1200));
      metrics.dead_lettered("mail", "mail", "SAME");
      metrics.retry_scheduled(mail, three_retries, i % 20 + 1, 3ms);
      if (i % 500 == 0) (void)metrics.snapshot();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(count);
  for (std::thread& thread : threads) thread.join();

  const Snapshot snapshot = metrics.snapshot();
  std::uint64_t failures = 0;
  for (const auto& error : snapshot.errors) failures += error.count;
  std::uint64_t retries = 0;
  for (const auto& retry : snapshot.retries) retries += retry.count;
  CHECK(failures == thread_count * rounds);
  CHECK(retries == thread_count * rounds);
  CHECK(snapshot.dead_letters == std::vector<Snapshot::DeadLetters>{{"mail", "SAME", "mail", thread_count * rounds}});
  CHECK(sum_of(snapshot.delays.at(0).counts) == thread_count * rounds);
  CHECK(snapshot.delays.at(0).sum == thread_count * rounds * 3ms);
}

TEST_CASE("retries that their queue's budget defers are counted by queue") {
  RetryMetrics metrics;
  for (const char* queue : {"mail", "web", "mail"}) metrics.retry_throttled(queue);
  CHECK(values(metrics, "queue_retry_throttled_total", "queue_name") ==
        std::map<std::string, double>{{"mail", 2}, {"web", 1}});
}

TEST_CASE("the process has one RetryMetrics") { CHECK(&retry_metrics() == &retry_metrics()); }

TEST_CASE("a circuit's gauge is 0 closed, 1 open, 2 half-open") {
  RetryMetrics metrics;
  metrics.circuit_state("a", CircuitState::closed);
  metrics.circuit_state("b", CircuitState::half_open);
  metrics.circuit_state("c", CircuitState::open);
  CHECK(values(metrics, "queue_circuit_breaker_state", "circuit") ==
        std::map<std::string, double>{{"a", 0}, {"b", 2}, {"c", 1}});
}

TEST_CASE("a breaker that is watched is shown as it is") {
  RetryMetrics metrics;
  std::chrono::steady_clock::time_point now{};
  CircuitBreaker breaker{{.failure_threshold = 1, .recovery_timeout = 30s, .success_threshold = 1},
                         {.on_change = metrics.watch("payments"), .now = [&now] { return now; }}};
  const auto state = [&metrics] { return metrics.snapshot().circuits.at(0).state; };
  CHECK(state() == CircuitState::closed);
  breaker.acquire().failed();
  CHECK(state() == CircuitState::open);
  now += 30s;
  CircuitBreaker::Permit probe = breaker.acquire();
  CHECK(state() == CircuitState::half_open);
  probe.succeeded();
  CHECK(state() == CircuitState::closed);
}

TEST_CASE("a change that is told after the one that followed it is left out") {
  RetryMetrics metrics;
  const auto watch = metrics.watch("payments");
  watch({CircuitState::open, CircuitState::half_open, 2});
  watch({CircuitState::closed, CircuitState::open, 1});
  CHECK(metrics.snapshot().circuits.at(0).state == CircuitState::half_open);
}

TEST_CASE("a breaker that replaces another is shown from its beginning") {
  RetryMetrics metrics;
  metrics.watch("payments")({CircuitState::closed, CircuitState::open, 9});
  const auto watch = metrics.watch("payments");
  CHECK(metrics.snapshot().circuits.at(0).state == CircuitState::closed);
  watch({CircuitState::closed, CircuitState::open, 1});
  CHECK(metrics.snapshot().circuits.at(0).state == CircuitState::open);
}

TEST_CASE("a circuit's name that cannot be a label is refused with the name and the limit") {
  RetryMetrics metrics;
  CHECK_THROWS_WITH(metrics.watch("caf\xE9"),
                    "the circuit's name \"caf?\" (bytes: 4) cannot be a label; it must be 1 to 128 bytes of UTF-8 "
                    "without NUL");
  CHECK_THROWS_AS(metrics.watch(std::string(129, 'x')), InvalidInput);
  CHECK_THROWS_AS(metrics.watch(""), InvalidInput);
  CHECK(metrics.snapshot().circuits.empty());
}

TEST_CASE("retry counts failures by code, retries by number, and the success that follows") {
  World world;
  RetryMetrics metrics;
  RetryOptions options = world.options();
  options.metrics = &metrics;
  options.operation = "fetch";
  int calls = 0;
  const auto result = retry(
      three_retries,
      [&] {
        world.now += 10ms;
        if (++calls == 1) throw std::system_error{std::make_error_code(std::errc::connection_refused)};
        if (calls == 2) throw std::runtime_error{"?"};
      },
      options);
  REQUIRE(result.succeeded());
  const Snapshot snapshot = metrics.snapshot();
  const Snapshot::Source fetch{RetrySource::Kind::operation, "fetch"};
  CHECK(snapshot.errors == std::vector<Snapshot::Errors>{{fetch, "transient", "CONNECT_REFUSED", 1},
                                                         {fetch, "transient", "UNHANDLED_EXCEPTION", 1}});
  CHECK(snapshot.failures == std::vector<Snapshot::Failures>{{fetch, "exponential", "UNHANDLED_EXCEPTION", 1}});
  CHECK(snapshot.retries ==
        std::vector<Snapshot::Retries>{{fetch, "exponential", "1", 1}, {fetch, "exponential", "2", 1}});
  CHECK(snapshot.successes == std::vector<Snapshot::Successes>{{fetch, "exponential", 1}});
  CHECK(snapshot.delays.at(0).sum == 3s);
  CHECK(sum_of(snapshot.durations.at(0).counts) == 2);
  CHECK(snapshot.durations.at(0).sum == 20ms);
}

TEST_CASE("a first attempt that succeeds is not counted") {
  RetryMetrics metrics;
  (void)retry(three_retries, [] {}, {.metrics = &metrics});
  CHECK(metrics.snapshot().successes.empty());
  CHECK(metrics.snapshot().retries.empty());
}

TEST_CASE("failures that are not retried are counted, and no retry with them") {
  World world;
  RetryMetrics metrics;
  RetryOptions options = world.options();
  options.metrics = &metrics;
  const auto no = [](const std::exception_ptr&) { return false; };
  (void)retry_if(
      three_retries, []() -> int { throw std::bad_alloc{}; }, no, options);
  (void)retry(
      three_retries, [] { return GoodOrBad{false}; }, options);
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.errors == std::vector<Snapshot::Errors>{{unnamed, "permanent", "OUT_OF_MEMORY", 1},
                                                         {unnamed, "transient", "UNHANDLED_EXCEPTION", 4}});
  CHECK(snapshot.retries.size() == 3);
  CHECK(snapshot.successes.empty());
}

TEST_CASE("a retry that the deadline leaves no time for is not counted") {
  World world;
  RetryMetrics metrics;
  RetryOptions options = world.options();
  options.metrics = &metrics;
  options.deadline = world.now + 1s;
  (void)retry(
      three_retries, []() -> int { throw std::runtime_error{"?"}; }, options);
  CHECK(metrics.snapshot().errors.size() == 1);
  CHECK(metrics.snapshot().retries.empty());
}

TEST_CASE("an attempt that failed after its time is counted as TIMEOUT") {
  World world;
  RetryMetrics metrics;
  RetryOptions options = world.options();
  options.metrics = &metrics;
  options.attempt_timeout = 1s;
  (void)retry(
      NoRetry{},
      [&]() -> int {
        world.now += 2s;
        throw std::runtime_error{"late"};
      },
      options);
  CHECK(metrics.snapshot().errors == std::vector<Snapshot::Errors>{{unnamed, "transient", "TIMEOUT", 1}});
}

TEST_CASE("an error is transient if the retry was stopped or its condition threw before there was a verdict") {
  RetryMetrics metrics;
  std::stop_source stop;
  (void)retry(three_retries,
              [&]() -> int {
                stop.request_stop();
                throw std::bad_alloc{};
              },
              {.stop = stop.get_token(), .metrics = &metrics});
  const auto throws = [](const std::exception_ptr&) -> bool { throw std::runtime_error{"no verdict"}; };
  (void)retry_if(three_retries, []() -> int { throw std::bad_alloc{}; }, throws, {.metrics = &metrics});
  CHECK(metrics.snapshot().errors == std::vector<Snapshot::Errors>{{unnamed, "transient", "OUT_OF_MEMORY", 2}});
}
