// Which tasks a command speaks of.
#include "cli/options/task_filter.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <nlohmann/json.hpp>

#include "cli/input/choices.hpp"
#include "cli/input/filter_text.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/options/time_option.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

using Texts = std::vector<std::string>;

/// The statuses whose tasks lie in the same partitions.
const std::array<Texts, 3> statuses_by_partition{
    {{"pending", "running"}, {"failed"}, {"succeeded", "discarded", "cancelled", "expired"}}};

/// All statuses of the partitions that hold some of `statuses`.
Texts statuses_stored_with(const Texts& statuses) {
  Texts all;
  for (const Texts& together : statuses_by_partition) {
    const bool is_asked =
        std::find_first_of(together.begin(), together.end(), statuses.begin(), statuses.end()) != together.end();
    if (is_asked) all.insert(all.end(), together.begin(), together.end());
  }
  return all;
}

bool is_live(const std::string& status) { return status == "pending" || status == "running"; }

CLI::Validator is_id_range() {
  return CLI::Validator{[](std::string& text) {
                          if (id_range_from_text(text)) return std::string{};
                          return in_quotes(text) + " is not a range of ids; write 100-200, or 100- for all from 100";
                        },
                        ""};
}

CLI::Validator is_json() {
  return CLI::Validator{[](std::string& text) {
                          if (nlohmann::json::accept(text)) return std::string{};
                          return in_quotes(text) + R"( is not JSON; write what the args contain, as '{"key": 1}')";
                        },
                        ""};
}

std::optional<Texts> if_any(const Texts& texts) { return texts.empty() ? std::nullopt : std::optional{texts}; }

std::optional<Texts> like_patterns(const Texts& globs) {
  Texts patterns;
  for (const std::string& glob : globs) patterns.push_back(like_pattern(glob));
  return if_any(patterns);
}

/// Whether every task that is looked through is listed, so that a page fills at once.
bool lets_all_pass(const TaskFilter& filter) {
  return filter.queues.empty() && filter.names.empty() && filter.error_codes.empty() && filter.workers.empty() &&
         filter.args.empty() && filter.tags.empty() && !filter.priority && !filter.parent && filter.statuses.empty() &&
         filter.enqueued_before.empty() && filter.finished_before.empty();
}

/// By a day's partition, or by an index.
bool is_bounded(const TaskFilter& filter) {
  const bool is_live_alone =
      !filter.statuses.empty() && std::all_of(filter.statuses.begin(), filter.statuses.end(), is_live);
  return is_live_alone || !filter.enqueued_after.empty() || !filter.finished_after.empty() || !filter.ids.empty() ||
         filter.parent;
}

std::vector<TaskView> views_of(db::Connection& connection, sql::ListTasks listed) {
  std::vector<TaskView> tasks;
  for (auto& row : connection.run(std::move(listed))) tasks.push_back(task_of(std::move(row)));
  return tasks;
}

CLI::Option* add_several(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                         const std::string& description, const std::string& type) {
  return command.add_option(name, into, description)->type_name(type)->delimiter(',')->allow_extra_args(false);
}

}  // namespace

void add_filter_options(CLI::App& command, TaskFilter& filter) {
  add_several(command, "--status", filter.statuses,
              "pending, running, succeeded, failed, discarded, cancelled or expired; several with commas", "STATUS")
      ->check(is_status());
  add_several(command, "--queue", filter.queues, "Of this queue; several with commas", "QUEUE");
  add_several(command, "--name", filter.names, "With this task name; * stands for any text, ? for a character", "TASK");
  add_several(command, "--error-code", filter.error_codes, "That failed last with this code", "CODE");
  add_several(command, "--worker", filter.workers, "That this worker runs, or ran last: its name or id", "WORKER");
  add_several(command, "--tag", filter.tags, "With this tag; with all of several", "TAG");
  command.add_option("--parent", filter.parent, "Whose parent is this task: what its handler has enqueued")
      ->type_name("ID")
      ->check(is_task_id());
  command.add_option("--priority", filter.priority, "With this priority")->type_name("N");
  command.add_option("--ids", filter.ids, "With ids from 100 to 200: 100-200; 100- for all from 100")
      ->type_name("RANGE")
      ->check(is_id_range());
  const auto add_time = [&command](const std::string& name, std::string& into, const std::string& description) {
    command.add_option(name, into, description)->type_name("TIME")->check(is_time_or_duration());
  };
  add_time("--enqueued-after", filter.enqueued_after,
           "At this time or later: 2026-11-24, 2026-11-24T14:00Z, or 2h (ago)");
  add_time("--enqueued-before", filter.enqueued_before, "Before this time");
  add_time("--finished-after", filter.finished_after, "Ended at this time or later");
  add_time("--finished-before", filter.finished_before, "Ended before this time");
  command.add_option("--args", filter.args, "Whose args contain this JSON: '{\"customer\": 42}'")
      ->type_name("JSON")
      ->check(is_json());
  command.add_flag("--all", filter.looks_at_all,
                   "Look through the whole history, however long it takes, where it would be the newest " +
                       std::to_string(most_looked_through) + " tasks");
}

void require_existing(db::Connection& connection, const TaskFilter& filter, const TaskPage& first_page) {
  require_existing(connection, {.queues = filter.queues, .tasks = filter.names, .workers = filter.workers},
                   !first_page.tasks.empty());
}

TaskSearch::TaskSearch(db::Connection& connection, const TaskFilter& filter, Zone zone)
    : connection_(connection),
      filter_(filter),
      enqueued_after_(past_time_of(connection, filter.enqueued_after, zone)),
      enqueued_before_(past_time_of(connection, filter.enqueued_before, zone)),
      finished_after_(past_time_of(connection, filter.finished_after, zone)),
      finished_before_(past_time_of(connection, filter.finished_before, zone)) {
  if (const auto range = id_range_from_text(filter.ids)) {
    first_id_ = range->first;
    last_id_ = range->last;
  }
  if (!filter.statuses.empty()) partition_statuses_ = statuses_stored_with(filter.statuses);
  // A task that was enqueued after a time has ended after that time.
  ended_since_ = std::max(enqueued_after_, finished_after_);
  if (!filter.looks_at_all && !is_bounded(filter) && !lets_all_pass(filter)) most_ = most_looked_through;
}

TaskPage TaskSearch::page(std::int64_t limit, std::optional<std::int64_t> after) {
  std::optional<std::int64_t> below = after;
  const bool has_end = last_id_ && *last_id_ < std::numeric_limits<std::int64_t>::max();  // nothing is above that one
  if (has_end && (!below || *below > *last_id_)) below = *last_id_ + 1;
  const sql::ListTasks listed{.partition_statuses = partition_statuses_,
                              .ended_since = as_parameter(ended_since_),
                              .from_id = first_id_,
                              .below_id = below,
                              .ids = {},
                              .parent = filter_.parent,
                              .searched = most_,
                              .statuses = if_any(filter_.statuses),
                              .queues = if_any(filter_.queues),
                              .names = like_patterns(filter_.names),
                              .error_codes = if_any(filter_.error_codes),
                              .workers = if_any(filter_.workers),
                              .priority = filter_.priority,
                              .enqueued_after = as_parameter(enqueued_after_),
                              .enqueued_before = as_parameter(enqueued_before_),
                              .finished_after = as_parameter(finished_after_),
                              .finished_before = as_parameter(finished_before_),
                              .args = given(filter_.args),
                              .tags = if_any(filter_.tags),
                              .most = limit};
  TaskPage page{views_of(connection_, listed), std::nullopt};
  if (most_ && std::ssize(page.tasks) < limit) page.looked_down_to = search_end(below);
  return page;
}

std::optional<std::int64_t> TaskSearch::search_end(std::optional<std::int64_t> below) {
  const auto ends = connection_.run(sql::SearchEnd{.partition_statuses = partition_statuses_,
                                                   .ended_since = as_parameter(ended_since_),
                                                   .from_id = first_id_,
                                                   .below_id = below,
                                                   .searched = most_.value()});
  return ends.empty() ? std::nullopt : std::optional{ends.front().id};
}

std::vector<TaskView> TaskSearch::tasks(const std::vector<std::int64_t>& ids) {
  sql::ListTasks listed{};
  listed.ids = ids;
  return views_of(connection_, std::move(listed));
}

}  // namespace dogged::cli
