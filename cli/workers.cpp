// `dogged workers`: who works, or did.
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/json_object.hpp"
#include "cli/task_rows.hpp"
#include "sql_statements.hpp"

namespace dogged::cli {
namespace {

constexpr std::int64_t most_workers = 1000;

const std::vector<Column> columns{{"ID", Align::right},
                                  {"NAME", Align::left, true},
                                  {"HOST", Align::left, true},
                                  {"PID", Align::right},
                                  {"STATE"},
                                  {"LEASE"},
                                  {"RUNNING", Align::right},
                                  {"QUEUES", Align::left, true},
                                  {"TASKS", Align::left, true},
                                  {"STARTED"},
                                  {"LAST SEEN"},
                                  {"FENCED", Align::right},
                                  {"ABANDONED", Align::right},
                                  {"VERSION"}};

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
    return until > now ? readable(until - now) + " left" : "over " + relative(until, now);
  }
  const std::string ended = "ended " + relative(time_of(row, "lease_ended_at_us"), now);
  return ended + (row.is_null("rescued_at_us") ? ", tasks to be rescued" : "");
}

std::string count_text(const db::Row& row, const char* column) {
  return row.number(column) == 0 ? "" : std::to_string(row.number(column));
}

Record record_of(const db::Row& row, Zone zone) {
  const std::string state{row.text("state")};
  const auto stopped_at = maybe_time_of(row, "stopped_at_us");
  const Time now = time_of(row, "now_us");
  JsonObject json;
  json.add("id", row.number("id"))
      .add("name", row.text("name"))
      .add("host", row.text("host"))
      .add("pid", row.number("pid"))
      .add("version", row.text("version"))
      .add("state", state)
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
      .add("stopped_at", stopped_at);
  return {{{std::to_string(row.number("id"))},
           {std::string{row.text("name")}},
           {std::string{row.text("host")}},
           {std::to_string(row.number("pid"))},
           {state, color_of(state)},
           {lease_text(row, now)},
           {std::to_string(row.number("running_tasks"))},
           {queues_text(row.text("queues"))},
           {names_text(row.text("task_names"))},
           {date_and_clock_text(time_of(row, "started_at_us"), zone)},
           {relative(stopped_at.value_or(time_of(row, "heartbeat_at_us")), now)},
           {count_text(row, "fenced"), Color::yellow},
           {count_text(row, "abandoned_threads"), Color::yellow},
           {std::string{row.text("version")}}},
          json.text()};
}

ExitCode list(const Invocation& invocation, bool all) {
  db::Connection connection = invocation.connect();
  const db::Rows rows = connection.run(sql::list_workers, db::Params{}.add(all).add(most_workers));
  std::vector<Record> records;
  for (const db::Row& row : rows) records.push_back(record_of(row, invocation.style().zone));
  invocation.print(
      columns, records,
      all ? "no worker has ever started" : "no worker is running; --all lists those that stopped or were lost");
  return ExitCode::ok;
}

}  // namespace

void add_workers(CLI::App& app, Invocation& invocation) {
  const auto all = std::make_shared<bool>(false);
  add_command(
      app, invocation, "workers", "List workers, the newest first",
      "  dogged workers\n"
      "  dogged workers --all -o json | jq '.[].task_names'\n"
      "\nStates:\n"
      "  live     it renews its lease with each heartbeat\n"
      "  lapsed   it did not renew its lease in time; any worker may end the lease now\n"
      "  lost     its lease was ended: what it reports changes nothing, and its tasks are rescued\n"
      "  stopped  it ended in order\n"
      "\nFENCED counts its reports that changed nothing, because it did not hold the task any more; ABANDONED its\n"
      "threads whose handler did not end when it was asked to.",
      [&invocation, all] { return list(invocation, *all); })
      ->add_flag("--all", *all, "Also those that have stopped, or were lost more than an hour ago; the last 1000");
}

}  // namespace dogged::cli
