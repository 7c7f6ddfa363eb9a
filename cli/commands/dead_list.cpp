// `dogged dead list` and `dogged dead top`: which dead letters there are, and of what kinds.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/dead_letters.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "sql/dead.hpp"

namespace dogged::cli {
namespace {

struct DeadListOptions {
  std::int64_t limit = 50;
  std::string after;
};

/// The last of a page: `2026-11-21T13:02:11.250000Z/42`.
struct Cursor {
  std::optional<std::string> failed_at;
  std::optional<std::int64_t> id;
};

Cursor cursor_from_text(const std::string& text) {
  if (text.empty()) return {};
  const auto slash = text.rfind('/');
  std::string id = slash == std::string::npos ? "" : text.substr(slash + 1);
  if (!is_task_id()(id).empty()) {
    throw InvalidInput("--after " + in_quotes(text) + " is not the time and the id of a dead letter",
                       "write its failed_at and its id as the page before gave them: 2026-11-21T13:02:11.250000Z/42");
  }
  return {to_iso8601(time_from_iso8601(text.substr(0, slash))), std::stoll(id)};
}

const std::vector<Column> letter_columns{{.title = "ID", .align = Align::right},
                                         {.title = "NAME", .least = 20},
                                         {.title = "QUEUE", .rank = 4, .least = 10},
                                         {.title = "CODE", .least = 30},
                                         {.title = "ATTEMPTS", .align = Align::right, .rank = 3},
                                         {.title = "FAILED", .rank = 1},
                                         {.title = "MESSAGE", .rank = 2, .least = 24}};

Record letter_record(const db::Row& row, Zone zone) {
  const Time failed_at = time_of(row, "failed_at_us");
  const std::optional<std::string> code = row.maybe_text("error_code");
  const std::optional<std::string> message = row.maybe_text("error_message");
  JsonObject json;
  json.add("id", row.number("id"))
      .add("name", row.text("name"))
      .add("queue", row.text("queue"))
      .add("priority", row.number("priority"))
      .add("error_code", code)
      .add("error_message", message)
      .add("attempts", row.number("attempt"))
      .add("retry_count", row.number("retry_count"))
      .add("losses", row.number("losses"))
      .add("enqueued_at", time_of(row, "enqueued_at_us"))
      .add("failed_at", failed_at)
      .add_json("args", row.text("args"))
      .add("trace_context", row.maybe_text("trace_context"))
      .add_json("tags", row.text("tags"));
  constexpr std::size_t enough_for_a_line = 400;
  return {{{std::to_string(row.number("id"))},
           {std::string{row.text("name")}},
           {std::string{row.text("queue")}},
           {code.value_or(""), Color::red},
           {std::to_string(row.number("attempt"))},
           time_cell(failed_at, time_of(row, "now_us"), zone),
           {message.value_or("").substr(0, enough_for_a_line)}},
          json.text()};
}

ExitCode list(const Invocation& invocation, const DeadFilterOptions& filter_options, const DeadListOptions& options) {
  DeadFilter filter{filter_options, "dead list", "listed"};
  const Cursor cursor = cursor_from_text(options.after);
  db::Connection connection = invocation.connect();
  filter.resolve(connection, invocation.style().zone);
  const db::Rows rows =
      connection.run(sql::list_dead, filter.params().add(cursor.failed_at).add(cursor.id).add(options.limit));
  filter.require_existing(connection, !rows.empty());
  std::vector<Record> records;
  std::string last;
  for (const db::Row& row : rows) {
    records.push_back(letter_record(row, invocation.style().zone));
    last = to_iso8601(time_of(row, "failed_at_us")) + "/" + std::to_string(row.number("id"));
  }
  invocation.print(letter_columns, records, "no such dead letters");
  if (invocation.format == Format::table && std::ssize(records) == options.limit) {
    std::cout.flush();
    std::cerr << "there may be more: --after " << last << " continues\n";
  }
  require_dead_letters(connection, filter, "listed");
  return ExitCode::ok;
}

const std::vector<Column> kinds{{.title = "COUNT", .align = Align::right},
                                {.title = "CODE", .least = 30},
                                {.title = "FIRST", .rank = 3},
                                {.title = "LAST", .rank = 1},
                                {.title = "TASKS", .rank = 2, .least = 16},
                                {.title = "SAMPLE", .align = Align::right},
                                {.title = "MESSAGE", .least = 24}};

Record kind_of(const db::Row& row, Zone zone) {
  const Time first = time_of(row, "first_us");
  const Time last = time_of(row, "last_us");
  const Time now = time_of(row, "now_us");
  const std::optional<std::string> code = row.maybe_text("error_code");
  const std::optional<std::string> message = row.maybe_text("message");
  const std::string names{row.text("names")};
  return {{{std::to_string(row.number("count"))},
           {code.value_or(""), Color::red},
           time_cell(first, now, zone),
           time_cell(last, now, zone),
           {joined(nlohmann::json::parse(names).get<std::vector<std::string>>())},
           {std::to_string(row.number("sample_id"))},
           {message.value_or("")}},
          JsonObject{}
              .add("error_code", code)
              .add("message", message)
              .add("count", row.number("count"))
              .add("first_failed_at", first)
              .add("last_failed_at", last)
              .add_json("names", names)
              .add("sample_id", row.number("sample_id"))
              .text()};
}

ExitCode top(const Invocation& invocation, const DeadFilterOptions& filter_options, std::int64_t limit) {
  DeadFilter filter{filter_options, "dead top", "counted"};
  db::Connection connection = invocation.connect();
  filter.resolve(connection, invocation.style().zone);
  const db::Rows rows = connection.run(sql::top_dead, filter.params().add(limit));
  filter.require_existing(connection, !rows.empty());
  std::vector<Record> records;
  for (const db::Row& row : rows) records.push_back(kind_of(row, invocation.style().zone));
  invocation.print(kinds, records, "no such dead letters");
  require_dead_letters(connection, filter, "counted");
  return ExitCode::ok;
}

}  // namespace

void add_dead_list(CLI::App& dead, Invocation& invocation) {
  const auto filter = std::make_shared<DeadFilterOptions>();
  const auto options = std::make_shared<DeadListOptions>();
  CLI::App* command = add_command(
      dead, invocation, "list", "List dead letters, the latest first",
      "  dogged dead list --error-code HTTP_503 --failed-after 2h\n"
      "  dogged dead list --message 'no customer' -o ndjson | jq .id | dogged dead replay -\n"
      "  dogged dead list --after 2026-11-21T13:02:11.250000Z/42     the next page: failed_at/id of its last",
      [&invocation, filter, options] { return list(invocation, *filter, *options); });
  add_dead_filters(*command, filter);
  command->add_option("--limit", options->limit, "How many; 50 unless said")->type_name("N")->check(is_limit());
  command->add_option("--after", options->after, "Those that failed before this one")->type_name("TIME/ID");
}

void add_dead_top(CLI::App& dead, Invocation& invocation) {
  const auto filter = std::make_shared<DeadFilterOptions>();
  const auto limit = std::make_shared<std::int64_t>(20);
  CLI::App* command =
      add_command(dead, invocation, "top", "Count dead letters by error: code and kind of message, the most first",
                  "  dogged dead top --failed-after 1h      what is failing now\n"
                  "  dogged dead top --name report.build -o json\n"
                  "\nMessages are of one kind if they differ in nothing but links (<url>), what is quoted (<text>), "
                  "numbers, ids and\n"
                  "times (<n>) in their first 300 characters. `dogged dead show SAMPLE` shows the latest of a kind.",
                  [&invocation, filter, limit] { return top(invocation, *filter, *limit); });
  add_dead_filters(*command, filter);
  command->add_option("--limit", *limit, "How many kinds; 20 unless said")->type_name("N")->check(is_limit());
}

}  // namespace dogged::cli
