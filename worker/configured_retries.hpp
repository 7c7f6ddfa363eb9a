// What operators say of retries, in a file and in the environment, laid over what TASK_REGISTER declared.
#pragma once

#include <string>
#include <vector>

#include <dogged/resolved_retry_config.hpp>

#include "definition.hpp"

namespace dogged::runtime {

/// Throws InvalidInput for a file that cannot be read, and InvalidPolicy as RetryConfigFile::from_json.
[[nodiscard]] RetryConfigFile read_retry_config(const std::string& path);

/// What the worker says of it, a line for each task that it concerns.
struct ConfiguredRetries {
  std::vector<std::string> changes;   ///< the settings are other than TASK_REGISTER's
  std::vector<std::string> warnings;  ///< settings of its own are about retries, and its auto_retry_for is empty
};

/// Replaces what each definition declares of retries by what applies, and says where each setting comes from; `file`
/// may be null. With policy_type circuit_breaker the delay's source is under `recovery_timeout`. What TaskOptions have
/// by default counts as not said: the policy default_retry_policy, no code in auto_retry_for, and dead letters; the
/// file's `defaults` apply there. A circuit_breaker gives its settings to the task's circuit, which all tasks that
/// share it get, or makes it one that is named after the task; `false` takes it away. Throws InvalidPolicy as
/// resolve_retry_config, and where two tasks give one circuit different settings.
ConfiguredRetries configure_retries(Definitions& definitions, const RetryConfigFile* file,
                                    const Environment& environment);

/// A task of the file that is not registered here. That is no mistake: the file may serve several programs.
struct UnregisteredTask {
  std::string name;
  std::string suggestion;  ///< ` (did you mean "webhook.deliver"?)`, or empty
};
[[nodiscard]] std::vector<UnregisteredTask> unregistered_tasks(const RetryConfigFile& file,
                                                               const Definitions& definitions);

}  // namespace dogged::runtime
