// See <dogged/retry_log.hpp>.
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <dogged/detail/json_text.hpp>
#include <dogged/retry_log.hpp>

#include "retry/escaped.hpp"
#include "retry/failure_code.hpp"

namespace dogged {
namespace {

std::string shown_message(const std::string& message) {
  const nlohmann::json cut = detail::cut_for_message(message);
  return escaped_json(cut.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::function<void(const RetrySummary&, milliseconds)> log_retries(std::string operation,
                                                                   std::shared_ptr<spdlog::logger> log,
                                                                   ExceptionMapper exceptions) {
  if (!log) throw InvalidInput("log_retries needs a log, and got none");
  return [operation = escaped(detail::cut_for_message(operation)), log = std::move(log),
          exceptions = std::move(exceptions)](const RetrySummary& summary, milliseconds delay) {
    const ErrorCode code = failure_code(summary.error, exceptions);
    log->warn("event=retry operation={} attempt={} error={} delay_ms={} message={}", operation, summary.attempts,
              code.view(), delay.count(), shown_message(exceptions.map(summary.error).message));
  };
}

}  // namespace dogged
