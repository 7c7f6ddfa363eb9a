// The retry policies of one's own that a worker has registered, and the declarations that name them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <spdlog/logger.h>

#include <dogged/custom_policy.hpp>

#include "tasks/definition.hpp"

namespace dogged::runtime {

/// Thread-safe as the functions are.
class CustomPolicies {
 public:
  /// `log` may be null without functions. Throws InvalidInput for a name that a policy cannot have, and for an empty
  /// function.
  CustomPolicies(std::map<std::string, DelayFunction> functions, std::shared_ptr<spdlog::logger> log);

  /// Gives the rules of a declaration the function that their policy names. A function that throws is in the log, and
  /// the failure is not retried. Throws InvalidInput, which names the task, for a policy that is not registered here.
  void bind(const std::string& task, lifecycle::Rules& rules) const;

 private:
  const std::map<std::string, DelayFunction> functions_;
  const std::shared_ptr<spdlog::logger> log_;
};

}  // namespace dogged::runtime
