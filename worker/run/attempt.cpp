// See attempt.hpp.
#include "run/attempt.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/registration.hpp>
#include <dogged/detail/sql_call.hpp>
#include <dogged/exception_mapper.hpp>
#include <dogged/retry_options.hpp>
#include <dogged/steps.hpp>
#include <dogged/task.hpp>

#include "base/core/storable_text.hpp"
#include "client/current_task.hpp"
#include "client/json_limit.hpp"
#include "lease/keeper_inbox.hpp"
#include "lifecycle/lifecycle.hpp"
#include "run/core/ending.hpp"
#include "sql/run.hpp"
#include "step/handler_session.hpp"
#include "step/steps.hpp"
#include "tasks/attempt_logger.hpp"
#include "tasks/definition.hpp"
#include "tasks/hooks.hpp"
#include "tasks/in_force.hpp"

namespace dogged::runtime {
namespace {

/// The attempt as its handler sees it.
class AttemptContext final : public Context {
 public:
  AttemptContext(const Pool::Run& run, const StopSignal& stop, const AttemptSettings& settings,
                 const AttemptTrace& trace, spdlog::logger& log)
      : run_(run), task_(run.task), stop_(stop), settings_(settings), trace_(trace), worker_log_(log) {}

  [[nodiscard]] TaskId task_id() const noexcept override { return task_.id; }
  [[nodiscard]] int attempt() const noexcept override { return task_.attempt; }
  [[nodiscard]] int retry_count() const noexcept override { return task_.retry_count; }
  [[nodiscard]] std::string_view task_name() const noexcept override { return task_.definition->name; }
  [[nodiscard]] std::string_view queue() const noexcept override { return task_.queue; }
  [[nodiscard]] std::string_view args_json() const noexcept override { return task_.args_json; }
  [[nodiscard]] std::string_view trace_context() const noexcept override { return task_.trace_context; }
  [[nodiscard]] std::optional<TraceContext> trace() const override { return trace_.context(); }
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> scheduled_for() const override {
    const auto ticks =
        settings_.database->ask([this] { return sql::ScheduledFor{.task_id = task_.id}; }, stop_.token());
    if (ticks.empty()) return std::nullopt;
    return std::chrono::system_clock::time_point{std::chrono::microseconds{ticks.front().scheduled_us}};
  }
  [[nodiscard]] const std::string& database_url() const noexcept override { return settings_.database_url; }
  [[nodiscard]] Clock::time_point deadline() const noexcept override { return run_.deadline; }
  [[nodiscard]] Clock::time_point now() const noexcept override { return Clock::now(); }
  [[nodiscard]] std::stop_token stop_token() const noexcept override { return stop_.token(); }
  [[nodiscard]] StopReason stop_reason() const noexcept override { return stop_.reason(); }

  bool wait_for(milliseconds time) override {
    for (; time > limits::max_delay; time -= limits::max_delay) {
      if (!wait_or_stop(limits::max_delay, stop_.token())) return false;
    }
    return wait_or_stop(time, stop_.token());
  }

  [[nodiscard]] spdlog::logger& log() const override {
    std::call_once(log_made_, [this] { log_ = attempt_logger(worker_log_, task_, trace_.context()); });
    return *log_;
  }

  [[nodiscard]] Completion begin_completion() override {
    completion_begun_ = true;
    const auto running_for =
        std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - run_.started_at);
    return {task_.id,         task_.attempt, settings_.worker_id,
            settings_.schema, running_for,   settings_.limits.max_result_bytes,
            returned_json_,   trace_.own()};
  }
  void note_progress(std::optional<double> fraction, std::string_view message) override {
    settings_.progress->note({task_.id, task_.attempt}, fraction, message, SteadyClock::now());
  }
  [[nodiscard]] std::optional<std::string> recorded_step(std::string_view name) override {
    return settings_.steps->recorded({task_.id, task_.attempt}, std::string{name}, known_steps_, stop_.token());
  }
  void record_step(std::string_view name, const std::string& result_json, Clock::time_point began_at) override {
    require_short_enough("the result of the step", name, result_json);
    settings_.steps->record({task_.id, task_.attempt}, std::string{name}, result_json, began_at, stop_.token());
  }
  [[nodiscard]] detail::SqlCall step_call(std::string_view name, const std::string& result_json,
                                          Clock::time_point began_at) override {
    require_short_enough("the result of the step", name, result_json);
    const auto ago = std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - began_at);
    return detail::step_call({task_.id, task_.attempt, settings_.worker_id, std::string{name}, result_json, ago},
                             settings_.schema);
  }
  [[nodiscard]] std::optional<std::string> wait_durably(std::string_view name, detail::WaitFor what,
                                                        milliseconds time) override {
    return settings_.steps->wait({task_.id, task_.attempt}, std::string{name}, what, time, run_.started_at,
                                 trace_.own(), stop_.token());
  }
  [[nodiscard]] std::optional<std::string> last_checkpoint(std::string_view name) override {
    return settings_.steps->last_checkpoint({task_.id, task_.attempt}, std::string{name}, stop_.token());
  }
  void save_checkpoint(std::string_view name, const std::string& value_json) override {
    require_short_enough("the checkpoint", name, value_json);
    settings_.steps->save_checkpoint({task_.id, task_.attempt}, std::string{name}, value_json, stop_.token());
  }
  void note_returned(std::string result_json) { returned_json_ = std::move(result_json); }
  [[nodiscard]] std::string take_returned() { return std::move(returned_json_); }
  [[nodiscard]] bool completion_begun() const noexcept { return completion_begun_; }

 private:
  void require_short_enough(std::string_view what, std::string_view name, const std::string& json) const {
    const std::size_t bytes = detail::bytes_as_jsonb(json);
    if (bytes <= settings_.limits.max_result_bytes) return;
    const std::string named = std::string{what} + " \"" + std::string{name} + "\"";
    throw TaskError{codes::invalid_step, detail::too_long_as_json(named, bytes, settings_.limits.max_result_bytes)};
  }

  const Pool::Run& run_;
  const ClaimedTask& task_;  // of the run
  const StopSignal& stop_;
  const AttemptSettings& settings_;
  const AttemptTrace& trace_;
  spdlog::logger& worker_log_;
  std::atomic<bool> completion_begun_{false};
  std::string returned_json_;
  KnownSteps known_steps_;
  mutable std::once_flag log_made_;
  mutable std::shared_ptr<spdlog::logger> log_;
};

std::string demangled(const std::type_info* type) {
  if (type == nullptr) return "unknown";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name{abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                    std::free};
  return status == 0 ? name.get() : type->name();
}

HandlerEnd snoozed_by(const Snooze& snooze) {
  HandlerEnd end;
  end.ending.outcome = lifecycle::Outcome::snoozed;
  end.ending.snooze = snooze.delay();
  end.ending.error_message = snooze.reason();
  return end;
}

HandlerEnd suspended_by(const Suspended& wait) {
  HandlerEnd end;
  end.ending.outcome = lifecycle::Outcome::snoozed;
  end.ending.snooze = wait.delay();
  end.ending.error_message = wait.reason();
  end.is_on_record = true;
  return end;
}

/// Details that are too long are replaced as a whole (details_to_json_text). In JSON a byte may become six.
constexpr std::size_t most_bytes_of_mapper_error = detail::max_details_bytes / 8;

/// The exception in flight, as the task's mapper describes it.
HandlerEnd end_of_mapped_exception(const ExceptionMapper& mapper) {
  const std::string type = demangled(abi::__cxa_current_exception_type());
  Mapped mapped = mapper.map(std::current_exception());
  const Classification& classification = mapped.classification;
  nlohmann::json details{{"exception", type}};
  if (classification.category != Category::unknown) details["category"] = to_text(classification.category);
  if (!mapped.mapper_error.empty()) {
    details["mapper_error"] = storable_text(mapped.mapper_error, most_bytes_of_mapper_error);
  }
  HandlerEnd end = failed_with(classification.code, std::move(mapped.message), detail::details_to_json_text(details));
  end.ending.retry_after = classification.retry_after;
  end.ending.precision = classification.precision;
  return end;
}

/// No longer than messages show, and not into redacted values: the keys below may be as secret as the values.
template <class Pointers>
std::string shown_pointer(std::string_view pointer, const Pointers& redact) {
  for (std::string_view hidden : redact) {
    const bool is_below = pointer.starts_with(hidden) && pointer.substr(hidden.size()).starts_with('/');
    if (is_below) return std::string{hidden};
  }
  return detail::cut_for_message(pointer);
}

HandlerEnd run_handler(const ClaimedTask& task, AttemptContext& context, Hooks& hooks) {
  try {
    hooks.before(context);
    context.note_returned(task.definition->run(context, {task.args_json, task.args_version}));
    hooks.after(context);
    HandlerEnd end;
    end.result_json = context.take_returned();
    end.result_bytes = detail::bytes_as_jsonb(end.result_json);
    return end;
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit in the handler: the thread must be let go
  } catch (const Snooze& snooze) {
    return snoozed_by(snooze);
  } catch (const Suspended& wait) {
    return suspended_by(wait);
  } catch (const TaskError& error) {
    HandlerEnd end = failed_with(error.code(), error.message(), error.details_json());
    end.ending.retry_after = error.retry_after();
    end.ending.precision = error.precision();
    return end;
  } catch (const detail::InvalidArgs& error) {
    const std::string pointer = shown_pointer(error.pointer(), task.definition->redact);
    return failed_with(codes::invalid_args, error.message_at(pointer),
                       detail::details_to_json_text(nlohmann::json{{"path", pointer}}));
  } catch (const detail::InvalidResult& error) {
    return failed_with(codes::invalid_result, error.what());
  } catch (const std::exception&) {
    return end_of_mapped_exception(task.definition->exceptions);
  } catch (...) {
    HandlerEnd end = end_of_mapped_exception(task.definition->exceptions);
    end.ending.error_message += ", of type " + demangled(abi::__cxa_current_exception_type());
    return end;
  }
}

}  // namespace

Report run_attempt(const Pool::Run& run, const StopSignal& stop, const AttemptSettings& settings,
                   const AttemptTrace& trace, spdlog::logger& log, double draw) {
  const ClaimedTask& task = run.task;
  AttemptContext context{run, stop, settings, trace, log};
  const detail::CurrentTaskScope scope{task.id, settings.installation, trace.context() ? &*trace.context() : nullptr,
                                       settings.tracing ? &settings.tracing : nullptr};
  Hooks hooks{task.definition->middleware};
  HandlerEnd end = run_handler(task, context, hooks);
  const auto finished_at = SteadyClock::now();
  Report report = report_of(
      task, task.definition->in_force->current(), run.started_at, finished_at, std::move(end),
      {.stop_reason = stop.reason(), .completion_begun = context.completion_begun(), .limits = settings.limits}, draw);
  if (hooks.has_begun_any()) hooks.end(context, end_of(report));
  return report;
}

AttemptEnd end_of(const Report& report) {
  const lifecycle::Transition& to = report.transition;
  AttemptEnd end;
  end.outcome = to.outcome;
  end.error_code = to.code();
  end.error_message = report.error_message;
  if (to.next_run) {
    end.retry_in = to.next_run->delay;
    end.spends_retry = to.next_run->spends_retry;
  }
  end.running_for = report.finished_at - report.started_at;
  return end;
}

}  // namespace dogged::runtime
