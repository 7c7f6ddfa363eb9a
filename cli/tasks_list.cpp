// `dogged tasks list`: tasks, the newest first.
#include <iostream>
#include <memory>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/task_rows.hpp"
#include "sql_statements.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Status;

struct ListOptions {
  std::string status, queue, name, error_code;
  std::int64_t limit = 50;
  std::int64_t after = 0;
};

const std::vector<Column> columns{
    {"ID", Align::right},       {"STATUS"}, {"NAME", Align::left, true},  {"QUEUE", Align::left, true},
    {"ATTEMPTS", Align::right}, {"WHEN"},   {"ERROR", Align::left, true}, {"ENQUEUED"}};

Color color_of(Status status) {
  switch (status) {
    case Status::succeeded:
      return Color::green;
    case Status::failed:
    case Status::discarded:
      return Color::red;
    case Status::running:
      return Color::blue;
    case Status::pending:
      return Color::cyan;
    case Status::cancelled:
    case Status::expired:
      return Color::yellow;
  }
  return Color::plain;
}

/// The time that matters of a task in its status.
std::string when(const TaskView& task) {
  if (task.status == Status::pending) {
    return (task.next_retry_at ? "retry " : "due ") + relative(task.due_at(), task.now);
  }
  if (task.status == Status::running) {
    return "since " + readable(task.now - task.claimed_at.value_or(task.now)) +
           (task.cancel_requested_at ? ", to be cancelled" : "");
  }
  return task.finished_at ? relative(*task.finished_at, task.now) : "";
}

Record record_of(const TaskView& task, Zone zone) {
  const bool shows_error = task.status != Status::succeeded && task.error_code;
  return {{{std::to_string(task.id)},
           {std::string{lifecycle::to_text(task.status)}, color_of(task.status)},
           {task.name},
           {task.queue},
           {std::to_string(task.attempt)},
           {when(task)},
           {shows_error ? *task.error_code : "", Color::red},
           {date_and_clock_text(task.enqueued_at, zone)}},
          to_json(task)};
}

ExitCode list(const Invocation& invocation, const ListOptions& options) {
  db::Connection connection = invocation.connect();
  const db::Rows rows = connection.run(sql::list_tasks, db::Params{}
                                                            .add(given(options.status))
                                                            .add(given(options.queue))
                                                            .add(given(options.name))
                                                            .add(given(options.error_code))
                                                            .add(given(options.after))
                                                            .add(options.limit));
  std::vector<Record> records;
  std::int64_t last = 0;
  for (const db::Row& row : rows) {
    const TaskView task = task_of(row);
    records.push_back(record_of(task, invocation.style().zone));
    last = task.id;
  }
  invocation.print(columns, records, "no such tasks");
  if (invocation.format == Format::table && std::ssize(records) == options.limit) {
    std::cout.flush();
    std::cerr << "there may be more: --after " << last << " continues\n";
  }
  return ExitCode::ok;
}

}  // namespace

void add_tasks_list(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = add_command(tasks, invocation, "list", "List tasks, the newest first",
                                  "  dogged tasks list --status failed --error-code HTTP_503\n"
                                  "  dogged tasks list --queue webhooks --limit 20 --after 4711   the next page\n"
                                  "  dogged tasks list --status pending -o ndjson | jq .args",
                                  [&invocation, options] { return list(invocation, *options); });
  command
      ->add_option("--status", options->status, "pending, running, succeeded, failed, discarded, cancelled or expired")
      ->type_name("STATUS")
      ->check(is_status());
  command->add_option("--queue", options->queue, "Of this queue")->type_name("NAME");
  command->add_option("--name", options->name, "With this task name")->type_name("NAME");
  command->add_option("--error-code", options->error_code, "That failed last with this code")->type_name("CODE");
  command->add_option("--limit", options->limit, "How many; 50 unless said")->type_name("N")->check(is_limit());
  command->add_option("--after", options->after, "Those that were enqueued before this task")
      ->type_name("ID")
      ->check(is_task_id());
}

}  // namespace dogged::cli
