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

#include <rapidcheck.h>

#include <dogged/retry.hpp>

#include "retry_world.hpp"
#include "support/catch.hpp"
#include "support/exposition.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;
using Snapshot = RetryMetricsSnapshot;

namespace {

constexpr Exponential policy{.base = 1s, .max_retries = 3, .jitter = Jitter::none()};

struct Expected {
  bool is_good;
  [[nodiscard]] bool has_value() const { return is_good; }
  [[nodiscard]] int operator*() const { return 1; }
  [[nodiscard]] int error() const { return 2; }
};

std::uint64_t sum_of(const std::array<std::uint64_t, retry_delay_buckets.size() + 1>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// The label values of the samples of a family, read back from the text, and their numbers.
std::map<std::string, double> values(const RetryMetrics& metrics, const std::string& family, const std::string& label) {
  std::map<std::string, double> result;
  const auto text = support::ExpositionReader::read(metrics.to_prometheus_text());
  for (const auto& sample : text.at(family).samples) {
    result[sample.labels.at(label)] = sample.value;
  }
  return result;
}

}  // namespace

TEST_CASE("retries are counted by policy and number") {
  RetryMetrics metrics;
  for (const int retry : {10, 2, 2, 20}) metrics.retry_scheduled(policy, retry, 1s);
  metrics.retry_scheduled(Linear{}, 1, 1s);
  metrics.retry_scheduled(Fixed{}, 1, 1s);
  metrics.succeeded_after_retry(policy);
  metrics.succeeded_after_retry(Fixed{});
  metrics.succeeded_after_retry(NoRetry{});
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.retries == std::vector<Snapshot::Retries>{{"exponential", "2", 2},
                                                           {"exponential", "10", 1},
                                                           {"exponential", "20", 1},
                                                           {"fixed", "1", 1},
                                                           {"linear", "1", 1}});
  CHECK(snapshot.successes == std::vector<Snapshot::Successes>{{"exponential", 1}, {"fixed", 1}, {"none", 1}});
}

TEST_CASE("retry numbers that no policy has are counted as other") {
  RetryMetrics metrics;
  for (const int retry : {0, -1, 21, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    metrics.retry_scheduled(policy, retry, 1s);
  }
  CHECK(metrics.snapshot().retries == std::vector<Snapshot::Retries>{{"exponential", "other", 5}});
}

TEST_CASE("a delay is in the first bucket whose bound is not below it") {
  for (std::size_t i = 0; i < retry_delay_buckets.size(); ++i) {
    RetryMetrics metrics;
    metrics.retry_scheduled(policy, 1, retry_delay_buckets[i]);
    metrics.retry_scheduled(policy, 1, retry_delay_buckets[i] + 1ms);
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
  metrics.retry_scheduled(policy, 1, milliseconds::min());
  CHECK(metrics.snapshot().delays.at(0).counts[0] == 1);
  CHECK(metrics.snapshot().delays.at(0).sum == 0ms);
}

TEST_CASE("a histogram's buckets add up to its count, in seconds and in ascending order") {
  RetryMetrics metrics;
  for (const milliseconds delay : {0ms, 1ms, 1500ms, milliseconds{24h}, milliseconds{25h}}) {
    metrics.retry_scheduled(policy, 1, delay);
  }
  const auto text = support::ExpositionReader::read(metrics.to_prometheus_text());
  const auto& family = text.at("queue_retry_delay_seconds");
  CHECK(family.type == "histogram");
  std::vector<std::pair<std::string, double>> buckets;
  std::map<std::string, double> others;
  for (const auto& sample : family.samples) {
    CHECK(sample.labels.at("policy") == "exponential");
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
                                                               {"1", 2},
                                                               {"5", 3},
                                                               {"15", 3},
                                                               {"60", 3},
                                                               {"300", 3},
                                                               {"900", 3},
                                                               {"3600", 3},
                                                               {"14400", 3},
                                                               {"43200", 3},
                                                               {"86400", 4},
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
                                                    {"queue_circuit_breaker_state", "gauge"},
                                                    {"queue_dead_letter_messages_total", "counter"},
                                                    {"queue_retry_throttled_total", "counter"}});
}

TEST_CASE("the text is what Prometheus's format says, letter by letter") {
  RetryMetrics metrics;
  metrics.retry_scheduled(policy, 2, 1s);
  metrics.succeeded_after_retry(policy);
  metrics.dead_lettered("a\"b\\c\nd", "HTTP_500");
  metrics.circuit_state("payments", CircuitState::half_open);
  const std::string text = metrics.to_prometheus_text();
  for (const char* line :
       {"queue_retry_attempts_total{policy=\"exponential\",attempt=\"2\"} 1\n",
        "# TYPE queue_retry_successes_total counter\n", "queue_retry_successes_total{policy=\"exponential\"} 1\n",
        "queue_retry_delay_seconds_bucket{policy=\"exponential\",le=\"+Inf\"} 1\n",
        "queue_circuit_breaker_state{circuit=\"payments\"} 1\n",
        R"(queue_dead_letter_messages_total{queue="a\"b\\c\nd",error="HTTP_500"} 1)"}) {
    INFO(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("any label reads back from the text as it was") {
  REQUIRE(rc::check([](const std::vector<char>& bytes) {
    std::string label = "x";
    for (const char c : bytes) label += c > 0 ? c : '"';
    label.resize(std::min(label.size(), limits::metric_label_bytes));
    RetryMetrics metrics;
    metrics.attempt_failed(label);
    metrics.dead_lettered("\\" + label.substr(1), label);
    RC_ASSERT(values(metrics, "queue_retry_failures_total", "error") == (std::map<std::string, double>{{label, 1}}));
    RC_ASSERT(values(metrics, "queue_dead_letter_messages_total", "queue") ==
              (std::map<std::string, double>{{"\\" + label.substr(1), 1}}));
  }));
}

TEST_CASE("a text that no label may have is counted as other") {
  const std::vector<std::string> bad = {
      "", std::string(129, 'x'), "\xFF", "a\xC0\x80", "\xED\xA0\x80", "cut \xE2\x82", std::string{"nul\0", 4}};
  RetryMetrics metrics;
  for (const std::string& text : bad) {
    metrics.attempt_failed(text);
    metrics.dead_lettered("mail", text);
    metrics.dead_lettered(text, text);
    metrics.retry_throttled(text);
  }
  CHECK(metrics.snapshot().throttled == std::vector<Snapshot::Throttled>{{"other", bad.size()}});
  CHECK(metrics.snapshot().failures == std::vector<Snapshot::Failures>{{"other", bad.size()}});
  CHECK(metrics.snapshot().dead_letters ==
        std::vector<Snapshot::DeadLetters>{{"mail", "other", bad.size()}, {"other", "other", bad.size()}});
}

TEST_CASE("a text that may be a label is counted as it is") {
  const std::vector<std::string> good = {"HTTP_500", std::string(128, 'x'), "\xC3\xA4", "\xF0\x9F\x90\x95", "a b\t"};
  RetryMetrics metrics;
  std::map<std::string, double> counted;
  for (const std::string& text : good) {
    metrics.attempt_failed(text);
    counted[text] = 1;
  }
  CHECK(values(metrics, "queue_retry_failures_total", "error") == counted);
}

TEST_CASE("a text that is other by itself shares the series of what is counted as other") {
  RetryMetrics metrics;
  metrics.attempt_failed("other");
  metrics.attempt_failed("");
  metrics.dead_lettered("other", "other");
  metrics.dead_lettered("", "");
  CHECK(values(metrics, "queue_retry_failures_total", "error") == std::map<std::string, double>{{"other", 2}});
  CHECK(metrics.snapshot().dead_letters == std::vector<Snapshot::DeadLetters>{{"other", "other", 2}});
}

TEST_CASE("a family keeps 1000 series, and counts what comes later as other") {
  RetryMetrics metrics;
  metrics.attempt_failed("other");
  for (int round = 0; round < 2; ++round) {
    for (int id = 0; id < 1500; ++id) {
      metrics.attempt_failed("CODE_" + std::to_string(id));
      metrics.dead_lettered("queue_" + std::to_string(id), "CODE");
      metrics.circuit_state("circuit_" + std::to_string(id), CircuitState::open);
    }
  }
  const Snapshot snapshot = metrics.snapshot();
  REQUIRE(snapshot.failures.size() == limits::metric_series + 1);
  CHECK(snapshot.circuits.size() == limits::metric_series + 1);
  CHECK(snapshot.dead_letters.size() == limits::metric_series + 1);
  const auto failures = values(metrics, "queue_retry_failures_total", "error");
  CHECK(failures.at("other") == 1 + 2 * 500);
  CHECK(failures.at("CODE_999") == 2);
  CHECK(failures.count("CODE_1000") == 0);
}

TEST_CASE("lists of a snapshot are sorted") {
  RetryMetrics metrics;
  for (const char* code : {"B", "C", "A"}) {
    metrics.attempt_failed(code);
    metrics.circuit_state(code, CircuitState::closed);
    metrics.dead_lettered("z", code);
    metrics.dead_lettered("a", code);
    metrics.retry_throttled(code);
  }
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.failures == std::vector<Snapshot::Failures>{{"A", 1}, {"B", 1}, {"C", 1}});
  CHECK(snapshot.circuits.front().circuit == "A");
  CHECK(snapshot.throttled == std::vector<Snapshot::Throttled>{{"A", 1}, {"B", 1}, {"C", 1}});
  CHECK(snapshot.dead_letters ==
        std::vector<Snapshot::DeadLetters>{
            {"a", "A", 1}, {"a", "B", 1}, {"a", "C", 1}, {"z", "A", 1}, {"z", "B", 1}, {"z", "C", 1}});
}

TEST_CASE("what threads count at once adds up exactly") {
  constexpr int thread_count = 4;
  constexpr int rounds = 5000;
  RetryMetrics metrics;
  const auto count = [&metrics] {
    for (int i = 0; i < rounds; ++i) {
      metrics.attempt_failed("CODE_" + std::to_string(i % 1200));
      metrics.dead_lettered("mail", "SAME");
      metrics.retry_scheduled(policy, i % 20 + 1, 3ms);
      if (i % 500 == 0) (void)metrics.snapshot();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(count);
  for (std::thread& thread : threads) thread.join();

  const Snapshot snapshot = metrics.snapshot();
  std::uint64_t failures = 0;
  for (const auto& failure : snapshot.failures) failures += failure.count;
  std::uint64_t retries = 0;
  for (const auto& retry : snapshot.retries) retries += retry.count;
  CHECK(failures == thread_count * rounds);
  CHECK(retries == thread_count * rounds);
  CHECK(snapshot.dead_letters == std::vector<Snapshot::DeadLetters>{{"mail", "SAME", thread_count * rounds}});
  CHECK(sum_of(snapshot.delays.at(0).counts) == thread_count * rounds);
  CHECK(snapshot.delays.at(0).sum == thread_count * rounds * 3ms);
}

TEST_CASE("retries that their queue's budget puts off are counted by queue") {
  RetryMetrics metrics;
  for (const char* queue : {"mail", "web", "mail"}) metrics.retry_throttled(queue);
  CHECK(values(metrics, "queue_retry_throttled_total", "queue") ==
        std::map<std::string, double>{{"mail", 2}, {"web", 1}});
}

TEST_CASE("the process has one RetryMetrics") { CHECK(&retry_metrics() == &retry_metrics()); }

TEST_CASE("a circuit's gauge is 0 closed, 1 half-open, 2 open") {
  RetryMetrics metrics;
  metrics.circuit_state("a", CircuitState::closed);
  metrics.circuit_state("b", CircuitState::half_open);
  metrics.circuit_state("c", CircuitState::open);
  CHECK(values(metrics, "queue_circuit_breaker_state", "circuit") ==
        std::map<std::string, double>{{"a", 0}, {"b", 1}, {"c", 2}});
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
  int calls = 0;
  const auto result = retry(
      policy,
      [&] {
        if (++calls == 1) throw std::system_error{std::make_error_code(std::errc::connection_refused)};
        if (calls == 2) throw std::runtime_error{"?"};
      },
      options);
  REQUIRE(result.succeeded());
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.failures == std::vector<Snapshot::Failures>{{"CONNECT_REFUSED", 1}, {"UNHANDLED_EXCEPTION", 1}});
  CHECK(snapshot.retries == std::vector<Snapshot::Retries>{{"exponential", "1", 1}, {"exponential", "2", 1}});
  CHECK(snapshot.successes == std::vector<Snapshot::Successes>{{"exponential", 1}});
  CHECK(snapshot.delays.at(0).sum == 3s);
}

TEST_CASE("a first attempt that succeeds is not counted") {
  RetryMetrics metrics;
  (void)retry(policy, [] {}, {.metrics = &metrics});
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
      policy, []() -> int { throw std::bad_alloc{}; }, no, options);
  (void)retry(
      policy, [] { return Expected{false}; }, options);
  const Snapshot snapshot = metrics.snapshot();
  CHECK(snapshot.failures == std::vector<Snapshot::Failures>{{"OUT_OF_MEMORY", 1}, {"UNHANDLED_EXCEPTION", 4}});
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
      policy, []() -> int { throw std::runtime_error{"?"}; }, options);
  CHECK(metrics.snapshot().failures.size() == 1);
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
  CHECK(metrics.snapshot().failures == std::vector<Snapshot::Failures>{{"TIMEOUT", 1}});
}
