// Metrics of retries: counters that the process keeps. The program serves them.
//
//   auto page = dogged::retry(policy, fetch, {.metrics = &dogged::retry_metrics()});
//   dogged::CircuitBreaker payments{settings, {.on_change = dogged::retry_metrics().watch("payments")}};
//   body = dogged::retry_metrics().to_prometheus_text();   // Content-Type: text/plain; version=0.0.4
//
//   queue_retry_attempts_total{policy_type,attempt,task}             counter    retries that were scheduled
//   queue_retry_successes_total{policy_type,task}                    counter    retries that succeeded
//   queue_retry_failures_total{policy_type,error_type,task}          counter    retries that failed
//   queue_retry_delay_seconds{policy_type,task}                      histogram  delays before retries
//   queue_retry_duration_seconds{policy_type,task}                   histogram  how long retries ran
//   queue_errors_total{kind,error_type,task}                         counter    failed attempts, first ones included
//   queue_dead_letter_messages_total{queue_name,error_type,task}     counter    tasks that became dead letters
//   queue_retry_throttled_total{queue_name}                          counter    times a queue's retry budget was spent
//   queue_circuit_breaker_state{circuit}                             gauge      0 closed, 1 open, 2 half-open
//
// A retry is an attempt after the first one that spends a retry of its policy. Calls that this process retries with
// dogged::retry have the label `operation` (RetryOptions::operation) in place of `task`. The calls of a Client have
// the operations `client.enqueue`, `client.cancel` and so on. So `{task!=""}` selects the retries of tasks, and
// `sum by (operation)` the others.
//
// `policy_type` is the first word of policy_to_text: none, fixed, exponential, linear or custom. `attempt` is the
// number of the retry, 1 to 20. `kind` is `transient` for an error that is retried while retries are left, else
// `permanent`. A circuit may guard several tasks, so its gauge names none.
//
// Memory is bounded. The first 100 error codes of a task have series, at most 1,000 in a family. Further failures have
// the code `other` and their task, in 1,000 more series; and then `other` in all labels. Families without `error_type`
// keep 1,000 tasks and 1,000 operations, each with all of its series. A text that is empty, longer than 128 bytes, no
// UTF-8 or has a NUL is replaced by `other`.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/delay.hpp>
#include <dogged/detail/circuit.hpp>
#include <dogged/metrics.hpp>
#include <dogged/policy_fwd.hpp>
#include <dogged/trace_context.hpp>

namespace dogged {

struct CircuitChange;  // <dogged/circuit_breaker.hpp>

/// The upper bounds of queue_retry_delay_seconds, included in their buckets; one more bucket is for longer delays.
/// About three for each power of ten, at the round delays that policies use.
inline constexpr std::array<milliseconds, 17> retry_delay_buckets = {
    milliseconds{1},          milliseconds{5},          milliseconds{10},        milliseconds{50},
    milliseconds{100},        milliseconds{250},        milliseconds{500},       std::chrono::seconds{1},
    std::chrono::seconds{5},  std::chrono::seconds{15}, std::chrono::minutes{1}, std::chrono::minutes{5},
    std::chrono::minutes{15}, std::chrono::hours{1},    std::chrono::hours{4},   std::chrono::hours{12},
    std::chrono::hours{24}};

/// The upper bounds of queue_retry_duration_seconds, included in their buckets: from a cache's answer to an hour's
/// export.
inline constexpr std::array<milliseconds, 16> retry_duration_buckets = {
    milliseconds{1},         milliseconds{5},         milliseconds{10},         milliseconds{50},
    milliseconds{100},       milliseconds{250},       milliseconds{500},        std::chrono::seconds{1},
    milliseconds{2500},      std::chrono::seconds{5}, std::chrono::seconds{10}, std::chrono::seconds{30},
    std::chrono::minutes{1}, std::chrono::minutes{5}, std::chrono::minutes{15}, std::chrono::hours{1}};

/// The source of retries: a task of a queue, or a call that this process makes with dogged::retry. The kind is the name
/// of the label that shows `name`.
struct RetrySource {
  enum class Kind { task, operation };
  Kind kind = Kind::task;
  std::string_view name;
};

/// An attempt that has ended, for RetryMetrics.
struct EndedAttempt {
  RetrySource source;
  const RetryPolicy& policy;
  int retry = 0;  ///< the number of the retry that the attempt was; 0: it was no retry
  std::optional<std::chrono::nanoseconds> ran = {};  ///< none: nobody knows, for its process was lost
  const TraceContext* trace = nullptr;               ///< of the attempt; null: none
};

/// One of the durations that a bucket counts, with the trace that tells more of it: OpenMetrics' exemplar. A bucket has
/// the latest one that was sampled, and a new one at most once a second.
struct Exemplar {
  TraceContext::TraceId trace_id{};
  TraceContext::SpanId span_id{};
  double seconds = 0;  ///< the duration
  std::chrono::system_clock::time_point at{};
  friend bool operator==(const Exemplar&, const Exemplar&) = default;
};

/// The counts so far, each list sorted by its labels (tasks before operations, attempts by number, `other` last). A
/// series without counts is not listed.
struct RetryMetricsSnapshot {
  /// A RetrySource that owns its name.
  struct Source {
    RetrySource::Kind kind = RetrySource::Kind::task;
    std::string name;
    friend auto operator<=>(const Source&, const Source&) = default;
  };
  struct Retries {
    Source source;
    std::string policy_type;
    std::string attempt;
    std::uint64_t count;
    friend bool operator==(const Retries&, const Retries&) = default;
  };
  struct Successes {
    Source source;
    std::string policy_type;
    std::uint64_t count;
    friend bool operator==(const Successes&, const Successes&) = default;
  };
  struct Failures {
    Source source;
    std::string policy_type;
    std::string error_type;
    std::uint64_t count;
    friend bool operator==(const Failures&, const Failures&) = default;
  };
  struct Errors {
    Source source;
    std::string kind;
    std::string error_type;
    std::uint64_t count;
    friend bool operator==(const Errors&, const Errors&) = default;
  };
  /// Counts of each bucket alone, not cumulative.
  template <std::size_t BoundCount>
  struct Histogram {
    Source source;
    std::string policy_type;
    std::array<std::uint64_t, BoundCount + 1> counts;
    std::chrono::microseconds sum;
    std::array<std::optional<Exemplar>, BoundCount + 1> exemplars = {};  ///< of each bucket
    friend bool operator==(const Histogram&, const Histogram&) = default;
  };
  struct Circuit {
    std::string circuit;
    CircuitState state;
    friend bool operator==(const Circuit&, const Circuit&) = default;
  };
  struct DeadLetters {
    std::string queue;
    std::string error_type;
    std::string task;
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
  std::vector<Errors> errors;
  std::vector<Histogram<retry_delay_buckets.size()>> delays;
  std::vector<Histogram<retry_duration_buckets.size()>> durations;
  std::vector<Circuit> circuits;
  std::vector<DeadLetters> dead_letters;
  std::vector<Throttled> throttled;
};

/// Thread-safe. Counting throws nothing and takes about 50 ns; only the first count of a text allocates, and the first
/// exemplar of a histogram. Without memory it is counted as `other`. Counters grow until the object ends. A snapshot is
/// not of one moment: a count made meanwhile may be in one family and not yet in another.
class RetryMetrics {
 public:
  RetryMetrics();
  ~RetryMetrics();
  RetryMetrics(const RetryMetrics&) = delete;
  RetryMetrics& operator=(const RetryMetrics&) = delete;

  /// Retry 1, 2, … will be made after `delay`. A number out of 1 to 20 is counted as `other`, a negative delay as
  /// 0. `trace`: of the attempt before it; null: none.
  void retry_scheduled(const RetrySource& source, const RetryPolicy& policy, int retry, milliseconds delay,
                       const TraceContext* trace = nullptr) noexcept;
  /// Counts nothing if the attempt was no retry.
  void succeeded(const EndedAttempt& attempt) noexcept;
  /// `is_transient`: the policy retries this error while retries are left.
  void failed(const EndedAttempt& attempt, std::string_view error_code, bool is_transient) noexcept;
  /// A task has failed for good and is kept as a dead letter.
  void dead_lettered(std::string_view queue, std::string_view task, std::string_view error_code) noexcept;
  /// A retry was due, but its queue's retry budget is spent, so it was deferred; each time counts.
  void retry_throttled(std::string_view queue) noexcept;
  /// The state of the circuit from now on. `other` shows the last state reported for any circuit in it.
  void circuit_state(std::string_view circuit, CircuitState state) noexcept;

  /// For CircuitBreakerOptions::on_change: reports the changes of one breaker, which is shown as closed from now on.
  /// The function leaves out a change that arrives after a later one. Give breakers different names; a breaker that
  /// replaces another may take its name. The RetryMetrics must outlive the function. Throws InvalidInput for a name
  /// that is empty, longer than 128 bytes, no UTF-8 or has a NUL.
  [[nodiscard]] std::function<void(const CircuitChange&)> watch(std::string_view circuit);

  [[nodiscard]] RetryMetricsSnapshot snapshot() const;
  /// The snapshot in Prometheus's text format 0.0.4. A family without series still has its HELP and TYPE.
  /// https://prometheus.io/docs/instrumenting/exposition_formats/
  [[nodiscard]] std::string to_prometheus_text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

/// The metrics of this process, never destroyed, so that code that runs at the program's end may count.
[[nodiscard]] RetryMetrics& retry_metrics();

}  // namespace dogged
