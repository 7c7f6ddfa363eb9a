// `dogged tasks show`: the timeline of tasks.
#include <iostream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/io/task_history.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/task_ids.hpp"
#include "cli/render/lineage.hpp"
#include "cli/render/timeline.hpp"
#include "db/connection.hpp"

namespace dogged::cli {
namespace {

/// One task is one object; several are an array, or a line each.
void print_json(const Invocation& invocation, const std::vector<TaskHistory>& histories, bool one_was_asked_for) {
  std::vector<Record> records;
  for (const TaskHistory& history : histories) records.push_back({{}, to_json(history)});
  if (!one_was_asked_for) {
    invocation.print({}, records, "");
  } else if (!records.empty()) {
    invocation.print("", records.front().json);
  }
}

void print_timelines(const Invocation& invocation, const std::vector<TaskHistory>& histories) {
  const Style style = invocation.drawing_style();
  for (const TaskHistory& history : histories) {
    if (&history != &histories.front()) std::cout << "\n";
    std::cout << render_timeline(history, style) << render_lineage(history, style);
  }
}

ExitCode show_tasks(const Invocation& invocation, const std::vector<std::string>& words) {
  const TaskIds ids = task_ids_of(words, "tasks show", "nothing was looked up");
  db::Connection connection = invocation.connect();
  std::vector<TaskHistory> histories;
  TaskIds missing;
  for (std::int64_t id : ids) {
    if (auto history = read_history(connection, id)) {
      histories.push_back(*std::move(history));
    } else {
      missing.push_back(id);
    }
  }
  if (invocation.format == Format::table) {
    print_timelines(invocation, histories);
  } else {
    print_json(invocation, histories, ids.size() == 1);
  }
  if (!missing.empty()) {
    throw Failure(ExitCode::not_done,
                  (missing.size() == 1 ? "there is no task " : "there are no tasks ") + listed(missing),
                  no_such_task_hint);
  }
  return ExitCode::ok;
}

}  // namespace

void add_tasks_show(CLI::App& tasks, Invocation& invocation) {
  const auto words = std::make_shared<std::vector<std::string>>();
  add_command(tasks, invocation, "show",
              "Draw the timeline of tasks: attempts, waits, errors, what comes next, and the tasks above and below",
              "  dogged tasks show 42\n"
              "  dogged tasks show 42 -o wide        args, messages and details in full\n"
              "  watch -n1 -c dogged tasks show 42 --color always\n"
              "  dogged tasks show 42 -o json | jq '.attempts[].error_code'",
              [&invocation, words] { return show_tasks(invocation, *words); })
      ->add_option("id", *words, "Ids of tasks; - reads them from stdin, one a line")
      ->type_name("ID")
      ->required()
      ->check(is_task_id_or_stdin());
}

}  // namespace dogged::cli
