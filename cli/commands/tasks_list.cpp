// `dogged tasks list`: tasks, the newest first.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/task_table.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/more.hpp"
#include "cli/options/task_filter.hpp"
#include "db/connection.hpp"

namespace dogged::cli {
namespace {

struct TaskListOptions {
  TaskFilter filter;
  std::int64_t limit = 50;
  std::int64_t after = 0;
};

void say_what_was_left_out(const Invocation& invocation, const TaskPage& page, std::int64_t limit) {
  if (page.looked_down_to) {
    say_there_may_be_more(invocation,
                          "only the newest " + std::to_string(most_looked_through) +
                              " tasks were looked through: --after " + std::to_string(*page.looked_down_to) +
                              " continues; --enqueued-after or --finished-after sets another bound, and --all none",
                          std::to_string(*page.looked_down_to));
  } else if (std::ssize(page.tasks) == limit) {
    const std::string after = std::to_string(page.tasks.back().id);
    say_there_may_be_more(invocation, "there may be more: --after " + after + " continues", after);
  }
}

ExitCode list(const Invocation& invocation, const TaskListOptions& options) {
  db::Connection connection = invocation.connect();
  const TaskPage page =
      TaskSearch{connection, options.filter, invocation.style().zone}.page(options.limit, given(options.after));
  require_existing(connection, options.filter, page);
  std::vector<Record> records;
  for (const TaskView& task : page.tasks) records.push_back(record_of(task, invocation.style().zone));
  invocation.print(task_columns, records, "no such tasks");
  say_what_was_left_out(invocation, page, options.limit);
  return ExitCode::ok;
}

}  // namespace

void add_tasks_list(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<TaskListOptions>();
  CLI::App* command = add_command(
      tasks, invocation, "list", "List tasks, the newest first",
      "  dogged tasks list --status failed --error-code HTTP_503 --finished-after 2h\n"
      "  dogged tasks list --queue webhooks --limit 20 --after 4711   the next page\n"
      "  dogged tasks list --name 'webhook.*' --args '{\"customer\": 42}' --enqueued-after 1d\n"
      "  dogged tasks list --status pending,running -o ndjson | jq .args\n"
      "\nA filter that is neither a time after which, nor a range of ids, nor for pending and running tasks "
      "alone looks\n"
      "through the newest 50000 tasks, and says so where there are more. Times are the database's; 2h is two "
      "hours ago.",
      [&invocation, options] { return list(invocation, *options); });
  add_filter_options(*command, options->filter);
  command->add_option("--limit", options->limit, "How many; 50 unless said")->type_name("N")->check(is_limit());
  command->add_option("--after", options->after, "Those with lower ids: the next page")
      ->type_name("ID")
      ->check(is_task_id());
}

}  // namespace dogged::cli
