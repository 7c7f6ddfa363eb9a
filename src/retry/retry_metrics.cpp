// Counts what retries do. A family with few series has an array of them; a family labelled with text has a
// MetricSeries.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <tuple>
#include <utility>
#include <variant>

#include <dogged/detail/mutex.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/message.hpp"
#include "retry/metric_series.hpp"
#include "retry/policy_fields.hpp"
#include "retry/prometheus_text.hpp"

namespace dogged {
namespace {

using Counter = std::atomic<std::uint64_t>;

void add_one(Counter& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t value_of(const Counter& counter) noexcept { return counter.load(std::memory_order_relaxed); }

/// What is kept of one kind of policy.
struct PolicyCounters {
  std::array<Counter, limits::max_retries + 1> retries{};  ///< by the number of the retry; 0 is `other`
  Counter successes{};
  std::array<Counter, retry_delay_buckets.size() + 1> delays{};
  std::atomic<std::int64_t> delay_sum_ms{};
};

void count_delay(PolicyCounters& counters, milliseconds delay) noexcept {
  const auto bucket = std::lower_bound(retry_delay_buckets.begin(), retry_delay_buckets.end(), delay);
  add_one(counters.delays[static_cast<std::size_t>(bucket - retry_delay_buckets.begin())]);
  counters.delay_sum_ms.fetch_add(delay.count(), std::memory_order_relaxed);
}

void add_retries(RetryMetricsSnapshot& snapshot, const std::string& policy, const PolicyCounters& counters) {
  const auto add = [&](std::string attempt, const Counter& counter) {
    if (value_of(counter) > 0) snapshot.retries.push_back({policy, std::move(attempt), value_of(counter)});
  };
  for (std::size_t retry = 1; retry < counters.retries.size(); ++retry) {
    add(std::to_string(retry), counters.retries[retry]);
  }
  add(std::string{other_label}, counters.retries[0]);
}

void add_delays(RetryMetricsSnapshot& snapshot, const std::string& policy, const PolicyCounters& counters) {
  RetryMetricsSnapshot::Delays delays{policy, {}, milliseconds{counters.delay_sum_ms.load(std::memory_order_relaxed)}};
  std::transform(counters.delays.begin(), counters.delays.end(), delays.counts.begin(), value_of);
  const bool is_used = std::any_of(delays.counts.begin(), delays.counts.end(), [](auto count) { return count > 0; });
  if (is_used) snapshot.delays.push_back(std::move(delays));
}

template <class Sample, class... Fields>
void sort_by(std::vector<Sample>& samples, Fields... fields) {
  std::sort(samples.begin(), samples.end(),
            [=](const Sample& a, const Sample& b) { return std::tie(a.*fields...) < std::tie(b.*fields...); });
}

void sort(RetryMetricsSnapshot& snapshot) {
  using Snapshot = RetryMetricsSnapshot;
  // The samples of one policy already have the order of their numbers, which differs from the order of their texts.
  std::stable_sort(snapshot.retries.begin(), snapshot.retries.end(),
                   [](const auto& a, const auto& b) { return a.policy < b.policy; });
  sort_by(snapshot.successes, &Snapshot::Successes::policy);
  sort_by(snapshot.delays, &Snapshot::Delays::policy);
  sort_by(snapshot.failures, &Snapshot::Failures::error);
  sort_by(snapshot.circuits, &Snapshot::Circuit::circuit);
  sort_by(snapshot.dead_letters, &Snapshot::DeadLetters::queue, &Snapshot::DeadLetters::error);
  sort_by(snapshot.throttled, &Snapshot::Throttled::queue);
}

}  // namespace

struct RetryMetrics::Families {
  std::array<PolicyCounters, std::variant_size_v<RetryPolicy>> policies{};  ///< by RetryPolicy::index()
  MetricSeries<1, Counter> failures;
  MetricSeries<1, std::atomic<CircuitState>> circuits;
  MetricSeries<2, Counter> dead_letters;
  MetricSeries<1, Counter> throttled;

  PolicyCounters& of(const RetryPolicy& policy) noexcept { return policies[policy.index()]; }
};

RetryMetrics::RetryMetrics() : families_(std::make_unique<Families>()) {}
RetryMetrics::~RetryMetrics() = default;

void RetryMetrics::retry_scheduled(const RetryPolicy& policy, int retry, milliseconds delay) noexcept {
  PolicyCounters& counters = families_->of(policy);
  const bool has_number = retry >= 1 && retry <= limits::max_retries;
  add_one(counters.retries[has_number ? static_cast<std::size_t>(retry) : 0]);
  count_delay(counters, std::max(delay, milliseconds{0}));
}

void RetryMetrics::succeeded_after_retry(const RetryPolicy& policy) noexcept {
  add_one(families_->of(policy).successes);
}

void RetryMetrics::attempt_failed(std::string_view error_code) noexcept {
  add_one(families_->failures.at({error_code}));
}

void RetryMetrics::dead_lettered(std::string_view queue, std::string_view error_code) noexcept {
  add_one(families_->dead_letters.at({queue, error_code}));
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
  for (const RetryPolicy& unset : unset_policies) {
    const std::string policy{name_of(unset)};
    const PolicyCounters& counters = families_->of(unset);
    add_retries(snapshot, policy, counters);
    if (const auto count = value_of(counters.successes)) snapshot.successes.push_back({policy, count});
    add_delays(snapshot, policy, counters);
  }
  families_->failures.for_each([&](const auto& key, const Counter& count) {
    snapshot.failures.push_back({key[0], value_of(count)});
  });
  families_->circuits.for_each([&](const auto& key, const std::atomic<CircuitState>& state) {
    snapshot.circuits.push_back({key[0], state.load(std::memory_order_relaxed)});
  });
  families_->dead_letters.for_each([&](const auto& key, const Counter& count) {
    snapshot.dead_letters.push_back({key[0], key[1], value_of(count)});
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
