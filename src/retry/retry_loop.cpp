// The decisions of retry(): when an attempt may begin, what follows a failure, why it ends.
#include <algorithm>

#include <dogged/detail/retry_loop.hpp>
#include <dogged/retry_budget.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/custom_delay.hpp"
#include "retry/failure_code.hpp"
#include "retry/replaced_delay.hpp"
#include "text/duration.hpp"

namespace dogged {

std::string_view to_text(RetryEnd end) noexcept {
  switch (end) {
    case RetryEnd::succeeded:
      return "succeeded";
    case RetryEnd::not_retryable:
      return "not_retryable";
    case RetryEnd::retries_spent:
      return "retries_spent";
    case RetryEnd::deadline:
      return "deadline";
    case RetryEnd::stopped:
      return "stopped";
    case RetryEnd::circuit_open:
      return "circuit_open";
    case RetryEnd::budget_spent:
      return "budget_spent";
    case RetryEnd::callback_failed:
      break;
  }
  return "callback_failed";
}

RetryEnded::RetryEnded(RetryEnd end)
    : Error("there is no value: the retry ended as " + std::string{to_text(end)}), end_(end) {}

AttemptTimeout::AttemptTimeout(int attempt, milliseconds timeout)
    : Error("attempt " + std::to_string(attempt) + " failed after its time of " + duration_to_text(timeout)) {}

ErrorCode failure_code(const std::exception_ptr& error, const ExceptionMapper& exceptions) {
  try {
    std::rethrow_exception(error);
  } catch (const AttemptTimeout&) {
    return codes::timeout;
  } catch (...) {
    return exceptions.map(error).classification.code;
  }
}

namespace detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Clock::time_point never = Clock::time_point::max();

bool ends_in_time(Clock::time_point now, milliseconds delay, Clock::time_point deadline) {
  return deadline == never || (now < deadline && delay < deadline - now);
}

/// Whether the wait was not cut short.
bool wait(const RetryOptions& options, milliseconds delay) {
  return options.wait ? options.wait(delay, options.stop) : wait_or_stop(delay, options.stop);
}

double draw(const RetryOptions& options) { return options.draw ? options.draw() : random_draw(); }

}  // namespace

Clock::time_point now(const RetryOptions& options) { return options.now ? options.now() : Clock::now(); }

void require_valid(const RetryOptions& options) {
  if (options.attempt_timeout >= milliseconds{0} && options.attempt_timeout <= limits::max_delay) return;
  throw InvalidInput("attempt_timeout is " + duration_to_text(options.attempt_timeout) +
                     "; it must be 1ms to 24h, or 0 for none");
}

void require_valid(const CollectPolicies& policies) {
  policies.errors.require_valid();
  if (policies.successes) dogged::require_valid(*policies.successes);
  if (policies.max_results >= 1) return;
  throw InvalidInput("max_results is " + std::to_string(policies.max_results) + "; it must be at least 1");
}

std::optional<RetryEnd> pause(const RetryOptions& options, milliseconds delay, RetrySummary& summary) {
  if (options.stop.stop_requested()) return RetryEnd::stopped;
  if (!ends_in_time(now(options), delay, options.deadline)) return RetryEnd::deadline;
  try {
    if (!wait(options, delay)) return RetryEnd::stopped;
  } catch (...) {
    summary.callback_error = std::current_exception();
    return RetryEnd::callback_failed;
  }
  return std::nullopt;
}

std::optional<RetryEnd> pause_after_success(const CollectPolicies& policies, int number, const RetryOptions& options,
                                            RetrySummary& summary) {
  if (number >= policies.max_results) return RetryEnd::retries_spent;
  if (!policies.successes) return std::nullopt;
  if (number > max_retries(*policies.successes)) return RetryEnd::retries_spent;
  try {
    return pause(options, next_delay(*policies.successes, number, draw(options)).value().delay, summary);
  } catch (...) {
    summary.callback_error = std::current_exception();
    return RetryEnd::callback_failed;
  }
}

RetryLoop::RetryLoop(const CallPolicy& policy, const RetryOptions& options, int spent)
    : policy_(policy), options_(options), start_(now(options)), retries_(spent) {
  policy.require_valid();
  require_valid(options);
  context_.attempt = 0;
  context_.stop = options.stop;
}

void RetryLoop::measure() { summary_.elapsed = now(options_) - start_; }

/// The first error is kept: on_failure must not hide why the retry has ended.
template <class Hook, class... Args>
void RetryLoop::call_hook(const Hook& hook, const Args&... args) {
  if (!hook) return;
  try {
    hook(args...);
  } catch (...) {
    if (!summary_.callback_error) summary_.callback_error = std::current_exception();
  }
}

void RetryLoop::end(RetryEnd reason) {
  has_ended_ = true;
  permit_.abandon();
  summary_.end = reason;
  measure();
  call_hook(reason == RetryEnd::succeeded ? options_.on_success : options_.on_failure, summary_);
}

void RetryLoop::end_with_callback_error() {
  summary_.callback_error = std::current_exception();
  end(RetryEnd::callback_failed);
}

bool RetryLoop::begin_attempt() {
  while (!has_ended_) {
    if (options_.stop.stop_requested()) {
      end(RetryEnd::stopped);
    } else if (now(options_) >= options_.deadline) {
      end(RetryEnd::deadline);
    } else if (is_allowed_by_breaker()) {
      start_attempt();
      return true;
    } else {
      wait_for_breaker();
    }
  }
  return false;
}

void RetryLoop::start_attempt() {
  const bool is_timed = options_.attempt_timeout > milliseconds{0};
  if (is_timed || options_.metrics != nullptr) attempt_start_ = now(options_);
  attempt_end_ = is_timed ? attempt_start_ + options_.attempt_timeout : never;
  context_.attempt = ++summary_.attempts;
  context_.deadline = std::min(attempt_end_, options_.deadline);
  if (options_.budget != nullptr) options_.budget->note_execution(now(options_));
}

bool RetryLoop::is_allowed_by_breaker() {
  if (options_.breaker == nullptr) return true;
  permit_ = options_.breaker->acquire();
  return static_cast<bool>(permit_);
}

/// With a deadline the caller is willing to wait until then. Without one the breaker makes the call fail at once. Each
/// wait spends a retry, so the loop ends even if other callers take every probe.
void RetryLoop::wait_for_breaker() {
  const auto retry_after = permit_.retry_after();
  const bool may_wait = options_.deadline != never && retry_after && retries_ < max_retries(policy_.policy());
  if (!may_wait) return end(RetryEnd::circuit_open);
  ++retries_;
  const auto reason = pause(options_, *retry_after, summary_);
  if (reason) end(*reason == RetryEnd::deadline ? RetryEnd::circuit_open : *reason);
}

void RetryLoop::succeeded() {
  permit_.succeeded();
  if (options_.metrics != nullptr && summary_.attempts > 1) options_.metrics->succeeded(ended_attempt());
  end(RetryEnd::succeeded);
}

/// A failure that came too late is a timeout, with the failure inside.
std::exception_ptr RetryLoop::as_seen(const std::exception_ptr& error) const {
  if (now(options_) < attempt_end_) return error;
  try {
    std::rethrow_exception(error);
  } catch (...) {
    try {
      std::throw_with_nested(AttemptTimeout{context_.attempt, options_.attempt_timeout});
    } catch (...) {
      return std::current_exception();
    }
  }
}

void RetryLoop::failed(const std::exception_ptr& error, const Judge& judge) {
  summary_.error = as_seen(error);
  if (options_.stop.stop_requested()) {
    count_failure(true);  // the condition is not asked any more
    return end(RetryEnd::stopped);
  }
  retry_or_end(error, judge);
}

EndedAttempt RetryLoop::ended_attempt() const {
  return {.source = {RetrySource::Kind::operation, options_.operation},
          .policy = policy_.policy(),
          .retry = summary_.attempts - 1,
          .ran = now(options_) - attempt_start_};
}

void RetryLoop::count_failure(bool is_transient) const {
  if (options_.metrics == nullptr) return;
  options_.metrics->failed(ended_attempt(), failure_code(summary_.error).view(), is_transient);
}

/// Without a verdict, because the condition threw, the error counts as transient.
RetryVerdict RetryLoop::verdict_of(const Judge& judge) const {
  try {
    const RetryVerdict verdict = judge(summary_.error);
    count_failure(verdict.retry);
    return verdict;
  } catch (...) {
    count_failure(true);
    throw;
  }
}

void RetryLoop::retry_or_end(const std::exception_ptr& error, const Judge& judge) {
  std::optional<milliseconds> delay;
  try {
    const RetryVerdict verdict = verdict_of(judge);
    if (!verdict.retry) return end(RetryEnd::not_retryable);
    permit_.failed();
    delay = delay_before_retry(error, verdict);
  } catch (...) {
    permit_.failed();
    return end_with_callback_error();
  }
  if (!delay) return end(RetryEnd::retries_spent);
  wait_before_retry(*delay);
}

std::optional<milliseconds> RetryLoop::delay_before_retry(const std::exception_ptr& error,
                                                          const RetryVerdict& verdict) const {
  if (retries_ >= max_retries(policy_.policy())) return std::nullopt;
  auto retry_after = verdict.retry_after;
  if (!retry_after && options_.retry_after_of) retry_after = options_.retry_after_of(error);
  const bool is_exact = verdict.precision == Precision::exact || !verdict.retry_after;
  if (policy_.function()) {
    const auto delay = delay_of_function(retry_after);
    if (!delay || !retry_after) return delay;
  }
  if (!retry_after) return next_delay(policy_.policy(), retries_ + 1, draw(options_)).value().delay;
  if (is_exact) return replaced_delay(*retry_after, Precision::exact, 0.0).delay;
  return replaced_delay(*retry_after, verdict.precision, draw(options_)).delay;
}

std::optional<milliseconds> RetryLoop::delay_of_function(std::optional<milliseconds> retry_after) const {
  const Mapped mapped = ExceptionMapper{}.map(summary_.error);
  const ErrorCode code = failure_code(summary_.error);
  return custom_delay(policy_.function(), retries_,
                      {.error_code = code.view(),
                       .error_message = mapped.message,
                       .retry_after = retry_after,
                       .exception = summary_.error});
}

void RetryLoop::wait_before_retry(milliseconds delay) {
  ++retries_;
  if (!ends_in_time(now(options_), delay, options_.deadline)) return end(RetryEnd::deadline);
  const bool is_within_budget = options_.budget == nullptr || options_.budget->try_retry(now(options_));
  if (!is_within_budget) return end(RetryEnd::budget_spent);
  if (options_.metrics != nullptr) {
    options_.metrics->retry_scheduled({RetrySource::Kind::operation, options_.operation}, policy_.policy(), retries_,
                                      delay);
  }
  measure();
  call_hook(options_.on_retry, summary_, delay);
  if (const auto reason = pause(options_, delay, summary_)) end(*reason);
}

}  // namespace detail
}  // namespace dogged
