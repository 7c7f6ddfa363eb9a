// Metrics of retries: counters that the process keeps. The program serves them.
//
//   auto page = dogged::retry(policy, fetch, {.metrics = &dogged::retry_metrics()});
//   dogged::CircuitBreaker payments{settings, {.on_change = dogged::retry_metrics().watch("payments")}};
//   body = dogged::retry_metrics().to_prometheus_text();   // Content-Type: text/plain; version=0.0.4
//
//   queue_retry_attempts_total{policy,attempt}      counter    retries that were scheduled
//   queue_retry_successes_total{policy}             counter    successes after at least one retry
//   queue_retry_failures_total{error}               counter    failed attempts
//   queue_retry_delay_seconds{policy}               histogram  delays before retries
//   queue_circuit_breaker_state{circuit}            gauge      0 closed, 1 half-open, 2 open
//   queue_dead_letter_messages_total{queue,error}   counter    tasks that became dead letters
//   queue_retry_throttled_total{queue}              counter    times a retry was put off by its queue's retry budget
//
// `policy` is the first word of policy_to_text: none, fixed, exponential or linear. `attempt` is the number of the
// retry, 1 to 20. The program chooses the other labels.
//
// A family keeps at most 1,000 series, the first ones. Further ones are counted in one more series whose labels are
// all `other`, so that error codes made of ids cannot fill the memory. A text that is empty, longer than 128 bytes, no
// UTF-8 or has a NUL is replaced by `other`.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/circuit_breaker.hpp>
#include <dogged/policy.hpp>

namespace dogged {

namespace limits {
inline constexpr std::size_t metric_series = 1000;  ///< in each family, without `other`
inline constexpr std::size_t metric_label_bytes = 128;
}  // namespace limits

/// The upper bounds of queue_retry_delay_seconds, included in their buckets; one more bucket is for longer delays.
/// About three for each power of ten, at the round delays that policies use.
inline constexpr std::array<milliseconds, 17> retry_delay_buckets = {
    milliseconds{1},          milliseconds{5},          milliseconds{10},        milliseconds{50},
    milliseconds{100},        milliseconds{250},        milliseconds{500},       std::chrono::seconds{1},
    std::chrono::seconds{5},  std::chrono::seconds{15}, std::chrono::minutes{1}, std::chrono::minutes{5},
    std::chrono::minutes{15}, std::chrono::hours{1},    std::chrono::hours{4},   std::chrono::hours{12},
    std::chrono::hours{24}};

/// The counts so far, each list sorted by its labels (attempts by number, `other` last). A series without counts is
/// not listed.
struct RetryMetricsSnapshot {
  struct Retries {
    std::string policy;
    std::string attempt;
    std::uint64_t count;
    friend bool operator==(const Retries&, const Retries&) = default;
  };
  struct Successes {
    std::string policy;
    std::uint64_t count;
    friend bool operator==(const Successes&, const Successes&) = default;
  };
  struct Failures {
    std::string error;
    std::uint64_t count;
    friend bool operator==(const Failures&, const Failures&) = default;
  };
  struct Delays {
    std::string policy;
    /// Counts of each bucket alone, not cumulative.
    std::array<std::uint64_t, retry_delay_buckets.size() + 1> counts;
    milliseconds sum;
    friend bool operator==(const Delays&, const Delays&) = default;
  };
  struct Circuit {
    std::string circuit;
    CircuitState state;
    friend bool operator==(const Circuit&, const Circuit&) = default;
  };
  struct DeadLetters {
    std::string queue;
    std::string error;
    std::uint64_t count;
    friend bool operator==(const DeadLetters&, const DeadLetters&) = default;
  };

  struct Throttled {
    std::string queue;
    std::uint64_t count;
    friend bool operator==(const Throttled&, const Throttled&) = default;
  };

  std::vector<Retries> retries;
  std::vector<Successes> successes;
  std::vector<Failures> failures;
  std::vector<Delays> delays;
  std::vector<Circuit> circuits;
  std::vector<DeadLetters> dead_letters;
  std::vector<Throttled> throttled;
};

/// Thread-safe. Counting throws nothing and takes about 50 ns; only the first count of a text allocates. Without
/// memory it is counted as `other`. Counters grow until the object ends. A snapshot is not of one moment: a count made
/// meanwhile may be in one family and not yet in another.
class RetryMetrics {
 public:
  RetryMetrics();
  ~RetryMetrics();
  RetryMetrics(const RetryMetrics&) = delete;
  RetryMetrics& operator=(const RetryMetrics&) = delete;

  /// Retry 1, 2, … will be made after `delay`. A number out of 1 to 20 is counted as `other`, a negative delay as
  /// 0.
  void retry_scheduled(const RetryPolicy& policy, int retry, milliseconds delay) noexcept;
  /// Call it once for a success after at least one retry, and not for a success of the first attempt.
  void succeeded_after_retry(const RetryPolicy& policy) noexcept;
  /// An attempt failed with this error code.
  void attempt_failed(std::string_view error_code) noexcept;
  /// A task has failed for good and is kept as a dead letter.
  void dead_lettered(std::string_view queue, std::string_view error_code) noexcept;
  /// A retry was due, but its queue's retry budget is spent, so it was put off; each time counts.
  void retry_throttled(std::string_view queue) noexcept;
  /// The state of the circuit from now on. `other` shows the last state reported for any circuit in it.
  void circuit_state(std::string_view circuit, CircuitState state) noexcept;

  /// For CircuitBreakerOptions::on_change: reports the changes of one breaker, which is shown as closed from now
  /// on. It leaves out a change that arrives after a later one. Give breakers different names; a breaker that replaces
  /// another may take its name. The RetryMetrics must outlive the function. Throws InvalidInput for a name that is
  /// empty, longer than 128 bytes, no UTF-8 or has a NUL.
  [[nodiscard]] std::function<void(const CircuitChange&)> watch(std::string_view circuit);

  [[nodiscard]] RetryMetricsSnapshot snapshot() const;
  /// The snapshot in Prometheus's text format 0.0.4. A family without series still has its HELP and TYPE.
  /// https://prometheus.io/docs/instrumenting/exposition_formats/
  [[nodiscard]] std::string to_prometheus_text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

/// The metrics of this process. They are never destroyed, so that code that runs at the program's end may count.
[[nodiscard]] RetryMetrics& retry_metrics();

}  // namespace dogged
