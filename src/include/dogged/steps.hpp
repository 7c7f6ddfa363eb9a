// Durable steps of a task: the parts of its handler that later attempts do not repeat. docs/steps.md is the guide.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include <dogged/codes.hpp>
#include <dogged/context.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/task.hpp>

namespace dogged {

template <class Result>
Result Context::result_of_step(std::string_view name, const std::string& json) {
  try {
    return nlohmann::json::parse(json).get<Result>();
  } catch (const nlohmann::json::exception& error) {
    throw TaskError{codes::invalid_step,
                    "the recorded result of the step \"" + std::string{name} +
                        "\" is of another type: " + detail::describe_json_error(error.id, error.what()).reason +
                        "; give the step another name to run it again"};
  }
}

template <class Result>
std::string Context::json_of_step(std::string_view name, const Result& result) {
  try {
    return detail::to_json_text("the result of the step \"" + std::string{name} + "\"", result);
  } catch (const std::invalid_argument& error) {
    throw TaskError{codes::invalid_step, error.what()};
  }
}

template <class Work>
std::invoke_result_t<Work&> Context::step(std::string_view name, Work&& work) {
  using Result = std::invoke_result_t<Work&>;
  if (const std::string mistake = steps_.begin(name); !mistake.empty()) {
    throw TaskError{codes::invalid_step, mistake};
  }
  try {
    const std::optional<std::string> recorded = recorded_step(name);
    const Clock::time_point began_at = now();
    if constexpr (std::is_void_v<Result>) {
      if (recorded) return;
      work();
      record_step(name, "null", began_at);
    } else {
      static_assert(detail::ToJson<Result> && detail::FromJson<Result>,
                    "dogged: what a step gives must be void or convert to and from nlohmann::json, for example with "
                    "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT");
      if (recorded) return result_of_step<Result>(name, *recorded);
      Result result = work();
      record_step(name, json_of_step(name, result), began_at);
      return result;
    }
  } catch (...) {
    steps_.take_back(name);
    throw;
  }
}

}  // namespace dogged
