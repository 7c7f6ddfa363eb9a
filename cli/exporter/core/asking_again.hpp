// Decides when the exporter repeats a question. Until then the exporter keeps the answer. Pure: times are parameters.
#pragma once

#include <algorithm>
#include <chrono>

namespace dogged::cli::exporter {

class AskingAgain {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = Time::duration;

  /// Alerts of a backlog need an answer every two minutes.
  static constexpr std::chrono::minutes longest{2};
  /// A refusal is kept for so many times as long as it took.
  static constexpr int refusals_apart = 3;

  /// An answer is kept for `answers_apart` times as long as it took, at most for `longest`. So the question costs at
  /// most so small a part of a processor, and a small database gives fresh answers.
  explicit AskingAgain(int answers_apart) noexcept : answers_apart_(answers_apart) {}

  [[nodiscard]] bool is_due(Time now) const noexcept { return now >= again_at_; }

  // The question was asked at `asked_at`, and took `took`. Each gives how long the answer or the refusal is kept.

  Duration on_answer(Time asked_at, Duration took) noexcept {
    return keep(asked_at, std::min<Duration>(answers_apart_ * took, longest));
  }
  Duration on_refusal(Time asked_at, Duration took) noexcept { return keep(asked_at, refusals_apart * took); }

 private:
  Duration keep(Time asked_at, Duration apart) noexcept {
    again_at_ = asked_at + apart;
    return apart;
  }

  int answers_apart_;
  Time again_at_{};
};

}  // namespace dogged::cli::exporter
