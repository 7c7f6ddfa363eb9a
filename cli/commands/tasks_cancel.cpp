// `dogged tasks cancel`: cancels tasks, and on request waits for running ones.
#include <iostream>
#include <map>
#include <memory>

#include <unistd.h>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/standing.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/claim.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Status;

struct CancelOptions {
  std::vector<std::string> ids;
  std::string wait;  ///< `true` where no time is given; empty: not at all
};

struct Cancellation {
  std::string result;                ///< of dogged.cancel
  std::optional<Standing> standing;  ///< nothing where there is no such task

  [[nodiscard]] bool is_awaited() const { return result == "requested" && standing && !standing->has_ended(); }
};

using Cancellations = std::map<std::int64_t, Cancellation>;

// --- which -----------------------------------------------------------------------------------------------------------

CLI::Validator is_id_to_cancel() {
  return CLI::Validator{[](std::string& text) {
                          std::string mistake = is_task_id_or_stdin()(text);
                          if (!mistake.empty() && is_duration()(text).empty()) {
                            mistake += "; how long to wait is written --wait=" + text;
                          }
                          return mistake;
                        },
                        ""};
}

// --- asking ----------------------------------------------------------------------------------------------------------

Cancellations cancel_all(db::Connection& connection, const TaskIds& ids) {
  Cancellations tasks;
  for (auto& [id, result] : run_audited(connection, sql::CancelTasks{.ids = ids})) tasks[id].result = std::move(result);
  for (auto& [id, standing] : look_at(connection, ids)) tasks[id].standing = standing;
  return tasks;
}

TaskIds awaited(const Cancellations& tasks) {
  TaskIds ids;
  for (const auto& [id, task] : tasks) {
    if (task.is_awaited()) ids.push_back(id);
  }
  return ids;
}

/// Waits until the running tasks have ended, the time is over, or Ctrl-C.
void wait_for_those_running(db::Connection& connection, Cancellations& tasks, std::optional<milliseconds> longest) {
  wait_for_end(connection, awaited(tasks), longest, [&tasks](const TaskIds& ended, const Standings& standings) {
    for (const std::int64_t id : ended) {
      const auto standing = standings.find(id);
      tasks[id].standing = standing == standings.end() ? std::nullopt : std::optional{standing->second};
    }
  });
}

// --- telling ---------------------------------------------------------------------------------------------------------

const std::vector<Column> cancel_columns{{.title = "ID", .align = Align::right},
                                         {.title = "RESULT"},
                                         {.title = "NAME", .least = 32, .cut = Cut::middle},
                                         {.title = "STATUS"},
                                         {.title = "WORKER", .rank = 2, .least = 12, .cut = Cut::middle},
                                         {.title = "ENDED", .rank = 1}};

Color color_of(const Cancellation& task) {
  if (task.result == "cancelled") return Color::green;
  if (task.result == "requested") return Color::blue;
  return task.result == "ended" ? Color::yellow : Color::red;
}

Record record_of(std::int64_t id, const Cancellation& task, Zone zone) {
  JsonObject json;
  json.add("id", id).add("result", task.result);
  Record record{{{std::to_string(id)}, {task.result, color_of(task)}}, ""};
  if (const auto& standing = task.standing) {
    json.add("name", standing->name)
        .add("status", lifecycle::to_text(standing->status))
        .add("worker", standing->worker)
        .add("finished_at", standing->finished_at);
    record.cells.insert(record.cells.end(),
                        {{standing->name},
                         {std::string{lifecycle::to_text(standing->status)}},
                         {standing->worker.value_or("")},
                         standing->has_ended() ? time_cell(*standing->finished_at, standing->now, zone) : Cell{""}});
  } else {
    json.add_null("name").add_null("status").add_null("worker").add_null("finished_at");
    record.cells.resize(cancel_columns.size());
  }
  record.json = json.text();
  return record;
}

void print(const Invocation& invocation, const Cancellations& tasks) {
  std::vector<Record> records;
  for (const auto& [id, task] : tasks) records.push_back(record_of(id, task, invocation.style().zone));
  invocation.print(cancel_columns, records, "no task was named; nothing was cancelled");
}

/// Why the task is not cancelled. Empty if it is cancelled, or will be as far as anyone knows.
std::string why_not_cancelled(const Cancellation& task, bool has_waited) {
  if (task.result == "not_found") return "no such task";
  if (task.result == "ended") return "ended before";
  if (task.is_awaited()) return has_waited ? "still running" : "";
  if (task.standing && task.standing->status == Status::succeeded) return "succeeded all the same";
  return "";
}

std::string cancel_hint(const std::string& why, std::int64_t id) {
  if (why == "no such task") return no_such_task_hint;
  if (why != "still running") return "`dogged tasks show " + std::to_string(id) + "` tells how it ended";
  return "a handler stops where it looks at its stop token, or is given up after its worker's --stop-grace; `dogged "
         "tasks cancel " +
         std::to_string(id) + " --wait` goes on waiting";
}

/// Throws unless every task is cancelled, or has been asked to stop if that is all that was wanted.
ExitCode conclude(const Cancellations& tasks, bool has_waited) {
  std::map<std::string, TaskIds> by_reason;
  for (const auto& [id, task] : tasks) {
    if (const std::string why = why_not_cancelled(task, has_waited); !why.empty()) by_reason[why].push_back(id);
  }
  if (by_reason.empty()) return ExitCode::ok;
  std::string message = "not cancelled: ";
  for (const auto& [why, ids] : by_reason) {
    (message += message.ends_with(": ") ? "" : "; ") += listed(ids) + " (" + why + ")";
  }
  const bool is_interrupted = was_interrupted() && by_reason.contains("still running");
  const auto& [why, ids] = is_interrupted ? *by_reason.find("still running") : *by_reason.begin();
  if (is_interrupted)
    throw Failure(ExitCode::interrupted, "interrupted while waiting; " + message, cancel_hint(why, ids[0]));
  throw Failure(ExitCode::not_done, message, cancel_hint(why, ids[0]));
}

void announce_wait(const Invocation& invocation, const Cancellations& tasks) {
  const std::size_t count = awaited(tasks).size();
  if (count == 0 || invocation.format != Format::table || isatty(STDERR_FILENO) != 1) return;
  std::cerr << "waiting for " << counted(static_cast<std::int64_t>(count), "task")
            << " to stop; Ctrl-C ends the waiting, not the cancelling\n";
}

ExitCode cancel(const Invocation& invocation, const CancelOptions& options) {
  const bool waits = !options.wait.empty();
  const auto longest = waits && options.wait != "true" ? std::optional{duration_of(options.wait)} : std::nullopt;
  const TaskIds ids = task_ids_of(options.ids, "tasks cancel", "nothing was cancelled");
  db::Connection connection = invocation.connect();
  Cancellations tasks = cancel_all(connection, ids);
  if (waits) {
    announce_wait(invocation, tasks);
    try {
      wait_for_those_running(connection, tasks, longest);
    } catch (const Error&) {  // cancelled tasks stay cancelled
      print(invocation, tasks);
      throw;
    }
  }
  print(invocation, tasks);
  return conclude(tasks, waits);
}

}  // namespace

void add_tasks_cancel(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App* command = add_command(
      tasks, invocation, "cancel", "Cancel tasks that are pending or running",
      "  dogged tasks cancel 42 43\n"
      "  dogged tasks cancel 42 --wait=30s\n"
      "  dogged tasks list --status pending --name report.build --limit 100000 -o ndjson |\n"
      "    jq .id | dogged tasks cancel -\n"
      "\nResults:\n"
      "  cancelled  it was pending, also for a retry: it ends at once, and never runs\n"
      "  requested  it runs: its worker sets the handler's stop token (ctx.stop_token()). If the handler returns all\n"
      "             the same, the task has succeeded: success wins. If it throws, loses its worker, or still runs "
      "when\n"
      "             the worker's --stop-grace is over, the task is cancelled and not tried again.\n"
      "  ended      it had ended before; nothing has changed\n"
      "  not_found  there is no such task, or no longer\n"
      "\nAll in one transaction: an error means that nothing was cancelled. Asking twice is harmless. The exit code is "
      "1\n"
      "if a task was not found or had ended, and with --wait also if one succeeded all the same or still runs.",
      [&invocation, options] { return cancel(invocation, *options); });
  command->add_option("id", options->ids, "Ids of tasks; - reads them from stdin, one a line")
      ->type_name("ID")
      ->required()
      ->check(is_id_to_cancel());
  command
      ->add_flag("--wait", options->wait,
                 "Wait until those that run have ended, and say how; --wait=30s: at most so long")
      ->check([](const std::string& given) {
        std::string text = given;
        return text == "true" ? std::string{} : is_duration()(text);
      });
}

}  // namespace dogged::cli
