// `dogged stats`: how queues do.
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/live_view.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

const std::vector<Column> stats_columns{{.title = "QUEUE", .least = 20, .cut = Cut::middle},
                                        {.title = "STATE"},
                                        {.title = "READY", .align = Align::right},
                                        {.title = "WAITING", .align = Align::right},
                                        {.title = "RUNNING", .align = Align::right},
                                        {.title = "OLDEST", .align = Align::right},
                                        {.title = "/MIN", .align = Align::right, .rank = 1},
                                        {.title = "FAILED", .align = Align::right, .rank = 2},
                                        {.title = "RETRIED", .align = Align::right, .rank = 5},
                                        {.title = "WAIT", .align = Align::right, .rank = 3},
                                        {.title = "WAIT P95", .align = Align::right, .rank = 6},
                                        {.title = "RUN", .align = Align::right, .rank = 4},
                                        {.title = "RUN P95", .align = Align::right, .rank = 7},
                                        {.title = "SNOOZED", .align = Align::right, .rank = 8}};

std::string formatted(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// `0.2`, `12.5`, `50`, `1300`
std::string rate_text(double rate) { return formatted(rate >= 100 ? "%.0f" : "%.3g", rate); }

std::string share_text(std::optional<double> share) { return share ? rate_text(100 * *share) + " %" : ""; }

std::string duration_text(std::optional<std::int64_t> us) { return us ? readable(microseconds{*us}) : ""; }

void add_number(JsonObject& json, const char* member, std::optional<double> number) {
  if (number) {
    json.add_json(member, formatted("%.6g", *number));
  } else {
    json.add_null(member);
  }
}

void add_milliseconds(JsonObject& json, const char* member, std::optional<std::int64_t> us) {
  add_number(json, member, us ? std::optional{static_cast<double>(*us) / 1000} : std::nullopt);
}

std::string stats_json(const sql::Stats::Row& queue) {
  JsonObject json;
  json.add("queue", queue.queue)
      .add("ready", queue.ready)
      .add("waiting", queue.waiting)
      .add("running", queue.running)
      .add("oldest_due_at", time_from_microseconds(queue.oldest_due_at_us))
      .add("attempts", queue.attempts);
  add_number(json, "ended_per_minute", queue.ended_per_minute);
  add_number(json, "failed_per_minute", queue.failed_per_minute);
  add_number(json, "retry_share", queue.retry_share);
  add_milliseconds(json, "wait_p50_ms", queue.wait_p50_us);
  add_milliseconds(json, "wait_p95_ms", queue.wait_p95_us);
  add_milliseconds(json, "run_p50_ms", queue.run_p50_us);
  add_milliseconds(json, "run_p95_ms", queue.run_p95_us);
  json.add("is_paused", queue.is_paused)
      .add("paused_until", queue.is_paused ? time_from_microseconds(queue.paused_until_us) : std::nullopt)
      .add("snoozed", queue.snoozed)
      .add("most_snoozes", queue.most_snoozes);
  return json.text();
}

/// `3, up to 120 times`
std::string snoozed_text(const sql::Stats::Row& queue) {
  if (queue.snoozed == 0) return "";
  return std::to_string(queue.snoozed) + ", up to " + counted(queue.most_snoozes, "time");
}

Cell age_cell(std::optional<Time> since, Time now) {
  if (!since) return {""};
  return {short_duration(now - *since), Color::plain, readable(now - *since)};
}

Record stats_record(const sql::Stats::Row& queue) {
  return {{{queue.queue},
           {queue.is_paused ? "paused" : "", Color::yellow},
           {std::to_string(queue.ready)},
           {std::to_string(queue.waiting)},
           {std::to_string(queue.running)},
           age_cell(time_from_microseconds(queue.oldest_due_at_us), time_from_microseconds(queue.now_us)),
           {rate_text(queue.ended_per_minute)},
           {rate_text(queue.failed_per_minute), queue.failed_per_minute > 0 ? Color::red : Color::plain},
           {share_text(queue.retry_share), Color::yellow},
           {duration_text(queue.wait_p50_us)},
           {duration_text(queue.wait_p95_us)},
           {duration_text(queue.run_p50_us)},
           {duration_text(queue.run_p95_us)},
           {snoozed_text(queue)}},
          stats_json(queue)};
}

std::vector<Record> read(db::Connection& connection) {
  std::vector<Record> records;
  for (const auto& queue : connection.run(sql::Stats{})) records.push_back(stats_record(queue));
  return records;
}

/// The figures as they were: on a terminal drawn again, elsewhere a table or a document after the other.
void show(const Invocation& invocation, const std::vector<Record>& records) {
  if (invocation.format != Format::table || !is_terminal()) {
    invocation.print(stats_columns, records, "no queues");
    return;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Record& record : records) rows.push_back(record.cells);
  const Style style = invocation.table_style();
  show_picture(style.paint(Color::dim, "dogged stats: Ctrl-C ends it") + "\n" +
               render_table(stats_columns, rows, style));
}

/// `watch` is an interval, `true` for the usual interval, or empty to show the figures once.
ExitCode stats(const Invocation& invocation, const std::string& watch) {
  db::Connection connection = invocation.connect();
  if (watch.empty()) {
    invocation.print(stats_columns, read(connection), "no queues");
    return ExitCode::ok;
  }
  const milliseconds interval = interval_from_text(watch == "true" ? "" : watch);
  repeat_until_interrupted(interval, [&] { show(invocation, read(connection)); });
  return ExitCode::ok;
}

}  // namespace

void add_stats(CLI::App& app, Invocation& invocation) {
  const auto watch = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, invocation, "stats", "Show how queues do: what waits, how fast it ends, how long it takes",
      "  dogged stats\n"
      "  dogged stats --watch\n"
      "  dogged stats -o json | jq '.[] | {queue, retry_share, run_p95_ms}'\n"
      "\nOLDEST is how long the first of the ready tasks has been due. The columns after it are of the last five "
      "minutes:\n"
      "tasks that ended and that failed each minute, the share of attempts that are tried again, how long attempts\n"
      "waited after they were due (median and 95th percentile), and how long handlers ran. SNOOZED counts the tasks\n"
      "in the queue that have snoozed, and how often one of them has. In SQL: the view queue_stats.",
      [&invocation, watch] { return stats(invocation, *watch); });
  command->add_flag("--watch", *watch, "Show it again each second, until Ctrl-C; --watch=5s: every 5 seconds")
      ->check(CLI::Validator{
          [](std::string& text) { return text == "true" ? std::string{} : is_duration(longest_interval)(text); }, ""});
}

}  // namespace dogged::cli
