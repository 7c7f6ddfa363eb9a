// See attempt_logger.hpp.
#include "tasks/attempt_logger.hpp"

#include <new>
#include <string_view>

#include "tasks/definition.hpp"
#include "text/event_line.hpp"

namespace dogged::runtime {
namespace {

struct Fields {
  Attempt attempt;
  std::string_view name;
  std::string_view queue;
  const std::optional<TraceContext>& trace;
};

std::shared_ptr<spdlog::logger> logger_with(spdlog::logger& log, const Fields& fields) noexcept try {
  LogfmtLine line;
  line.with("task", fields.attempt.id);
  if (!fields.name.empty()) line.with("name", fields.name).with("queue", fields.queue);
  line.with("attempt", fields.attempt.number);
  if (fields.trace) line.with("trace", fields.trace->trace_id_text());
  return log.clone(logger_name_with(log.name(), line));
} catch (const std::bad_alloc&) {
  return {std::shared_ptr<spdlog::logger>{}, &log};  // which allocates nothing
}

}  // namespace

std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const ClaimedTask& task,
                                               const std::optional<TraceContext>& trace) noexcept {
  return logger_with(log, {{task.id, task.attempt}, task.definition->name, task.queue, trace});
}

std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const Report& report) noexcept {
  return logger_with(log, {{report.id, report.attempt}, report.name, report.queue, report.trace});
}

std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const Attempt& attempt) noexcept {
  return logger_with(log, {attempt, {}, {}, std::nullopt});
}

}  // namespace dogged::runtime
