// Which tasks a command speaks of: the filters of `dogged tasks list` and `watch`, and how far they look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/render/task_view.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::cli {

/// As given on the command line. An empty member does not filter.
struct TaskFilter {
  std::vector<std::string> statuses, queues, names, error_codes, workers, tags;
  std::string ids;  ///< 100-200 or 100-
  std::string enqueued_after, enqueued_before, finished_after, finished_before;
  std::string args;
  std::optional<int> priority;
  std::optional<std::int64_t> parent;
  bool looks_at_all = false;
};

/// A filter without a bound by which the history is stored searches so many of the newest tasks. Otherwise a rare
/// property would make it search the whole history.
inline constexpr std::int64_t most_looked_through = 50'000;

/// --status, --queue … for `filter`, which must outlive the command.
void add_filter_options(CLI::App& command, TaskFilter& filter);

struct TaskPage {
  std::vector<TaskView> tasks;  ///< the newest first
  /// The page is not full, and tasks below this one were not looked through.
  std::optional<std::int64_t> looked_down_to;
};

/// Throws Failure where the filter names a queue, a task or a worker that is not there (existing.hpp).
void require_existing(db::Connection& connection, const TaskFilter& filter, const TaskPage& first_page);

/// A filter with its times counted from the database's clock when it was made.
class TaskSearch {
 public:
  /// Throws InvalidInput for a filter that cannot be.
  TaskSearch(db::Connection& connection, const TaskFilter& filter, Zone zone);

  /// The newest tasks, those below `after` if there is one.
  [[nodiscard]] TaskPage page(std::int64_t limit, std::optional<std::int64_t> after);
  /// These tasks, whether the filter lets them pass or not.
  [[nodiscard]] std::vector<TaskView> tasks(const std::vector<std::int64_t>& ids);

 private:
  [[nodiscard]] std::optional<std::int64_t> search_end(std::optional<std::int64_t> below);

  db::Connection& connection_;
  const TaskFilter& filter_;
  std::optional<Time> enqueued_after_, enqueued_before_, finished_after_, finished_before_;
  std::optional<std::int64_t> first_id_, last_id_;
  std::optional<std::vector<std::string>> partition_statuses_;
  std::optional<Time> ended_since_;
  std::optional<std::int64_t> most_;
};

}  // namespace dogged::cli
