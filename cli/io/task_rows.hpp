// From rows of the database to views of tasks, and to their JSON. docs/cli.md lists the members.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/render/json_object.hpp"
#include "cli/render/task_view.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {

/// Throws SchemaMismatch for a status that this program does not know.
[[nodiscard]] lifecycle::Status status_of(std::string_view text);
[[nodiscard]] TaskView task_of(sql::ShowTask::Row row);
[[nodiscard]] TaskView task_of(sql::ListTasks::Row row);
[[nodiscard]] AttemptView attempt_of(sql::TaskAttempts::Row row);
[[nodiscard]] AttemptView attempt_of(sql::ListAttempts::Row row);
[[nodiscard]] StepView step_of(sql::TaskSteps::Row row);
/// Throws InvalidPolicy for a policy that this program does not know.
[[nodiscard]] DefinitionView definition_of(sql::ListDefinitions::Row row);

[[nodiscard]] std::string to_json(const TaskView& task);
[[nodiscard]] std::string to_json(const AttemptView& attempt);
[[nodiscard]] std::string to_json(const StepView& step);
[[nodiscard]] std::string to_json(const DefinitionView& definition);
/// The task's members, and what its history tells.
[[nodiscard]] std::string to_json(const TaskHistory& history);

}  // namespace dogged::cli
