// `dogged tasks wait`: until tasks have ended, and how they ended.
#include <iostream>
#include <memory>

#include <unistd.h>

#include "cli/commands/commands.hpp"
#include "cli/commands/task_table.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/standing.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Status;

struct WaitOptions {
  std::vector<std::string> ids;
  std::string timeout;
};

/// Nothing where there is no such task.
using AwaitedTasks = std::map<std::int64_t, std::optional<Standing>>;

const std::vector<Column> wait_columns{{.title = "ID", .align = Align::right},
                                       {.title = "STATUS"},
                                       {.title = "NAME", .least = 16, .cut = Cut::middle},
                                       {.title = "ATTEMPTS", .align = Align::right, .rank = 4},
                                       {.title = "ENDED", .rank = 3},
                                       {.title = "RESULT", .rank = 1, .least = 16, .enough = 40},
                                       {.title = "ERROR", .least = 24},
                                       {.title = "MESSAGE", .rank = 2, .least = 20}};

Record missing_record(std::int64_t id) {
  Record record{{{std::to_string(id)}, {"not found", Color::red}}, ""};
  record.cells.resize(wait_columns.size());
  JsonObject json;
  json.add("id", id);
  for (const char* member :
       {"name", "status", "attempt", "worker", "finished_at", "result", "error_code", "error_message"}) {
    json.add_null(member);
  }
  record.json = json.text();
  return record;
}

Record record_of(std::int64_t id, const std::optional<Standing>& standing, Zone zone) {
  if (!standing) return missing_record(id);
  JsonObject json;
  json.add("id", id)
      .add("name", standing->name)
      .add("status", lifecycle::to_text(standing->status))
      .add("attempt", standing->attempt)
      .add("worker", standing->worker)
      .add("finished_at", standing->finished_at)
      .add_json("result", standing->result.value_or("null"))
      .add("error_code", standing->error_code)
      .add("error_message", standing->error_message);
  return {{{std::to_string(id)},
           {std::string{lifecycle::to_text(standing->status)}, color_of_status(standing->status)},
           {standing->name},
           {std::to_string(standing->attempt)},
           standing->has_ended() ? time_cell(*standing->finished_at, standing->now, zone) : Cell{""},
           {standing->result.value_or("")},
           {standing->error_code.value_or(""), Color::red},
           {standing->error_message.value_or("")}},
          json.text()};
}

void print(const Invocation& invocation, const AwaitedTasks& tasks) {
  std::vector<Record> records;
  for (const auto& [id, standing] : tasks) records.push_back(record_of(id, standing, invocation.style().zone));
  invocation.print(wait_columns, records, "no task was named");
}

TaskIds not_ended(const AwaitedTasks& tasks) {
  TaskIds ids;
  for (const auto& [id, standing] : tasks) {
    if (standing && !standing->has_ended()) ids.push_back(id);
  }
  return ids;
}

void update(AwaitedTasks& tasks, const TaskIds& ids, const Standings& standings) {
  for (const std::int64_t id : ids) {
    const auto standing = standings.find(id);
    tasks[id] = standing == standings.end() ? std::nullopt : std::optional{standing->second};
  }
}

void announce(const Invocation& invocation, std::size_t count) {
  if (count == 0 || invocation.format != Format::table || isatty(STDERR_FILENO) != 1) return;
  std::cerr << "waiting for " << counted(static_cast<std::int64_t>(count), "task")
            << " to end; Ctrl-C ends the waiting, not the task\n";
}

/// Throws unless every task has succeeded.
ExitCode conclude(const AwaitedTasks& tasks) {
  std::map<std::string, TaskIds> others;
  for (const auto& [id, standing] : tasks) {
    if (!standing) {
      others["no such task"].push_back(id);
    } else if (standing->status != Status::succeeded) {
      others[(standing->has_ended() ? "" : "still ") + std::string{lifecycle::to_text(standing->status)}].push_back(id);
    }
  }
  if (others.empty()) return ExitCode::ok;
  std::string message;
  for (const auto& [what, ids] : others) (message += message.empty() ? "" : "; ") += listed(ids) + " (" + what + ")";
  const std::string hint = "`dogged tasks show " + std::to_string(others.begin()->second.front()) + "` tells its story";
  if (was_interrupted() && !not_ended(tasks).empty()) {
    throw Failure(ExitCode::interrupted, "interrupted while waiting; not succeeded: " + message, hint);
  }
  throw Failure(ExitCode::not_done, "not succeeded: " + message, hint);
}

ExitCode wait(const Invocation& invocation, const WaitOptions& options) {
  const auto longest =
      options.timeout.empty() ? std::nullopt : std::optional<milliseconds>{duration_from_text(options.timeout)};
  const TaskIds ids = task_ids_of(options.ids, "tasks wait", "nothing was waited for");
  db::Connection connection = invocation.connect();
  AwaitedTasks tasks;
  update(tasks, ids, look_at(connection, ids));
  announce(invocation, not_ended(tasks).size());
  wait_for_end(connection, not_ended(tasks), longest,
               [&tasks](const TaskIds& ended, const Standings& standings) { update(tasks, ended, standings); });
  // Where those stand that have not ended.
  const TaskIds rest = not_ended(tasks);
  if (!rest.empty()) update(tasks, rest, look_at(connection, rest));
  print(invocation, tasks);
  return conclude(tasks);
}

}  // namespace

void add_tasks_wait(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<WaitOptions>();
  CLI::App* command = add_command(tasks, invocation, "wait", "Wait until tasks have ended, and say how",
                                  "  dogged tasks wait 42 43 --timeout 30s\n"
                                  "  id=$(dogged enqueue report.build -o json | jq .id)\n"
                                  "  dogged tasks wait $id -o json | jq '.[0].result'\n"
                                  "\nThe exit code is 0 if every task has succeeded; 1 if one ended otherwise, is not "
                                  "there, or has not ended\n"
                                  "when the time is over; 130 after Ctrl-C.",
                                  [&invocation, options] { return wait(invocation, *options); });
  command->add_option("id", options->ids, "Ids of tasks; - reads them from stdin, one a line")
      ->type_name("ID")
      ->required()
      ->check(is_task_id_or_stdin());
  command->add_option("--timeout", options->timeout, "For so long at most; as long as it takes unless said")
      ->type_name("DURATION")
      ->check(is_duration());
}

}  // namespace dogged::cli
