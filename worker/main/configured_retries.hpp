// The operators' settings of retries, from a file and the environment, over what TASK_REGISTER declared.
#pragma once

#include <string>
#include <vector>

#include <dogged/resolved_retry_config.hpp>

#include "tasks/definition.hpp"

namespace dogged::runtime {

/// Throws InvalidInput if the file cannot be read, and InvalidPolicy as RetryConfigFile::from_json does.
[[nodiscard]] RetryConfigFile read_retry_config(const std::string& path);

/// The worker's log of the settings: a line for each task concerned.
struct ConfiguredRetries {
  std::vector<std::string> changes;   ///< the settings differ from TASK_REGISTER's
  std::vector<std::string> warnings;  ///< a task has retry settings of its own, but its auto_retry_for is empty
};

/// Replaces the retry settings of each definition by those that apply, and notes the source of each; `file` may be
/// null. With policy_type circuit_breaker the source of the delays is under `recovery_timeout`.
/// Defaults of TaskOptions count as not set: the policy default_retry_policy, no code in auto_retry_for, and dead
/// letters. The file's `defaults` apply there.
/// A circuit_breaker sets the task's circuit, for all tasks that share it. A task without a circuit gets one that is
/// named after the task. `false` takes the circuit away. Throws InvalidPolicy as resolve_retry_config does, and if two
/// tasks give one circuit different settings.
ConfiguredRetries configure_retries(Definitions& definitions, const RetryConfigFile* file,
                                    const Environment& environment);

/// A task of the file that is not registered here. No mistake: the file may serve several programs.
struct UnregisteredTask {
  std::string name;
  std::string suggestion;  ///< ` (did you mean "webhook.deliver"?)`, or empty
};
[[nodiscard]] std::vector<UnregisteredTask> unregistered_tasks(const RetryConfigFile& file,
                                                               const Definitions& definitions);

}  // namespace dogged::runtime
