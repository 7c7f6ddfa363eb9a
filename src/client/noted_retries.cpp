// See noted_retries.hpp.
#include "client/noted_retries.hpp"

#include <dogged/exception_mapper.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/failure_code.hpp"
#include "text/event_line.hpp"

namespace dogged {
namespace {

void note_end(const std::string& call, int most, const RetrySummary& summary, spdlog::logger& log) {
  if (!summary.error) return;  // it was never tried: the exception tells its caller why
  const bool has_given_up = summary.end != RetryEnd::not_retryable && most > 0;
  // An error that is not retried is mostly a mistake of the caller, who has the exception.
  log.log(has_given_up ? spdlog::level::warn : spdlog::level::debug,
          event_line(has_given_up ? "gave_up" : "not_retried")
              .with("call", call)
              .with("error", failure_code(summary.error).view())
              .with("retries", summary.attempts - 1)
              .with_message(ExceptionMapper{}.map(summary.error).message)
              .text());
}

}  // namespace

RetryOptions noted_retries(const std::string& call, const RetryPolicy& policy,
                           const std::shared_ptr<spdlog::logger>& log) {
  const int most = max_retries(policy);
  RetryOptions options;
  options.metrics = &retry_metrics();
  options.operation = "client." + call;
  options.on_retry = [call, most, log](const RetrySummary& summary, milliseconds delay) {
    if (!log->should_log(spdlog::level::debug)) return;
    log->debug(event_line("retry")
                   .with("call", call)
                   .with("error", failure_code(summary.error).view())
                   .with("retry", summary.attempts)
                   .with("max_retries", most)
                   .with("delay_ms", delay.count())
                   .with_message(ExceptionMapper{}.map(summary.error).message)
                   .text());
  };
  options.on_failure = [call, most, log](const RetrySummary& summary) { note_end(call, most, summary, *log); };
  return options;
}

}  // namespace dogged
