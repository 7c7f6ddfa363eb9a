// A task with all that tells its story, read from the database.
#include "cli/io/task_history.hpp"

#include <dogged/error.hpp>

#include "cli/io/task_rows.hpp"
#include "db/connection.hpp"
#include "sql/client.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

std::optional<DefinitionView> read_definition(db::Connection& connection, const std::string& name) {
  auto definitions = connection.run(sql::ListDefinitions{.name = name});
  if (definitions.empty()) return std::nullopt;
  try {
    return definition_of(std::move(definitions.front()));
  } catch (const InvalidPolicy&) {  // of a newer version: the task is shown without it
    return std::nullopt;
  }
}

/// So many are read and drawn of what may be millions.
constexpr int most_ancestors = 20;
constexpr int most_children = 20;  // of each
constexpr int most_levels = 4;
constexpr int most_descendants = 60;
constexpr int most_steps = 1000;

Lineage read_lineage(db::Connection& connection, const TaskView& task) {
  Lineage lineage;
  const auto status_if_there = [](const std::optional<std::string>& status) {
    return status ? std::optional{status_of(*status)} : std::nullopt;
  };
  if (task.parent_id) {
    for (auto& row : connection.run(sql::TaskAncestors{.task_id = task.id, .most = most_ancestors})) {
      lineage.ancestors.push_back(
          {.id = row.id, .parent_id = {}, .name = std::move(row.name), .status = status_if_there(row.status)});
    }
  }
  const sql::TaskDescendants descendants{
      .task_id = task.id, .most_children = most_children, .most_levels = most_levels, .most = most_descendants};
  for (auto& row : connection.run(descendants)) {
    if (!row.name) {
      lineage.children = row.children;
      continue;
    }
    lineage.descendants.push_back({.id = row.id,
                                   .parent_id = row.parent_id,
                                   .name = std::move(row.name),
                                   .status = status_if_there(row.status),
                                   .children = row.children});
  }
  return lineage;
}

}  // namespace

std::optional<TaskHistory> read_history(db::Connection& connection, std::int64_t id) {
  std::optional<TaskHistory> history;
  connection.transaction([&] {
    // An attempt that ends between the statements would be missing, or there twice.
    connection.run(sql::OneSnapshot{});
    auto attempts = connection.run(sql::TaskAttempts{.task_id = id});
    auto tasks = connection.run(sql::ShowTask{.task_id = id});
    if (tasks.empty()) return;
    sql::ShowTask::Row& task = tasks.front();
    history.emplace();
    history->is_served = task.is_served;
    history->lease_until = time_from_microseconds(task.lease_until_us);
    history->worker_state = task.worker_state;
    history->known_args_version = task.known_args_version;
    history->task = task_of(std::move(task));
    history->lineage = read_lineage(connection, history->task);
    history->definition = read_definition(connection, history->task.name);
    for (auto& step : connection.run(sql::TaskSteps{.task_id = id, .most = most_steps})) {
      history->steps.push_back(step_of(std::move(step)));
    }
    for (auto& attempt : attempts) history->attempts.push_back(attempt_of(std::move(attempt)));
  });
  return history;
}

}  // namespace dogged::cli
