// Counts what retries do, in arrays of counters for each task and operation, and in a MetricSeries where an error code
// is a label.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <tuple>
#include <utility>
#include <variant>

#include <dogged/circuit_breaker.hpp>
#include <dogged/detail/mutex.hpp>
#include <dogged/error.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/duration_counts.hpp"
#include "retry/metric_series.hpp"
#include "retry/policy_fields.hpp"
#include "retry/prometheus_text.hpp"
#include "text/message.hpp"

namespace dogged {
namespace {

using Counter = std::atomic<std::uint64_t>;

void add_one(Counter& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t value_of(const Counter& counter) noexcept { return counter.load(std::memory_order_relaxed); }

/// A longer delay would overflow nanoseconds, and is in the last bucket anyway.
constexpr milliseconds longest_counted = std::chrono::hours{24 * 365};

/// The counters of one source and one kind of policy.
struct PolicyCounters {
  std::array<Counter, limits::max_retries + 1> retries{};  ///< by the number of the retry; 0 is `other`
  Counter successes{};
  DurationCounts<retry_delay_buckets> delays{};
  DurationCounts<retry_duration_buckets> durations{};
};

using ByPolicy = std::array<PolicyCounters, std::variant_size_v<RetryPolicy>>;  ///< by RetryPolicy::index()

/// The series of all sources of one kind, tasks or operations.
struct OfSources {
  MetricSeries<1, ByPolicy> by_policy;
  MetricSeries<3, Counter, most_error_codes> failures;  ///< policy, source, error
  MetricSeries<3, Counter, most_error_codes> errors;    ///< kind, source, error
};

using Snapshot = RetryMetricsSnapshot;

void add_retries(Snapshot& snapshot, const Snapshot::Source& source, const std::string& policy,
                 const PolicyCounters& counters) {
  const auto add = [&](std::string attempt, const Counter& counter) {
    if (value_of(counter) > 0) snapshot.retries.push_back({source, policy, std::move(attempt), value_of(counter)});
  };
  for (std::size_t retry = 1; retry < counters.retries.size(); ++retry) {
    add(std::to_string(retry), counters.retries[retry]);
  }
  add(std::string{other_label}, counters.retries[0]);
}

template <class Histogram, class Counts>
void add_histogram(std::vector<Histogram>& histograms, const Snapshot::Source& source, const std::string& policy,
                   const Counts& counts) {
  const auto [by_bucket, sum, exemplars] = counts.read();
  Histogram histogram{source, policy, by_bucket, sum, exemplars};
  const auto& all = histogram.counts;
  if (std::any_of(all.begin(), all.end(), [](auto count) { return count > 0; })) histograms.push_back(histogram);
}

void add_source(Snapshot& snapshot, const Snapshot::Source& source, const ByPolicy& by_policy) {
  for (const RetryPolicy& unset : unset_policies) {
    const std::string policy{name_of(unset)};
    const PolicyCounters& counters = by_policy[unset.index()];
    add_retries(snapshot, source, policy, counters);
    if (const auto count = value_of(counters.successes)) snapshot.successes.push_back({source, policy, count});
    add_histogram(snapshot.delays, source, policy, counters.delays);
    add_histogram(snapshot.durations, source, policy, counters.durations);
  }
}

void add_sources(Snapshot& snapshot, RetrySource::Kind kind, const OfSources& sources) {
  sources.by_policy.for_each([&](const auto& key, const ByPolicy& by_policy) {
    add_source(snapshot, {kind, key[0]}, by_policy);
  });
  sources.failures.for_each([&](const auto& key, const Counter& count) {
    snapshot.failures.push_back({{kind, key[1]}, key[0], key[2], value_of(count)});
  });
  sources.errors.for_each([&](const auto& key, const Counter& count) {
    snapshot.errors.push_back({{kind, key[1]}, key[0], key[2], value_of(count)});
  });
}

template <class Sample, class... Fields>
void sort_by(std::vector<Sample>& samples, Fields... fields) {
  // Stable: the samples of one policy already have the order of their numbers, not that of the numbers' texts.
  std::stable_sort(samples.begin(), samples.end(),
                   [=](const Sample& a, const Sample& b) { return std::tie(a.*fields...) < std::tie(b.*fields...); });
}

void sort(Snapshot& snapshot) {
  sort_by(snapshot.retries, &Snapshot::Retries::source, &Snapshot::Retries::policy_type);
  sort_by(snapshot.successes, &Snapshot::Successes::source, &Snapshot::Successes::policy_type);
  sort_by(snapshot.failures, &Snapshot::Failures::source, &Snapshot::Failures::policy_type,
          &Snapshot::Failures::error_type);
  sort_by(snapshot.errors, &Snapshot::Errors::source, &Snapshot::Errors::kind, &Snapshot::Errors::error_type);
  using Delays = decltype(snapshot.delays)::value_type;
  sort_by(snapshot.delays, &Delays::source, &Delays::policy_type);
  using Durations = decltype(snapshot.durations)::value_type;
  sort_by(snapshot.durations, &Durations::source, &Durations::policy_type);
  sort_by(snapshot.circuits, &Snapshot::Circuit::circuit);
  sort_by(snapshot.dead_letters, &Snapshot::DeadLetters::queue, &Snapshot::DeadLetters::error_type,
          &Snapshot::DeadLetters::task);
  sort_by(snapshot.throttled, &Snapshot::Throttled::queue);
}

}  // namespace

struct RetryMetrics::Families {
  OfSources tasks;
  OfSources operations;
  MetricSeries<1, std::atomic<CircuitState>> circuits;
  MetricSeries<3, Counter, most_error_codes> dead_letters;  ///< queue, task, error
  MetricSeries<1, Counter> throttled;

  OfSources& of(const RetrySource& source) noexcept {
    return source.kind == RetrySource::Kind::task ? tasks : operations;
  }
  PolicyCounters& of(const RetrySource& source, const RetryPolicy& policy) noexcept {
    return of(source).by_policy.at({source.name})[policy.index()];
  }
};

RetryMetrics::RetryMetrics() : families_(std::make_unique<Families>()) {}
RetryMetrics::~RetryMetrics() = default;

void RetryMetrics::retry_scheduled(const RetrySource& source, const RetryPolicy& policy, int retry, milliseconds delay,
                                   const TraceContext* trace) noexcept {
  PolicyCounters& counters = families_->of(source, policy);
  const bool has_number = retry >= 1 && retry <= limits::max_retries;
  add_one(counters.retries[has_number ? static_cast<std::size_t>(retry) : 0]);
  counters.delays.add(std::clamp(delay, milliseconds{0}, longest_counted), trace);
}

void RetryMetrics::succeeded(const EndedAttempt& attempt) noexcept {
  if (attempt.retry == 0) return;
  PolicyCounters& counters = families_->of(attempt.source, attempt.policy);
  add_one(counters.successes);
  if (attempt.ran) counters.durations.add(*attempt.ran, attempt.trace);
}

void RetryMetrics::failed(const EndedAttempt& attempt, std::string_view error_code, bool is_transient) noexcept {
  OfSources& sources = families_->of(attempt.source);
  add_one(sources.errors.at({is_transient ? "transient" : "permanent", attempt.source.name, error_code}));
  if (attempt.retry == 0) return;
  add_one(sources.failures.at({name_of(attempt.policy), attempt.source.name, error_code}));
  if (attempt.ran) families_->of(attempt.source, attempt.policy).durations.add(*attempt.ran, attempt.trace);
}

void RetryMetrics::dead_lettered(std::string_view queue, std::string_view task, std::string_view error_code) noexcept {
  add_one(families_->dead_letters.at({queue, task, error_code}));
}

void RetryMetrics::retry_throttled(std::string_view queue) noexcept { add_one(families_->throttled.at({queue})); }

void RetryMetrics::circuit_state(std::string_view circuit, CircuitState state) noexcept {
  families_->circuits.at({circuit}).store(state, std::memory_order_relaxed);
}

std::function<void(const CircuitChange&)> RetryMetrics::watch(std::string_view circuit) {
  if (!is_valid_label(circuit)) {
    throw InvalidInput("the circuit's name " + in_quotes(circuit) + " (bytes: " + std::to_string(circuit.size()) +
                       ") cannot be a label; it must be 1 to 128 bytes of UTF-8 without NUL");
  }
  circuit_state(circuit, CircuitState::closed);
  struct Told {
    detail::Mutex mutex;
    std::int64_t number DOGGED_GUARDED_BY(mutex) = 0;
  };
  return [this, name = std::string{circuit}, told = std::make_shared<Told>()](const CircuitChange& change) {
    const detail::Lock lock{told->mutex};
    if (change.number <= told->number) return;
    told->number = change.number;
    circuit_state(name, change.to);
  };
}

RetryMetricsSnapshot RetryMetrics::snapshot() const {
  RetryMetricsSnapshot snapshot;
  add_sources(snapshot, RetrySource::Kind::task, families_->tasks);
  add_sources(snapshot, RetrySource::Kind::operation, families_->operations);
  families_->circuits.for_each([&](const auto& key, const std::atomic<CircuitState>& state) {
    snapshot.circuits.push_back({key[0], state.load(std::memory_order_relaxed)});
  });
  families_->dead_letters.for_each([&](const auto& key, const Counter& count) {
    snapshot.dead_letters.push_back({key[0], key[2], key[1], value_of(count)});
  });
  families_->throttled.for_each([&](const auto& key, const Counter& count) {
    snapshot.throttled.push_back({key[0], value_of(count)});
  });
  sort(snapshot);
  return snapshot;
}

std::string RetryMetrics::to_prometheus_text() const {
  MetricsWriter writer;
  write_retry_metrics(writer, snapshot());
  return writer.take();
}

RetryMetrics& retry_metrics() {
  static RetryMetrics& metrics = *new RetryMetrics;
  return metrics;
}

}  // namespace dogged
