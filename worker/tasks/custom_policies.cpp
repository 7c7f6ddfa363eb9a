// See custom_policies.hpp.
#include "tasks/custom_policies.hpp"

#include <exception>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include <dogged/detail/policy_rules.hpp>
#include <dogged/error.hpp>

#include "client/log_event.hpp"
#include "text/message.hpp"

namespace dogged::runtime {
namespace {

/// ` (did you mean "patient"?); this worker has patient and quick`.
std::string known_beside(std::string_view name, const std::map<std::string, DelayFunction>& functions) {
  if (functions.empty()) return "; this worker has none";
  Words names;
  std::string all;
  for (const auto& [known, function] : functions) {
    names.push_back(known);
    (all += all.empty() ? "" : ", ") += known;
  }
  return suggestion(name, names) + "; this worker has " + all;
}

}  // namespace

CustomPolicies::CustomPolicies(std::map<std::string, DelayFunction> functions, std::shared_ptr<spdlog::logger> log)
    : functions_(std::move(functions)), log_(std::move(log)) {
  for (const auto& [name, function] : functions_) {
    if (detail::check_policy_name(std::string_view{name})) {
      throw InvalidInput("WorkerOptions::policies has " + in_quotes(name) + ", which is no policy's name",
                         "a policy's name is 1 to 64 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit");
    }
    if (!function) throw InvalidInput("WorkerOptions::policies has no function for " + in_quotes(name));
  }
}

void CustomPolicies::bind(const std::string& task, lifecycle::Rules& rules) const {
  const auto* const custom = std::get_if<Custom>(&rules.policy);
  if (custom == nullptr) return;
  const std::string name{custom->name.view()};
  const auto found = functions_.find(name);
  if (found == functions_.end()) {
    throw InvalidInput("the task " + task + " has the retry policy " + in_quotes(name) +
                           ", which is not registered here" + known_beside(name, functions_),
                       "give its function in WorkerOptions::policies, or name another policy");
  }
  rules.delay = [function = found->second, log = log_, task, name](
                    int attempt, const FailedAttempt& failure) -> std::optional<milliseconds> {
    try {
      return function(attempt, failure);
    } catch (const std::exception& error) {
      log->log(event("policy_failed"), spdlog::level::err,
               "task {}: its retry policy {} threw, so that the failure {} is not retried: {}", task, name,
               failure.error_code, error.what());
    } catch (...) {
      log->log(event("policy_failed"), spdlog::level::err,
               "task {}: its retry policy {} threw, so that the failure {} is not retried", task, name,
               failure.error_code);
    }
    return std::nullopt;
  };
}

}  // namespace dogged::runtime
