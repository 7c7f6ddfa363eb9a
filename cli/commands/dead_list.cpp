// `dogged dead list` and `dogged dead top`: which dead letters there are, and of what kinds.
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/dead_letters.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/more.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
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
                                         {.title = "NAME", .least = 16, .cut = Cut::middle},
                                         {.title = "QUEUE", .rank = 4, .least = 10},
                                         {.title = "CODE", .least = 24},
                                         {.title = "ATTEMPTS", .align = Align::right, .rank = 3},
                                         {.title = "FAILED", .rank = 1},
                                         {.title = "MESSAGE", .rank = 2, .least = 12}};

Record letter_record(const sql::ListDead::Row& letter, Zone zone) {
  const Time failed_at = time_from_microseconds(letter.failed_at_us);
  JsonObject json;
  json.add("id", letter.id)
      .add("name", letter.name)
      .add("queue", letter.queue)
      .add("priority", letter.priority)
      .add("error_code", letter.error_code)
      .add("error_message", letter.error_message)
      .add("attempts", letter.attempt)
      .add("retry_count", letter.retry_count)
      .add("losses", letter.losses)
      .add("enqueued_at", time_from_microseconds(letter.enqueued_at_us))
      .add("failed_at", failed_at)
      .add_json("args", letter.args)
      .add("trace_context", letter.trace_context)
      .add_json("tags", letter.tags);
  constexpr std::size_t enough_for_a_line = 400;
  return {{{std::to_string(letter.id)},
           {letter.name},
           {letter.queue},
           {letter.error_code.value_or(""), Color::red},
           {std::to_string(letter.attempt)},
           time_cell(failed_at, time_from_microseconds(letter.now_us), zone),
           {letter.error_message.value_or("").substr(0, enough_for_a_line)}},
          json.text()};
}

ExitCode list(const Invocation& invocation, const DeadFilterOptions& filter_options, const DeadListOptions& options) {
  DeadFilter filter{filter_options, "dead list", "listed"};
  const Cursor cursor = cursor_from_text(options.after);
  db::Connection connection = invocation.connect();
  filter.resolve(connection, invocation.style().zone);
  sql::ListDead listed = filter.applied_to(sql::ListDead{});
  listed.after_failed_at = cursor.failed_at;
  listed.after_id = cursor.id;
  listed.most = options.limit;
  const auto letters = connection.run(std::move(listed));
  filter.require_existing(connection, !letters.empty());
  std::vector<Record> records;
  std::string last;
  for (const auto& letter : letters) {
    records.push_back(letter_record(letter, invocation.style().zone));
    last = to_iso8601(time_from_microseconds(letter.failed_at_us)) + "/" + std::to_string(letter.id);
  }
  invocation.print(letter_columns, records, "no such dead letters");
  if (std::ssize(records) == options.limit) {
    say_there_may_be_more(invocation, "there may be more: --after " + last + " continues", json_string(last));
  }
  require_dead_letters(connection, filter, "listed");
  return ExitCode::ok;
}

const std::vector<Column> kinds{{.title = "COUNT", .align = Align::right},
                                {.title = "CODE", .least = 24},
                                {.title = "FIRST", .rank = 3},
                                {.title = "LAST", .rank = 1},
                                {.title = "TASKS", .least = 20, .enough = 32},
                                {.title = "SAMPLE", .align = Align::right},
                                {.title = "MESSAGE", .rank = 2, .least = 12}};

Record kind_of(const sql::TopDead::Row& kind, Zone zone) {
  const Time first = time_from_microseconds(kind.first_us);
  const Time last = time_from_microseconds(kind.last_us);
  const Time now = time_from_microseconds(kind.now_us);
  return {{{std::to_string(kind.count)},
           {kind.error_code.value_or(""), Color::red},
           time_cell(first, now, zone),
           time_cell(last, now, zone),
           {joined(nlohmann::json::parse(kind.names).get<std::vector<std::string>>())},
           {std::to_string(kind.sample_id)},
           {kind.message.value_or("")}},
          JsonObject{}
              .add("error_code", kind.error_code)
              .add("message", kind.message)
              .add("count", kind.count)
              .add("first_failed_at", first)
              .add("last_failed_at", last)
              .add_json("names", kind.names)
              .add("sample_id", kind.sample_id)
              .text()};
}

ExitCode top(const Invocation& invocation, const DeadFilterOptions& filter_options, std::int64_t limit) {
  DeadFilter filter{filter_options, "dead top", "counted"};
  db::Connection connection = invocation.connect();
  filter.resolve(connection, invocation.style().zone);
  sql::TopDead counted = filter.applied_to(sql::TopDead{});
  counted.most = limit;
  const auto found = connection.run(std::move(counted));
  filter.require_existing(connection, !found.empty());
  std::vector<Record> records;
  for (const auto& kind : found) records.push_back(kind_of(kind, invocation.style().zone));
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
      "  dogged dead list --message 'no customer' --limit 100000 -o ndjson |\n"
      "    jq .id | dogged dead replay -\n"
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
