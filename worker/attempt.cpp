// See attempt.hpp.
#include "attempt.hpp"

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

#include <cxxabi.h>
#include <spdlog/spdlog.h>

namespace dogged::runtime {
namespace {

/// What the handler sees of its attempt.
class AttemptContext final : public Context {
 public:
  AttemptContext(const ClaimedTask& task, std::stop_token stop, SteadyClock::time_point started_at, spdlog::logger& log)
      : task_(task), stop_(std::move(stop)), worker_log_(log), deadline_(SteadyClock::time_point::max()) {
    if (task.definition->timeout.count() > 0) deadline_ = started_at + task.definition->timeout;
  }

  [[nodiscard]] TaskId task_id() const noexcept override { return task_.id; }
  [[nodiscard]] int attempt() const noexcept override { return task_.attempt; }
  [[nodiscard]] int retry_count() const noexcept override { return task_.retry_count; }
  [[nodiscard]] std::string_view task_name() const noexcept override { return task_.definition->name; }
  [[nodiscard]] std::string_view queue() const noexcept override { return task_.queue; }
  [[nodiscard]] std::string_view trace_context() const noexcept override { return task_.trace_context; }
  [[nodiscard]] Clock::time_point deadline() const noexcept override { return deadline_; }
  [[nodiscard]] std::stop_token stop_token() const noexcept override { return stop_; }

  [[nodiscard]] spdlog::logger& log() const override {
    std::call_once(log_made_, [this] {
      log_ = worker_log_.clone("task " + std::to_string(task_.id) + " " + task_.definition->name + " attempt " +
                               std::to_string(task_.attempt));
    });
    return *log_;
  }

 private:
  const ClaimedTask& task_;
  std::stop_token stop_;
  spdlog::logger& worker_log_;
  Clock::time_point deadline_;
  mutable std::once_flag log_made_;
  mutable std::shared_ptr<spdlog::logger> log_;
};

/// How the handler ended, before anything is decided.
struct HandlerEnd {
  lifecycle::Outcome outcome = lifecycle::Outcome::succeeded;
  std::string error_code;
  std::string error_message;
  std::string error_details_json;
  std::optional<milliseconds> retry_after;
  std::string result_json;
};

std::string demangled(const std::type_info* type) {
  if (type == nullptr) return "unknown";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name{abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                    std::free};
  return status == 0 ? name.get() : type->name();
}

HandlerEnd failed_with(std::string_view code, std::string message, std::string details_json = {}) {
  HandlerEnd end;
  end.outcome = lifecycle::Outcome::failed;
  end.error_code = code;
  end.error_message = std::move(message);
  end.error_details_json = std::move(details_json);
  return end;
}

std::string details_json(const char* key, const std::string& value) {
  return nlohmann::json{{key, value}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// what() of an exception that somebody else wrote.
std::string message_of(const std::exception& error) {
  const char* message = error.what();
  return message != nullptr ? message : "";
}

/// The exception in flight, as the end of an attempt.
HandlerEnd end_of_current_exception() {
  try {
    throw;
  } catch (const TaskError& error) {
    HandlerEnd end = failed_with(error.code(), error.message(), error.details_json());
    end.retry_after = error.retry_after();
    return end;
  } catch (const detail::InvalidArgs& error) {
    return failed_with(codes::invalid_args, error.what(), details_json("path", error.pointer()));
  } catch (const detail::InvalidResult& error) {
    return failed_with(codes::invalid_result, error.what());
  } catch (const std::exception& error) {
    return failed_with(codes::unhandled_exception, message_of(error),
                       details_json("exception", demangled(&typeid(error))));
  } catch (...) {
    const std::string type = demangled(abi::__cxa_current_exception_type());
    return failed_with(codes::unhandled_exception, "an exception that is not a std::exception, of type " + type,
                       details_json("exception", type));
  }
}

HandlerEnd run_handler(const ClaimedTask& task, AttemptContext& context, const AttemptLimits& limits) {
  try {
    HandlerEnd end;
    end.result_json = task.definition->run(context, task.args_json);
    if (end.result_json.size() > limits.max_result_bytes) {
      return failed_with(codes::invalid_result,
                         "the result has " + std::to_string(end.result_json.size()) + " bytes as JSON; the limit is " +
                             std::to_string(limits.max_result_bytes) + " (max_result_bytes in the table settings)");
    }
    return end;
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit in the handler: the thread must be let go
  } catch (...) {
    return end_of_current_exception();
  }
}

Report make_report(const ClaimedTask& task, SteadyClock::time_point started_at, SteadyClock::time_point finished_at,
                   HandlerEnd end, double draw) {
  const lifecycle::TaskState state{lifecycle::Status::running, task.attempt, task.retry_count, task.losses};
  const lifecycle::Ending ending{end.outcome, end.error_code, end.retry_after};
  Report report;
  report.id = task.id;
  report.attempt = task.attempt;
  report.transition = lifecycle::after_attempt(state, task.definition->rules, ending, draw).value();
  report.started_at = started_at;
  report.finished_at = finished_at;
  const auto& next = report.transition.next_run;
  if (next && next->spends_retry) report.policy = task.definition->policy_text;
  if (next && next->from_retry_after) report.retry_after = next->delay;
  report.result_json = std::move(end.result_json);
  report.error_message = std::move(end.error_message);
  report.error_details_json = std::move(end.error_details_json);
  return report;
}

/// Length of the UTF-8 sequence that begins `text`; 0 if it is not a valid one (RFC 3629).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool too_large = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

Report run_attempt(const ClaimedTask& task, const std::stop_token& stop, const AttemptLimits& limits,
                   spdlog::logger& log, double draw) {
  const auto started_at = SteadyClock::now();
  AttemptContext context{task, stop, started_at, log};
  HandlerEnd end = run_handler(task, context, limits);
  const auto finished_at = SteadyClock::now();

  const bool failed = end.outcome == lifecycle::Outcome::failed;
  if (failed && stop.stop_requested()) {
    end.outcome = lifecycle::Outcome::interrupted;
    end.error_code.clear();
  }
  if (failed) end.error_message = storable_text(end.error_message, limits.max_error_message_bytes);
  return make_report(task, started_at, finished_at, std::move(end), draw);
}

Report interrupted_report(const ClaimedTask& task, SteadyClock::time_point started_at) {
  HandlerEnd end;
  end.outcome = lifecycle::Outcome::interrupted;
  end.error_message = "the worker shut down while the handler still ran";
  return make_report(task, started_at, SteadyClock::now(), std::move(end), 0.0);
}

std::string storable_text(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
  const std::string mark = "… [cut: " + std::to_string(text.size()) + " bytes in all]";
  const std::size_t room = max_bytes - mark.size();
  std::string kept;
  std::size_t kept_with_room_for_mark = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_sequence(rest);
    kept += length > 0 ? rest.substr(0, length) : replacement;
    rest.remove_prefix(std::max<std::size_t>(length, 1));
    if (kept.size() <= room) kept_with_room_for_mark = kept.size();
    if (kept.size() > max_bytes) return kept.substr(0, kept_with_room_for_mark) + mark;
  }
  return kept;
}

}  // namespace dogged::runtime
