// `dogged workers`: the workers that run, or ran.
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

constexpr std::int64_t most_workers = 1000;

const std::vector<Column> worker_columns{{.title = "ID", .align = Align::right},
                                         {.title = "NAME", .least = 24, .cut = Cut::middle},
                                         {.title = "HOST", .rank = 8, .least = 12, .cut = Cut::middle},
                                         {.title = "PID", .align = Align::right, .rank = 9},
                                         {.title = "STATE"},
                                         {.title = "LEASE", .rank = 1, .least = 15},
                                         {.title = "RUNNING", .align = Align::right},
                                         {.title = "QUEUES", .rank = 4, .least = 12, .enough = 24},
                                         {.title = "TASKS", .rank = 6, .least = 16, .enough = 32},
                                         {.title = "STARTED", .rank = 7},
                                         {.title = "LAST SEEN", .rank = 5},
                                         {.title = "FENCED", .align = Align::right, .rank = 2},
                                         {.title = "ABANDONED", .align = Align::right, .rank = 3},
                                         {.title = "VERSION", .rank = 10}};

/// {"default": 4} as default:4, which is how --queues says it.
std::string queues_text(std::string_view json) {
  const nlohmann::json queues = nlohmann::json::parse(json);
  std::string text;
  for (const auto& [queue, concurrency] : queues.items()) {
    (text += text.empty() ? "" : ",") += queue + ":" + concurrency.dump();
  }
  return text;
}

std::string names_text(std::string_view json) {
  std::string text;
  for (const auto& name : nlohmann::json::parse(json).get<std::vector<std::string>>()) {
    (text += text.empty() ? "" : ",") += name;
  }
  return text;
}

Color color_of(std::string_view state) {
  if (state == "live") return Color::green;
  if (state == "stopping" || state == "lapsed") return Color::yellow;
  return state == "lost" ? Color::magenta : Color::dim;
}

using WorkerRow = sql::ListWorkers::Row;

/// The time left of the lease, or the time since its lapse.
Cell lease_cell(const WorkerRow& worker, Time now, Zone zone) {
  if (worker.state == "stopped") return {""};
  if (worker.state != "lost") {
    const Time until = time_from_microseconds(worker.lease_until_us);
    const std::string moment = date_and_clock_text(until, zone);
    if (until > now) return {short_duration(until - now) + " left", Color::plain, "until " + moment};
    return {"over " + short_duration(now - until) + " ago", Color::plain, "over since " + moment};
  }
  const Time ended_at = time_from_microseconds(worker.lease_ended_at_us.value());
  const std::string what_follows = worker.rescued_at_us ? "" : ", tasks to be rescued";
  return {"ended " + short_duration(now - ended_at) + " ago" + what_follows, Color::plain,
          "ended " + date_and_clock_text(ended_at, zone) + what_follows};
}

std::string count_text(std::int64_t count) { return count == 0 ? "" : std::to_string(count); }

/// By how much its host's clock is off the server's.
std::string clock_text(const WorkerRow& worker) {
  const auto ahead = worker.clock_ahead_ms;
  if (!ahead) return "";
  const milliseconds off{*ahead < 0 ? -*ahead : *ahead};
  return readable(off) + (*ahead < 0 ? " behind" : " ahead of") + " the server's, give or take " +
         readable(milliseconds{worker.clock_uncertainty_ms.value()});
}

JsonObject members_of(const WorkerRow& worker) {
  JsonObject json;
  json.add("id", worker.id)
      .add("name", worker.name)
      .add("host", worker.host)
      .add("pid", worker.pid)
      .add("version", worker.version)
      .add("state", worker.state)
      .add_json("queues", worker.queues)
      .add_json("task_names", worker.task_names)
      .add("running_tasks", worker.running_tasks)
      .add("asleep", worker.asleep)
      .add("started_at", time_from_microseconds(worker.started_at_us))
      .add("heartbeat_at", time_from_microseconds(worker.heartbeat_at_us))
      .add("lease_ms", worker.lease_ms)
      .add("lease_until", time_from_microseconds(worker.lease_until_us))
      .add("lease_ended_at", time_from_microseconds(worker.lease_ended_at_us))
      .add("rescued_at", time_from_microseconds(worker.rescued_at_us))
      .add("fenced", worker.fenced)
      .add("abandoned_threads", worker.abandoned_threads)
      .add("clock_ahead_ms", worker.clock_ahead_ms)
      .add("clock_uncertainty_ms", worker.clock_uncertainty_ms)
      .add("stop_began_at", time_from_microseconds(worker.stop_began_at_us))
      .add("stopped_at", time_from_microseconds(worker.stopped_at_us));
  return json;
}

Record worker_record(const WorkerRow& worker, Zone zone) {
  const Time now = time_from_microseconds(worker.now_us);
  return {{{std::to_string(worker.id)},
           {worker.name},
           {worker.host},
           {std::to_string(worker.pid)},
           {worker.state, color_of(worker.state)},
           lease_cell(worker, now, zone),
           {std::to_string(worker.running_tasks)},
           {queues_text(worker.queues)},
           {names_text(worker.task_names)},
           time_cell(time_from_microseconds(worker.started_at_us), now, zone),
           time_cell(time_from_microseconds(worker.stopped_at_us.value_or(worker.heartbeat_at_us)), now, zone),
           {count_text(worker.fenced), Color::yellow},
           {count_text(worker.abandoned_threads), Color::yellow},
           {worker.version}},
          members_of(worker).text()};
}

ExitCode list(const Invocation& invocation, bool all) {
  db::Connection connection = invocation.connect();
  const sql::ListWorkers listed{.all = all, .word = {}, .most = most_workers};
  std::vector<Record> records;
  for (const WorkerRow& worker : connection.run(listed)) {
    records.push_back(worker_record(worker, invocation.style().zone));
  }
  invocation.print(
      worker_columns, records,
      all ? "no worker has ever started" : "no worker is running; --all lists those that stopped or were lost");
  return ExitCode::ok;
}

// --- one worker ------------------------------------------------------------------------------------------------------

constexpr milliseconds outcomes_window{std::chrono::minutes{5}};

const std::vector<Column> run_columns{{.title = "TASK", .align = Align::right},
                                      {.title = "NAME", .least = 32, .cut = Cut::middle},
                                      {.title = "QUEUE", .rank = 2, .least = 10},
                                      {.title = "ATTEMPT", .align = Align::right, .rank = 1},
                                      {.title = "RUNS FOR"},
                                      {.title = "CANCELLATION"}};

struct Work {
  std::vector<Record> tasks;
  std::vector<std::pair<std::string, std::int64_t>> outcomes;
};

Cell cancellation_cell(std::optional<Time> requested_at, Time now, Zone zone) {
  if (!requested_at) return {""};
  return {"requested " + relative(*requested_at, now), Color::yellow,
          "requested " + date_and_clock_text(*requested_at, zone)};
}

Record task_record_of(const sql::WorkerTasks::Row& task, Time now, Zone zone) {
  const Time claimed_at = time_from_microseconds(task.claimed_at_us);
  const auto cancel_requested_at = time_from_microseconds(task.cancel_requested_at_us);
  JsonObject json;
  json.add("id", task.id)
      .add("name", task.name)
      .add("queue", task.queue)
      .add("attempt", task.attempt)
      .add("claimed_at", claimed_at)
      .add("cancel_requested_at", cancel_requested_at);
  return {{{std::to_string(task.id)},
           {task.name},
           {task.queue},
           {std::to_string(task.attempt)},
           {short_duration(now - claimed_at), Color::plain, readable(now - claimed_at)},
           cancellation_cell(cancel_requested_at, now, zone)},
          json.text()};
}

Work work_of(db::Connection& connection, std::int64_t worker, Time now, Zone zone) {
  Work work;
  for (const auto& task : connection.run(sql::WorkerTasks{.worker_id = worker})) {
    work.tasks.push_back(task_record_of(task, now, zone));
  }
  const sql::WorkerOutcomes ended{.last_ms = outcomes_window.count(), .worker_id = worker};
  for (const auto& [outcome, attempts] : connection.run(ended)) work.outcomes.emplace_back(outcome, attempts);
  return work;
}

std::string json_of(const WorkerRow& worker, const Work& work) {
  std::vector<std::string> tasks;
  for (const Record& record : work.tasks) tasks.push_back(record.json);
  JsonObject outcomes;
  for (const auto& [outcome, attempts] : work.outcomes) outcomes.add(outcome, attempts);
  return members_of(worker)
      .add_json("tasks", json_array(tasks))
      .add("window_ms", std::int64_t{outcomes_window.count()})
      .add_json("outcomes", outcomes.text())
      .text();
}

std::string outcomes_text(const Work& work) {
  std::string text;
  for (const auto& [outcome, attempts] : work.outcomes) {
    (text += text.empty() ? "" : ", ") += std::to_string(attempts) + " " + outcome;
  }
  return text.empty() ? "none" : text;
}

std::string text_of(const WorkerRow& worker, const Work& work, const Style& style) {
  const Time now = time_from_microseconds(worker.now_us);
  const Time started_at = time_from_microseconds(worker.started_at_us);
  const auto stopped_at = time_from_microseconds(worker.stopped_at_us);
  const std::string head = "Worker " + std::to_string(worker.id) + "  " + harmless(worker.name, style.unicode);
  std::string text = style.paint(Color::bold, head) + "  " + style.paint(color_of(worker.state), worker.state) + "\n";
  const auto add = [&](const char* title, const std::string& value) {
    if (value.empty()) return;
    constexpr std::size_t indent = 13;
    std::string key = "  " + pad_right(title, indent - 2);
    const std::size_t width = std::max(style.width, narrowest_picture) - indent;
    for (const std::string& line : wrapped(harmless(value, style.unicode), width, style.unicode)) {
      text += key + line + "\n";
      key = std::string(indent, ' ');
    }
  };
  add("process", std::to_string(worker.pid) + " on " + worker.host);
  add("version", worker.version);
  add("started", date_and_clock_text(started_at, style.zone) + ", " + relative(started_at, now));
  const auto stop_began_at = time_from_microseconds(worker.stop_began_at_us);
  add("stopping", stop_began_at && !stopped_at ? "began " + relative(*stop_began_at, now) : "");
  add("stopped", stopped_at ? relative(*stopped_at, now) : "");
  add("heartbeat", stopped_at ? "" : relative(time_from_microseconds(worker.heartbeat_at_us), now));
  add("lease", lease_cell(worker, now, style.zone).text);
  add("queues", queues_text(worker.queues));
  add("tasks", names_text(worker.task_names));
  add("ended", outcomes_text(work) + " in the last " + readable(outcomes_window));
  add("fenced", count_text(worker.fenced));
  add("abandoned", count_text(worker.abandoned_threads));
  add("clock", clock_text(worker));
  add("running", std::to_string(work.tasks.size()));
  if (work.tasks.empty()) return text;
  std::vector<std::vector<Cell>> cells;
  for (const Record& record : work.tasks) cells.push_back(record.cells);
  return text + "\n" + render_table(run_columns, cells, style);
}

/// The worker with the id `word`, else the newest run of the one with that name.
const WorkerRow& chosen(const std::vector<WorkerRow>& workers, const std::string& word) {
  for (const WorkerRow& worker : workers) {
    if (std::to_string(worker.id) == word) return worker;
  }
  return workers.front();
}

ExitCode show(const Invocation& invocation, const std::string& word) {
  db::Connection connection = invocation.connect();
  const auto workers = connection.run(sql::ListWorkers{.all = true, .word = word, .most = most_workers});
  if (workers.empty()) throw not_there(connection, Noun::worker, word);
  const WorkerRow& worker = chosen(workers, word);
  const Work work = work_of(connection, worker.id, time_from_microseconds(worker.now_us), invocation.style().zone);
  invocation.print(text_of(worker, work, invocation.table_style()), json_of(worker, work));
  return ExitCode::ok;
}

}  // namespace

void add_workers(CLI::App& app, Invocation& invocation) {
  const auto all = std::make_shared<bool>(false);
  CLI::App* workers = app.add_subcommand("workers", "List workers, or show one");
  workers->require_subcommand(1);
  CLI::App* listed = add_command(
      *workers, invocation, "list", "List workers, the newest first",
      "  dogged workers\n"
      "  dogged workers --all -o json | jq '.[].task_names'\n"
      "\nStates:\n"
      "  live     it renews its lease with each heartbeat\n"
      "  stopping it claims no more; its running tasks may finish\n"
      "  lapsed   it did not renew its lease in time; any worker may end the lease now\n"
      "  lost     its lease was ended: what it reports changes nothing, and its tasks are rescued\n"
      "  stopped  it ended in order\n"
      "\nFENCED counts its reports that changed nothing, because it did not hold the task any more; ABANDONED its\n"
      "threads whose handler did not end when it was asked to.",
      [&invocation, all] { return list(invocation, *all); });
  listed->add_flag("--all", *all, "Also those that have stopped, or were lost more than an hour ago; the last 1000");
  const auto word = std::make_shared<std::string>();
  CLI::App* shown = add_command(*workers, invocation, "show", "Show one worker, and what it runs",
                                "  dogged workers show app-1\n"
                                "  dogged workers show 17 -o json | jq '.tasks[].id'",
                                [&invocation, word] { return show(invocation, *word); });
  shown->add_option("worker", *word, "Its id, or its name: then the newest run of that name")
      ->type_name("WORKER")
      ->required();
}

}  // namespace dogged::cli
