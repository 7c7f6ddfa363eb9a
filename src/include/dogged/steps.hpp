// Durable steps of a task: the parts of its handler that later attempts do not repeat. docs/steps.md is the guide.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/codes.hpp>
#include <dogged/context.hpp>
#include <dogged/delay.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/error.hpp>
#include <dogged/task.hpp>

namespace dogged {

/// `what` is named if its JSON does not fit; `remedy` says what helps then.
template <class Value>
Value Context::value_on_record(const std::string& json, std::string_view what, std::string_view name,
                               std::string_view remedy) {
  try {
    return nlohmann::json::parse(json).get<Value>();
  } catch (const nlohmann::json::exception& error) {
    throw TaskError{codes::invalid_step, std::string{what} + " \"" + std::string{name} + "\" is of another type: " +
                                             detail::describe_json_error(error.id, error.what()).reason + "; " +
                                             std::string{remedy}};
  }
}

template <class Result>
std::string Context::json_of_step(std::string_view name, const Result& result) {
  try {
    return detail::to_json_text({"the result of the step", name}, result);
  } catch (const std::invalid_argument& error) {
    throw TaskError{codes::invalid_step, error.what()};
  }
}

inline void Context::begin_step(std::string_view name, detail::StepNames::Kind kind) {
  if (const std::string mistake = steps_.begin(name, kind); !mistake.empty()) {
    throw TaskError{codes::invalid_step, mistake};
  }
}

/// `record` takes the result as JSON, and when the step began.
template <class Work, class Record>
std::invoke_result_t<Work&> Context::run_step(std::string_view name, Work& work, Record record) {
  using Result = std::invoke_result_t<Work&>;
  try {
    const std::optional<std::string> recorded = recorded_step(name);
    const Clock::time_point began_at = now();
    if constexpr (std::is_void_v<Result>) {
      if (recorded) return;
      work();
      record("null", began_at);
    } else {
      static_assert(detail::ToJson<Result> && detail::FromJson<Result>,
                    "dogged: what a step gives must be void or convert to and from nlohmann::json, for example with "
                    "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT");
      if (recorded) {
        return value_on_record<Result>(*recorded, "the recorded result of the step", name,
                                       "give the step another name to run it again");
      }
      Result result = work();
      record(json_of_step(name, result), began_at);
      return result;
    }
  } catch (...) {
    steps_.take_back(name);
    throw;
  }
}

template <class Work>
std::invoke_result_t<Work&> Context::step(std::string_view name, Work&& work) {
  begin_step(name);
  return run_step(name, work,
                  [&](const std::string& json, Clock::time_point began_at) { record_step(name, json, began_at); });
}

/// Ends an attempt that waits without a worker (Context::sleep, Context::wait_event). The task is back in its queue
/// already when this is thrown: let the exception pass. Suspended is no std::exception, so that a handler does not take
/// it for a failure.
class Suspended {
 public:
  explicit Suspended(milliseconds delay, std::string reason) : delay_(delay), reason_(std::move(reason)) {}

  [[nodiscard]] milliseconds delay() const noexcept { return delay_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  milliseconds delay_;
  std::string reason_;
};

namespace detail {
inline void require_valid_wait(std::string_view name, milliseconds time) {
  if (time >= limits::min_delay && time <= limits::max_snooze) return;
  throw InvalidInput("the wait \"" + std::string{name} + "\" of " + std::to_string(time.count()) +
                     " ms is not 1 ms to 365 days");
}
}  // namespace detail

inline void Context::sleep(milliseconds time, std::string_view name) {
  begin_step(name);
  detail::require_valid_wait(name, time);
  (void)wait_durably(name, detail::WaitFor::time, time);
}

template <class Payload>
std::optional<Payload> Context::wait_event(std::string_view name, milliseconds timeout) {
  static_assert(detail::FromJson<Payload>, "dogged: the payload of an event must convert from nlohmann::json");
  begin_step(name);
  detail::require_valid_wait(name, timeout);
  const std::optional<std::string> payload = wait_durably(name, detail::WaitFor::event, timeout);
  if (!payload) return std::nullopt;
  return value_on_record<Payload>(
      *payload, "the payload of the event", name,
      "emit a payload that fits, and replay the task with its steps run again; a handler that "
      "waits for a nlohmann::json can judge a payload itself");
}

/// Thrown by Checkpoint::advance when the handler is asked to stop, after the place was saved. Let it leave the
/// handler: the reason of the stop decides the outcome. A handler that catches it and returns has succeeded.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The place in a long loop from which the next attempt goes on.
///
///   auto at = ctx.checkpoint<Position>("rows");
///   for (file.seekg(at->offset); std::getline(file, line);) {
///     load(line);
///     at.advance({.offset = file.tellg()});
///   }
///
/// The database gets the latest place, at most once a second. So a worker that is killed loses the last second, and a
/// failure too: what the loop does there runs twice. After a shutdown nothing runs twice, and no retry is spent:
/// advance saves the place and throws Stopped, and the task goes on elsewhere. Belongs to the thread of its loop, and
/// must not outlive the context.
template <class Value>
class Checkpoint {
  static_assert(detail::ToJson<Value> && detail::FromJson<Value>,
                "dogged: the value of a checkpoint must convert to and from nlohmann::json");

 public:
  [[nodiscard]] const Value& operator*() const noexcept { return value_; }
  [[nodiscard]] const Value* operator->() const noexcept { return &value_; }

  /// The loop is at `value` now. Saves it if a second has passed since the last time. If the handler is asked to stop,
  /// saves it and throws Stopped. Throws as Context::step does, except what `work` throws.
  void advance(Value value) {
    value_ = std::move(value);
    const bool is_to_stop = context_.stop_token().stop_requested();
    if (is_to_stop || context_.now() >= due_) {
      context_.save_checkpoint(name_, Context::json_of_step(name_, value_));
      due_ = context_.now() + interval;
    }
    if (is_to_stop) throw Stopped("the handler was asked to stop, and the checkpoint \"" + name_ + "\" is saved");
  }

 private:
  friend class Context;
  static constexpr milliseconds interval{1000};

  Checkpoint(Context& context, std::string_view name, Value first)
      : context_(context), name_(name), value_(std::move(first)), due_(context.now() + interval) {
    context.begin_step(name);
    if (const std::optional<std::string> last = context.last_checkpoint(name)) {
      value_ = Context::value_on_record<Value>(*last, "the saved value of the checkpoint", name,
                                               "give the checkpoint another name to begin the loop anew");
    }
  }

  Context& context_;
  std::string name_;
  Value value_;
  Context::Clock::time_point due_;
};

template <class Value>
Checkpoint<Value> Context::checkpoint(std::string_view name, Value first) {
  return Checkpoint<Value>{*this, name, std::move(first)};
}

}  // namespace dogged
