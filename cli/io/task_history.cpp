// A task with all that tells its story, read from the database.
#include "cli/io/task_history.hpp"

#include "cli/io/task_rows.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

std::optional<DefinitionView> read_definition(db::Connection& connection, const std::string& name) {
  const db::Rows rows = connection.run(sql::show_definition, db::Params{}.add(name));
  if (rows.empty()) return std::nullopt;
  try {
    return definition_of(rows.one());
  } catch (const InvalidPolicy&) {  // of a newer version: the task is shown without it
    return std::nullopt;
  }
}

/// So many are read and drawn of what may be millions.
constexpr int most_ancestors = 20;
constexpr int most_children = 20;  // of each
constexpr int most_levels = 4;
constexpr int most_descendants = 60;

Lineage read_lineage(db::Connection& connection, const TaskView& task) {
  Lineage lineage;
  if (task.parent_id) {
    for (const db::Row& row : connection.run(sql::task_ancestors, db::Params{}.add(task.id).add(most_ancestors))) {
      lineage.ancestors.push_back(relative_of(row));
    }
  }
  const auto limits = db::Params{}.add(task.id).add(most_children).add(most_levels).add(most_descendants);
  for (const db::Row& row : connection.run(sql::task_descendants, limits)) {
    if (row.is_null("name")) {
      lineage.children = row.number("children");
      continue;
    }
    Relative& relative = lineage.descendants.emplace_back(relative_of(row));
    relative.parent_id = row.maybe_number("parent_id");
    relative.children = row.number("children");
  }
  return lineage;
}

}  // namespace

std::optional<TaskHistory> read_history(db::Connection& connection, std::int64_t id) {
  std::optional<TaskHistory> history;
  connection.transaction([&] {
    // An attempt that ends between the statements would be missing, or there twice.
    connection.run(sql::one_snapshot);
    const db::Rows attempts = connection.run(sql::task_attempts, db::Params{}.add(id));
    const db::Rows tasks = connection.run(sql::show_task, db::Params{}.add(id));
    if (tasks.empty()) return;
    const db::Row task = tasks.one();
    history.emplace();
    history->task = task_of(task);
    history->is_served = task.boolean("is_served");
    history->lease_until = maybe_time_of(task, "lease_until_us");
    if (const auto known = task.maybe_number("known_args_version")) {
      history->known_args_version = static_cast<int>(*known);
    }
    history->lineage = read_lineage(connection, history->task);
    history->definition = read_definition(connection, history->task.name);
    for (const db::Row& row : attempts) {
      history->attempts.push_back(attempt_of(row));
      history->attempts.back().lease_ended_at = maybe_time_of(row, "lease_ended_at_us");
    }
  });
  return history;
}

}  // namespace dogged::cli
