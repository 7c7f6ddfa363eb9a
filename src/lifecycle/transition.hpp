// The statuses of a task, and its transition when one of its attempts ends. lifecycle.hpp decides transitions.
#pragma once

#include <optional>
#include <string_view>

#include <dogged/attempt_outcome.hpp>
#include <dogged/codes.hpp>
#include <dogged/delay.hpp>

namespace dogged::lifecycle {

enum class Status { pending, running, succeeded, failed, discarded, cancelled, expired };
using Outcome = AttemptOutcome;

[[nodiscard]] std::string_view to_text(Status status) noexcept;
using dogged::to_text;
[[nodiscard]] std::optional<Status> status_from_text(std::string_view text) noexcept;
[[nodiscard]] std::optional<Outcome> outcome_from_text(std::string_view text) noexcept;

/// When and how the task runs again.
struct NextRun {
  milliseconds backoff{0};        ///< by the policy (or retry_after, or the snooze), before jitter; 0: at once
  milliseconds delay{0};          ///< after jitter: next_retry_at = finished_at + delay
  bool spends_retry = false;      ///< false after lost, interrupted and snoozed
  bool from_retry_after = false;  ///< the error's retry_after replaced the policy's delay

  friend bool operator==(const NextRun&, const NextRun&) = default;
};

/// The transition: the task's next state, and the outcome, code and future for the attempt's row.
struct Transition {
  Status status = Status::pending;  ///< pending: it runs again
  Outcome outcome = Outcome::succeeded;
  std::optional<ErrorCode> error_code = {};  ///< of the attempt row; none where there was no error
  int retry_count = 0;
  int losses = 0;
  int snoozes = 0;
  std::optional<NextRun> next_run = {};  ///< the attempt row's will_retry
  /// The attempt failed or timed out with a code that is_retryable, whether or not a retry was left. The service has
  /// failed, and the circuit counts the failure.
  bool is_retryable_failure = false;

  [[nodiscard]] bool will_retry() const noexcept { return next_run.has_value(); }
  /// The error code as text; empty where there was no error.
  [[nodiscard]] std::string_view code() const noexcept { return error_code ? error_code->view() : std::string_view{}; }
  friend bool operator==(const Transition&, const Transition&) = default;
};

}  // namespace dogged::lifecycle
