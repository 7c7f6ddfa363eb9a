// See <dogged/retry_log.hpp>.
#include <utility>

#include <spdlog/spdlog.h>

#include <dogged/retry_log.hpp>

#include "retry/failure_code.hpp"
#include "text/event_line.hpp"

namespace dogged {

std::function<void(const RetrySummary&, milliseconds)> log_retries(std::string operation,
                                                                   std::shared_ptr<spdlog::logger> log,
                                                                   ExceptionMapper exceptions) {
  if (!log) throw InvalidInput("log_retries needs a log, and got none");
  return [operation = std::move(operation), log = std::move(log), exceptions = std::move(exceptions)](
             const RetrySummary& summary, milliseconds delay) {
    log->warn(event_line("retry")
                  .with("operation", operation)
                  .with("attempt", summary.attempts)
                  .with("error", failure_code(summary.error, exceptions).view())
                  .with("delay_ms", delay.count())
                  .with_message(exceptions.map(summary.error).message)
                  .text());
  };
}

}  // namespace dogged
