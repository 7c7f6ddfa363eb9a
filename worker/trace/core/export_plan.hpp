// Decides when spans are sent, and what a collector's answer means. Pure: the exporter carries it out.
//
// Spans wait in a bounded queue until there are enough for a request, or the oldest has waited for the schedule's
// delay. A request that fails for a passing reason is sent again, as OTLP asks. Meanwhile the queue fills, and the
// exporter drops spans that do not fit. https://opentelemetry.io/docs/specs/otlp/#failures-1
//
//   gathering --a request fails for a passing reason--> trying again
//   trying again --any other answer, or the tries are spent--> gathering
//   gathering --the worker ends--> flushing
//   trying again --the worker ends--> trying last --an answer--> flushing
//   flushing --nothing is left--> ended
//   flushing, trying last --the time is over--> ended
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string_view>

#include <dogged/policy.hpp>

#include "base/time.hpp"

namespace dogged::runtime {

/// The end of one request.
struct ExportAnswer {
  int status = 0;  ///< of HTTP; 0: there was no answer
  std::optional<milliseconds> retry_after = {};
};

class ExportPlan {
 public:
  struct Settings {
    std::size_t most_in_batch;  ///< OtlpSettings::most_in_batch
    milliseconds schedule_delay{5'000};
    RetryPolicy retry = exponential(milliseconds{1'000}).with_max_retries(4).with_max_delay(milliseconds{5'000});
  };

  /// The spans that wait in the queue.
  struct Queued {
    std::size_t spans = 0;
    TimePoint oldest_at = never;  ///< when the first of them came
  };

  enum class State {
    gathering,     ///< spans, until there is a batch, or until the oldest has waited for the schedule's delay
    trying_again,  ///< the batch that was sent last, after a pause
    trying_last,   ///< the same batch at once and once more, because the worker ends
    flushing,      ///< the worker ends: each batch is sent once, and at once
    ended,         ///< the exporter drops the rest
  };
  enum class Step {
    wait,        ///< until `until`, or until the queue has a batch
    take,        ///< takes a batch from the queue, and sends it
    send_again,  ///< the batch that was sent last
    end,         ///< no span is left, or the time is over: the exporter drops the rest
  };
  struct Action {
    Step step = Step::wait;
    TimePoint until = never;

    friend bool operator==(const Action&, const Action&) = default;
  };

  /// The plan's decision on a batch.
  enum class Verdict {
    taken,
    refused,    ///< the collector will never take it
    failed,     ///< its tries are spent
    try_again,  ///< later
  };

  explicit ExportPlan(Settings settings) : settings_(settings) {}

  [[nodiscard]] Action next(const Queued& queued, TimePoint now) noexcept;
  /// The answer to the request of the last action. `draw` is uniform in [0, 1), for the jitter.
  [[nodiscard]] Verdict on_answer(const ExportAnswer& answer, TimePoint now, double draw);
  /// The worker ends: from now on nothing waits, each batch has one more try, and the exporter gives up at
  /// `gives_up_at`. The first call counts.
  void on_stopping(TimePoint gives_up_at) noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  const Settings settings_;
  State state_ = State::gathering;
  int retries_ = 0;          // spent for the batch under way
  TimePoint again_at_{};     // while it tries again
  TimePoint gives_up_at_{};  // once the worker ends
};

[[nodiscard]] std::string_view to_text(ExportPlan::State state) noexcept;
[[nodiscard]] std::string_view to_text(ExportPlan::Step step) noexcept;
[[nodiscard]] std::string_view to_text(ExportPlan::Verdict verdict) noexcept;
std::ostream& operator<<(std::ostream& out, ExportPlan::State state);
std::ostream& operator<<(std::ostream& out, ExportPlan::Step step);
std::ostream& operator<<(std::ostream& out, const ExportPlan::Action& action);
std::ostream& operator<<(std::ostream& out, ExportPlan::Verdict verdict);

}  // namespace dogged::runtime
