// `dogged workers`: the workers that run, or ran.
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "retry/message.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

constexpr std::int64_t most_workers = 1000;

const std::vector<Column> worker_columns{{.title = "ID", .align = Align::right},
                                         {.title = "NAME", .least = 24, .cut = Cut::middle},
                                         {.title = "HOST", .rank = 8, .least = 12, .cut = Cut::middle},
                                         {.title = "PID", .align = Align::right, .rank = 9},
                                         {.title = "STATE"},
                                         {.title = "LEASE", .rank = 1},
                                         {.title = "RUNNING", .align = Align::right},
                                         {.title = "QUEUES", .rank = 5, .least = 16},
                                         {.title = "TASKS", .rank = 6, .least = 16},
                                         {.title = "STARTED", .rank = 7},
                                         {.title = "LAST SEEN", .rank = 4},
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
  if (state == "lapsed") return Color::yellow;
  return state == "lost" ? Color::magenta : Color::dim;
}

/// What is left of it, or since when there is nothing left.
std::string lease_text(const db::Row& row, Time now) {
  if (row.text("state") == "stopped") return "";
  if (row.text("state") != "lost") {
    const Time until = time_of(row, "lease_until_us");
    return until > now ? short_duration(until - now) + " left" : "over " + short_duration(now - until) + " ago";
  }
  const std::string ended = "ended " + short_duration(now - time_of(row, "lease_ended_at_us")) + " ago";
  return ended + (row.is_null("rescued_at_us") ? ", tasks to be rescued" : "");
}

std::string count_text(const db::Row& row, const char* column) {
  return row.number(column) == 0 ? "" : std::to_string(row.number(column));
}

/// By how much its host's clock is off the server's.
std::string clock_text(const db::Row& row) {
  const auto ahead = row.maybe_number("clock_ahead_ms");
  if (!ahead) return "";
  const milliseconds off{*ahead < 0 ? -*ahead : *ahead};
  return readable(off) + (*ahead < 0 ? " behind" : " ahead of") + " the server's, give or take " +
         readable(milliseconds{row.number("clock_uncertainty_ms")});
}

JsonObject members_of(const db::Row& row) {
  JsonObject json;
  json.add("id", row.number("id"))
      .add("name", row.text("name"))
      .add("host", row.text("host"))
      .add("pid", row.number("pid"))
      .add("version", row.text("version"))
      .add("state", row.text("state"))
      .add_json("queues", row.text("queues"))
      .add_json("task_names", row.text("task_names"))
      .add("running_tasks", row.number("running_tasks"))
      .add("asleep", row.boolean("asleep"))
      .add("started_at", time_of(row, "started_at_us"))
      .add("heartbeat_at", time_of(row, "heartbeat_at_us"))
      .add("lease_ms", row.number("lease_ms"))
      .add("lease_until", time_of(row, "lease_until_us"))
      .add("lease_ended_at", maybe_time_of(row, "lease_ended_at_us"))
      .add("rescued_at", maybe_time_of(row, "rescued_at_us"))
      .add("fenced", row.number("fenced"))
      .add("abandoned_threads", row.number("abandoned_threads"))
      .add("clock_ahead_ms", row.maybe_number("clock_ahead_ms"))
      .add("clock_uncertainty_ms", row.maybe_number("clock_uncertainty_ms"))
      .add("stopped_at", maybe_time_of(row, "stopped_at_us"));
  return json;
}

Record worker_record(const db::Row& row, Zone zone) {
  const std::string state{row.text("state")};
  const auto stopped_at = maybe_time_of(row, "stopped_at_us");
  const Time now = time_of(row, "now_us");
  return {{{std::to_string(row.number("id"))},
           {std::string{row.text("name")}},
           {std::string{row.text("host")}},
           {std::to_string(row.number("pid"))},
           {state, color_of(state)},
           {lease_text(row, now)},
           {std::to_string(row.number("running_tasks"))},
           {queues_text(row.text("queues"))},
           {names_text(row.text("task_names"))},
           time_cell(time_of(row, "started_at_us"), now, zone),
           time_cell(stopped_at.value_or(time_of(row, "heartbeat_at_us")), now, zone),
           {count_text(row, "fenced"), Color::yellow},
           {count_text(row, "abandoned_threads"), Color::yellow},
           {std::string{row.text("version")}}},
          members_of(row).text()};
}

ExitCode list(const Invocation& invocation, bool all) {
  db::Connection connection = invocation.connect();
  const db::Rows rows = connection.run(sql::list_workers, db::Params{}.add(all).add(most_workers).add_null());
  std::vector<Record> records;
  for (const db::Row& row : rows) records.push_back(worker_record(row, invocation.style().zone));
  invocation.print(
      worker_columns, records,
      all ? "no worker has ever started" : "no worker is running; --all lists those that stopped or were lost");
  return ExitCode::ok;
}

// --- one worker ------------------------------------------------------------------------------------------------------

constexpr milliseconds outcomes_window{std::chrono::minutes{5}};

const std::vector<Column> run_columns{{.title = "TASK", .align = Align::right},
                                      {.title = "NAME", .least = 24},
                                      {.title = "QUEUE", .rank = 2, .least = 10},
                                      {.title = "ATTEMPT", .align = Align::right, .rank = 1},
                                      {.title = "RUNS FOR"},
                                      {.title = "CANCELLATION"}};

struct Work {
  std::vector<Record> tasks;
  std::vector<std::pair<std::string, std::int64_t>> outcomes;
};

Record task_record_of(const db::Row& row, Time now) {
  const Time claimed_at = time_of(row, "claimed_at_us");
  const auto cancel_requested_at = maybe_time_of(row, "cancel_requested_at_us");
  JsonObject json;
  json.add("id", row.number("id"))
      .add("name", row.text("name"))
      .add("queue", row.text("queue"))
      .add("attempt", row.number("attempt"))
      .add("claimed_at", claimed_at)
      .add("cancel_requested_at", cancel_requested_at);
  return {{{std::to_string(row.number("id"))},
           {std::string{row.text("name")}},
           {std::string{row.text("queue")}},
           {std::to_string(row.number("attempt"))},
           {short_duration(now - claimed_at), Color::plain, readable(now - claimed_at)},
           {cancel_requested_at ? "requested " + relative(*cancel_requested_at, now) : "", Color::yellow}},
          json.text()};
}

Work work_of(db::Connection& connection, std::int64_t worker, Time now) {
  Work work;
  for (const db::Row& row : connection.run(sql::worker_tasks, db::Params{}.add(worker))) {
    work.tasks.push_back(task_record_of(row, now));
  }
  const auto outcomes =
      connection.run(sql::worker_outcomes, db::Params{}.add(worker).add(std::int64_t{outcomes_window.count()}));
  for (const db::Row& row : outcomes) {
    work.outcomes.emplace_back(std::string{row.text("outcome")}, row.number("attempts"));
  }
  return work;
}

std::string json_of(const db::Row& row, const Work& work) {
  std::vector<std::string> tasks;
  for (const Record& record : work.tasks) tasks.push_back(record.json);
  JsonObject outcomes;
  for (const auto& [outcome, attempts] : work.outcomes) outcomes.add(outcome, attempts);
  return members_of(row)
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

std::string text_of(const db::Row& row, const Work& work, const Style& style) {
  const std::string state{row.text("state")};
  const Time now = time_of(row, "now_us");
  const auto stopped_at = maybe_time_of(row, "stopped_at_us");
  std::string text = style.paint(Color::bold, "Worker " + std::to_string(row.number("id")) + "  " +
                                                  harmless(row.text("name"), style.unicode)) +
                     "  " + style.paint(color_of(state), state) + "\n";
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
  add("process", std::to_string(row.number("pid")) + " on " + std::string{row.text("host")});
  add("version", std::string{row.text("version")});
  add("started", date_and_clock_text(time_of(row, "started_at_us"), style.zone) + ", " +
                     relative(time_of(row, "started_at_us"), now));
  add("stopped", stopped_at ? relative(*stopped_at, now) : "");
  add("heartbeat", stopped_at ? "" : relative(time_of(row, "heartbeat_at_us"), now));
  add("lease", lease_text(row, now));
  add("queues", queues_text(row.text("queues")));
  add("tasks", names_text(row.text("task_names")));
  add("ended", outcomes_text(work) + " in the last " + readable(outcomes_window));
  add("fenced", count_text(row, "fenced"));
  add("abandoned", count_text(row, "abandoned_threads"));
  add("clock", clock_text(row));
  add("running", std::to_string(work.tasks.size()));
  if (work.tasks.empty()) return text;
  std::vector<std::vector<Cell>> cells;
  for (const Record& record : work.tasks) cells.push_back(record.cells);
  return text + "\n" + render_table(run_columns, cells, style);
}

/// The worker with the id `word`, else the newest run of the one with that name.
db::Row chosen(const db::Rows& rows, const std::string& word) {
  for (const db::Row& row : rows) {
    if (std::to_string(row.number("id")) == word) return row;
  }
  return rows[0];
}

ExitCode show(const Invocation& invocation, const std::string& word) {
  db::Connection connection = invocation.connect();
  const db::Rows rows = connection.run(sql::list_workers, db::Params{}.add(true).add(most_workers).add(word));
  if (rows.empty()) throw not_there(connection, Noun::worker, word);
  const db::Row row = chosen(rows, word);
  const Work work = work_of(connection, row.number("id"), time_of(row, "now_us"));
  invocation.print(text_of(row, work, invocation.table_style()), json_of(row, work));
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
