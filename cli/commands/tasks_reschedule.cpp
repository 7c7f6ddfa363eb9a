// `dogged tasks retry` and `dogged tasks reschedule`: other times for tasks that wait.
#include <memory>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/io/standing.hpp"
#include "cli/options/time_option.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Status;

struct RescheduleOptions {
  std::vector<std::string> ids;
  DueTime due;
};

struct Rescheduled {
  std::string result;  ///< of dogged.reschedule
  std::optional<Standing> standing;
};

using RescheduledTasks = std::map<std::int64_t, Rescheduled>;

const std::vector<Column> reschedule_columns{{.title = "ID", .align = Align::right},
                                             {.title = "RESULT"},
                                             {.title = "NAME", .least = 32, .cut = Cut::middle},
                                             {.title = "STATUS", .rank = 1},
                                             {.title = "DUE"}};

Color color_of(const Rescheduled& task) {
  if (task.result == "rescheduled") return Color::green;
  return task.result == "not_found" ? Color::red : Color::yellow;
}

/// Nothing of a task that does not wait.
Cell due_cell(const Standing& standing, Zone zone) {
  if (!standing.due_at) return {""};
  Cell cell = time_cell(*standing.due_at, standing.now, zone);
  if (*standing.due_at <= standing.now) cell.text = "now";
  return cell;
}

Record record_of(std::int64_t id, const Rescheduled& task, Zone zone) {
  JsonObject json;
  json.add("id", id).add("result", task.result);
  Record record{{{std::to_string(id)}, {task.result, color_of(task)}}, ""};
  if (const auto& standing = task.standing) {
    json.add("name", standing->name)
        .add("status", lifecycle::to_text(standing->status))
        .add("due_at", standing->due_at)
        .add("finished_at", standing->finished_at);
    record.cells.insert(
        record.cells.end(),
        {{standing->name}, {std::string{lifecycle::to_text(standing->status)}}, due_cell(*standing, zone)});
  } else {
    json.add_null("name").add_null("status").add_null("due_at").add_null("finished_at");
    record.cells.resize(reschedule_columns.size());
  }
  record.json = json.text();
  return record;
}

std::string why_not(const Rescheduled& task) {
  if (task.result == "rescheduled") return "";
  if (task.result == "not_found") return "no such task";
  if (task.result == "running") return "it runs already";
  return task.standing && task.standing->status == Status::failed ? "a dead letter" : "ended before";
}

std::string reschedule_hint(const std::string& why, std::int64_t id) {
  const std::string number = std::to_string(id);
  if (why == "a dead letter") return "`dogged dead replay " + number + "` lets a dead letter run again";
  if (why == "it runs already") return "`dogged tasks wait " + number + "` waits for its end";
  if (why == "ended before") return "`dogged tasks show " + number + "` tells how it ended; enqueue it anew";
  return no_such_task_hint;
}

/// Throws unless every task has its time.
ExitCode conclude(const RescheduledTasks& tasks) {
  std::map<std::string, TaskIds> others;
  for (const auto& [id, task] : tasks) {
    if (const std::string why = why_not(task); !why.empty()) others[why].push_back(id);
  }
  if (others.empty()) return ExitCode::ok;
  std::string message = "not rescheduled: ";
  for (const auto& [why, ids] : others) {
    (message += message.ends_with(": ") ? "" : "; ") += listed(ids) + " (" + why + ")";
  }
  const auto& [why, ids] = *others.begin();
  throw Failure(ExitCode::not_done, message, reschedule_hint(why, ids.front()));
}

ExitCode reschedule(const Invocation& invocation, const std::string& command, const TaskIds& ids,
                    const std::function<std::optional<Time>(db::Connection&)>& time) {
  db::Connection connection = invocation.connect();
  const auto parameter = as_parameter(time(connection));
  RescheduledTasks tasks;
  for (auto& [id, result] : run_audited(connection, sql::RescheduleTasks{.at = parameter, .ids = ids})) {
    tasks[id].result = std::move(result);
  }
  for (auto& [id, standing] : look_at(connection, ids)) tasks[id].standing = standing;
  std::vector<Record> records;
  for (const auto& [id, task] : tasks) records.push_back(record_of(id, task, invocation.style().zone));
  invocation.print(reschedule_columns, records, "no task was named to " + command);
  return conclude(tasks);
}

ExitCode reschedule(const Invocation& invocation, const RescheduleOptions& options) {
  if (!options.due.is_given()) {
    throw Failure(ExitCode::wrong_input, "give the new time by --at TIME or by --in DURATION",
                  "`dogged tasks retry` lets tasks run now");
  }
  const TaskIds ids = task_ids_of(options.ids, "tasks reschedule", "nothing was rescheduled");
  return reschedule(invocation, "reschedule", ids, [&](db::Connection& connection) {
    return time_of(connection, options.due, invocation.style().zone);
  });
}

void add_ids(CLI::App& command, std::vector<std::string>& ids) {
  command.add_option("id", ids, "Ids of tasks; - reads them from stdin, one a line")
      ->type_name("ID")
      ->required()
      ->check(is_task_id_or_stdin());
}

}  // namespace

void add_tasks_retry(CLI::App& tasks, Invocation& invocation) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = add_command(
      tasks, invocation, "retry", "Let tasks run now that wait for a retry or for their time",
      "  dogged tasks retry 42 43\n"
      "  dogged tasks list --status pending --error-code HTTP_503 --limit 1000 -o ndjson | jq .id | dogged tasks retry "
      "-\n"
      "\nIt spends no retry, and the retries after it are as they would have been. All in one transaction. A task "
      "that\n"
      "runs, or has ended, is left as it is, and the exit code is 1; a dead letter runs again by `dogged dead replay`.",
      [&invocation, words] {
        const TaskIds ids = task_ids_of(*words, "tasks retry", "nothing was rescheduled");
        return reschedule(invocation, "retry", ids, [](db::Connection&) { return std::nullopt; });
      });
  add_ids(*command, *words);
}

void add_tasks_reschedule(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<RescheduleOptions>();
  CLI::App* command =
      add_command(tasks, invocation, "reschedule", "Give tasks that wait another time",
                  "  dogged tasks reschedule 42 --in 10m\n"
                  "  dogged tasks reschedule 42 43 --at 2026-11-24T14:00\n"
                  "\nPending tasks alone, those that wait for a retry among them; see `dogged tasks retry` for now.",
                  [&invocation, options] { return reschedule(invocation, *options); });
  add_ids(*command, options->ids);
  add_due_options(*command, options->due, "Not before");
}

}  // namespace dogged::cli
