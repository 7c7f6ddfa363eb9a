// A registered task as the worker uses it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/detail/registration.hpp>

#include "lifecycle/lifecycle.hpp"

namespace dogged::runtime {

struct Definition {
  std::string name;
  std::string queue;
  lifecycle::Rules rules;
  std::string policy_text;  ///< of rules.policy, as attempts record it
  milliseconds timeout{0};  ///< 0: none
  detail::ErasedHandler run;
};

/// By task name.
using Definitions = std::map<std::string, Definition, std::less<>>;

/// From what TASK_REGISTER declared. Throws InvalidInput that lists every mistake at once: no task at all, or tasks
/// that are registered twice.
[[nodiscard]] Definitions make_definitions(const std::vector<detail::RegisteredTask>& registered);

}  // namespace dogged::runtime
