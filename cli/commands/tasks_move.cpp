// `dogged tasks move`: tasks that wait in a queue go to another one.
#include <algorithm>
#include <memory>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/standing.hpp"
#include "cli/options/existing.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/progress_bar.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/counted.hpp"

namespace dogged::cli {
namespace {

// A transaction for each: its locks keep no other session waiting for long, and Ctrl-C is heard soon.
constexpr int move_batch = 5'000;

struct MoveOptions {
  std::vector<std::string> ids;
  std::string from, to, name;
  bool dry_run = false;
};

struct Moved {
  std::string result;  ///< of dogged.move_tasks
  std::optional<Standing> standing;
};

const std::vector<Column> move_columns{{.title = "ID", .align = Align::right},
                                       {.title = "RESULT"},
                                       {.title = "NAME", .least = 32, .cut = Cut::middle},
                                       {.title = "STATUS"}};

Record move_record(std::int64_t id, const Moved& task) {
  const Color color = task.result == "moved" ? Color::green : task.result == "not_found" ? Color::red : Color::yellow;
  const std::string status = task.standing ? std::string{lifecycle::to_text(task.standing->status)} : "";
  JsonObject json;
  json.add("id", id).add("result", task.result);
  if (task.standing) {
    json.add("name", task.standing->name).add("status", status);
  } else {
    json.add_null("name").add_null("status");
  }
  return {{{std::to_string(id)}, {task.result, color}, {task.standing ? task.standing->name : ""}, {status}},
          json.text()};
}

std::string why_not_moved(const std::string& result) {
  if (result == "running") return "it runs: its retries stay in its queue";
  return result == "ended" ? "ended before" : "no such task";
}

ExitCode move_ids(const Invocation& invocation, const MoveOptions& options) {
  const TaskIds ids = task_ids_of(options.ids, "tasks move", "nothing was moved");
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {options.to});
  std::map<std::int64_t, Moved> tasks;
  for (auto& [id, result] : run_audited(connection, sql::MoveTasks{.ids = ids, .to_queue = options.to})) {
    tasks[id].result = std::move(result);
  }
  for (auto& [id, standing] : look_at(connection, ids)) tasks[id].standing = standing;
  std::vector<Record> records;
  std::map<std::string, TaskIds> others;
  for (const auto& [id, task] : tasks) {
    records.push_back(move_record(id, task));
    if (task.result != "moved" && task.result != "there") others[why_not_moved(task.result)].push_back(id);
  }
  invocation.print(move_columns, records, "no task was named to move");
  if (others.empty()) return ExitCode::ok;
  std::string message;
  for (const auto& [why, of_them] : others)
    message += (message.empty() ? "" : "; ") + listed(of_them) + " (" + why + ")";
  throw Failure(ExitCode::not_done, "not moved: " + message, "`dogged tasks show ID` tells how a task stands");
}

void print_moved(const Invocation& invocation, const MoveOptions& options, const std::string& verb,
                 std::int64_t tasks) {
  invocation.print(verb + " " + counted(tasks, "task") + (options.name.empty() ? "" : " of " + options.name) +
                       " from " + options.from + " to " + options.to + "\n",
                   JsonObject{}.add("from", options.from).add("to", options.to).add("moved", tasks).text());
}

ExitCode move_all(const Invocation& invocation, const MoveOptions& options) {
  const std::optional<std::string> name = options.name.empty() ? std::nullopt : std::optional{options.name};
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {options.from, options.to});
  const auto [total] = db::one(connection.run(sql::CountMovable{.queue = options.from, .name = name}));
  // Tasks may wait under a name that no worker has declared yet. A name without waiting tasks may be misspelt.
  if (total == 0 && name) require_existing(connection, Noun::task, {*name});
  if (options.dry_run) {
    print_moved(invocation, options, "would move", total);
    return ExitCode::ok;
  }
  stop_on_interrupt();
  std::int64_t moved = 0;
  {
    ProgressBar bar{"moved", static_cast<std::size_t>(total), invocation.shows_progress(), invocation.style()};
    for (std::int64_t batch = 1; batch > 0 && !was_interrupted(); moved += batch) {
      const sql::MoveQueue move{.from_queue = options.from, .to_queue = options.to, .name = name, .most = move_batch};
      batch = db::one(run_audited(connection, move)).moved;
      bar.show(static_cast<std::size_t>(moved + batch));
    }
  }
  print_moved(invocation, options, "moved", moved);
  if (!was_interrupted()) return ExitCode::ok;
  throw Failure(ExitCode::interrupted, "interrupted", "run it again: what was moved stays where it is");
}

ExitCode move(const Invocation& invocation, const MoveOptions& options) {
  if (options.ids.empty() == options.from.empty()) {
    throw Failure(ExitCode::wrong_input, "give the ids of tasks, or --queue to move all that wait in a queue",
                  "dogged tasks move --help");
  }
  if (options.from.empty()) return move_ids(invocation, options);
  return move_all(invocation, options);
}

}  // namespace

void add_tasks_move(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<MoveOptions>();
  CLI::App* command = add_command(
      tasks, invocation, "move", "Move tasks that wait, and dead letters, to another queue",
      "  dogged tasks move 42 43 --to payments\n"
      "  dogged tasks move --queue default --name card.charge --to payments\n"
      "  dogged tasks move --queue emails --to mail --dry-run\n"
      "\nPending tasks, those that wait for a retry among them, and dead letters. What runs stays, and its retries "
      "do.\n"
      "--queue moves in batches of 5,000, each a transaction; Ctrl-C ends it between two of them. Each task is noted\n"
      "in dogged.audit. The exit code is 1 if one of the ids was not moved.",
      [&invocation, options] { return move(invocation, *options); });
  CLI::Option* ids =
      command->add_option("id", options->ids, "Ids of tasks; - reads them from stdin, one a line")->type_name("ID");
  ids->check(is_task_id_or_stdin());
  command->add_option("--to", options->to, "The queue to move them to")->type_name("QUEUE")->required();
  CLI::Option* from = command->add_option("--queue", options->from, "All that wait in this queue")
                          ->type_name("QUEUE")
                          ->check(is_not_empty())
                          ->excludes(ids);
  command->add_option("--name", options->name, "Of those, tasks of this name alone")
      ->type_name("NAME")
      ->check(is_not_empty())
      ->needs(from);
  command->add_flag("--dry-run", options->dry_run, "Change nothing; count what would be moved")->needs(from);
}

}  // namespace dogged::cli
