// See attempt_counts.hpp.
#include "base/attempt_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "retry/messaging_names.hpp"

namespace dogged::runtime {
namespace {

/// The cells of a family, read and sorted by their labels.
template <std::size_t LabelCount, class Cell, std::size_t MostOfLast, class Read>
auto sorted(const MetricSeries<LabelCount, Cell, MostOfLast>& series, Read read) {
  std::map<std::array<std::string, LabelCount>, decltype(read(std::declval<const Cell&>()))> all;
  series.for_each([&](const auto& labels, const Cell& cell) { all.emplace(labels, read(cell)); });
  return all;
}

constexpr auto success = static_cast<std::size_t>(AttemptOutcome::succeeded);

}  // namespace

void AttemptCounts::ended(const CountedAttempt& attempt, ByOutcome& of_task) noexcept {
  of_task[static_cast<std::size_t>(attempt.outcome)].add(attempt.ran, attempt.trace);
  if (attempt.outcome == AttemptOutcome::succeeded) return;
  const std::string_view error = attempt.error_code.empty() ? to_text(attempt.outcome) : attempt.error_code;
  failed_.at({attempt.queue, attempt.task, error}).add(attempt.ran, attempt.trace);
}

void AttemptCounts::write_to(MetricsWriter& writer, MetricNames names) const {
  if (shows_dogged(names)) write_ours(writer);
  if (shows_otel(names)) write_messaging_families(writer);
}

void AttemptCounts::write_ours(MetricsWriter& writer) const {
  const auto by_task = sorted(by_task_, [](const ByOutcome& cells) {
    std::array<Durations::Read, detail::outcome_texts.size()> read;
    std::transform(cells.begin(), cells.end(), read.begin(), [](const Durations& cell) { return cell.read(); });
    return read;
  });
  writer.family("dogged_worker_attempts_total", "counter", "Attempts that ended, by their outcome.");
  for (const auto& [labels, by_outcome] : by_task) {
    for (std::size_t outcome = 0; outcome < by_outcome.size(); ++outcome) {
      const std::uint64_t count = by_outcome[outcome].count();
      if (count == 0) continue;
      writer.sample({{"queue_name", labels[0]}, {"task", labels[1]}, {"outcome", detail::outcome_texts[outcome]}},
                    count);
    }
  }
  writer.family("dogged_worker_attempt_seconds", "histogram", "How long handlers ran.");
  for (const auto& [labels, by_outcome] : by_task) {
    Durations::Read all;
    for (const Durations::Read& of_outcome : by_outcome) all += of_outcome;
    writer.histogram({{"queue_name", labels[0]}, {"task", labels[1]}}, in_seconds(retry_duration_buckets), all.counts,
                     std::chrono::duration<double>{all.sum}.count(), all.exemplars);
  }
}

/// Every attempt delivers its task to the handler once.
void AttemptCounts::write_messaging_families(MetricsWriter& writer) const {
  writer.family("messaging_client_consumed_messages_total", "counter",
                "Number of messages that were delivered to the application.");
  const auto delivered = sorted(by_task_, [](const ByOutcome& cells) {
    std::uint64_t count = 0;
    for (const Durations& cell : cells) count += cell.read().count();
    return count;
  });
  for (const auto& [labels, count] : delivered) {
    write_messaging(writer, {.operation = "process", .queue = labels[0], .task = labels[1]}, count);
  }
  writer.family("messaging_process_duration_seconds", "histogram", "Duration of processing operation.");
  for (const auto& [labels, took] : sorted(by_task_, [](const ByOutcome& cells) { return cells[success].read(); })) {
    if (took.count() == 0) continue;
    write_messaging(writer, {.operation = "process", .queue = labels[0], .task = labels[1]}, took);
  }
  for (const auto& [labels, took] : sorted(failed_, [](const Durations& cell) { return cell.read(); })) {
    write_messaging(writer, {.operation = "process", .queue = labels[0], .task = labels[1], .error_type = labels[2]},
                    took);
  }
}

}  // namespace dogged::runtime
