// From rows of the database to what is shown, and that as JSON. docs/cli.md lists the members.
#pragma once

#include <optional>
#include <string>

#include "cli/render/json_object.hpp"
#include "cli/render/task_view.hpp"
#include "db/connection.hpp"

namespace dogged::cli {

/// A column of microseconds since 1970.
[[nodiscard]] Time time_of(const db::Row& row, const char* column);
[[nodiscard]] std::optional<Time> maybe_time_of(const db::Row& row, const char* column);

/// The column `status`.
[[nodiscard]] lifecycle::Status status_of(const db::Row& row);
/// Of show_task.sql and list_tasks.sql.
[[nodiscard]] TaskView task_of(const db::Row& row);
/// Of task_attempts.sql and list_attempts.sql.
[[nodiscard]] AttemptView attempt_of(const db::Row& row);
/// Of show_definition.sql. Throws InvalidPolicy for a policy that this program does not know.
[[nodiscard]] DefinitionView definition_of(const db::Row& row);

/// Of task_ancestors.sql and task_descendants.sql.
[[nodiscard]] Relative relative_of(const db::Row& row);

[[nodiscard]] std::string to_json(const TaskView& task);
[[nodiscard]] std::string to_json(const AttemptView& attempt);
[[nodiscard]] std::string to_json(const DefinitionView& definition);
/// The task's members, and what its history tells.
[[nodiscard]] std::string to_json(const TaskHistory& history);

}  // namespace dogged::cli
