// `dogged tasks waiting`: tasks that sleep or wait for an event.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/more.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

struct WaitingOptions {
  std::vector<std::string> queues;
  std::string event;
  std::int64_t limit = 50;
};

const std::vector<Column> waiting_columns{{.title = "ID", .align = Align::right},
                                          {.title = "NAME", .least = 16, .cut = Cut::middle},
                                          {.title = "QUEUE", .rank = 2, .least = 16, .cut = Cut::middle},
                                          {.title = "WAITS FOR"},
                                          {.title = "STEP", .least = 16, .cut = Cut::middle},
                                          {.title = "SINCE", .rank = 1},
                                          {.title = "UNTIL"}};

Record record_of(const sql::ListWaiting::Row& row, Zone zone) {
  const Time now = time_from_microseconds(row.now_us);
  const Time since = time_from_microseconds(row.since_us);
  const Time until = time_from_microseconds(row.until_us);
  return {{{std::to_string(row.task_id)},
           {row.name},
           {row.queue},
           {row.waits_for},
           {row.step},
           time_cell(since, now, zone),
           time_cell(until, now, zone)},
          JsonObject{}
              .add("task_id", row.task_id)
              .add("name", row.name)
              .add("queue", row.queue)
              .add("waits_for", row.waits_for)
              .add("step", row.step)
              .add("attempt", row.attempt)
              .add("since", since)
              .add("until", until)
              .text()};
}

ExitCode list(const Invocation& invocation, const WaitingOptions& options) {
  db::Connection connection = invocation.connect();
  const auto queues = options.queues.empty() ? std::nullopt : std::optional{options.queues};
  const auto rows =
      connection.run(sql::ListWaiting{.queues = queues, .event = given(options.event), .most = options.limit});
  if (rows.empty()) require_existing(connection, Noun::queue, options.queues);
  std::vector<Record> records;
  for (const auto& row : rows) records.push_back(record_of(row, invocation.style().zone));
  invocation.print(waiting_columns, records, "no such task sleeps or waits for an event");
  if (std::ssize(records) == options.limit) {
    say_there_may_be_more(invocation, "there may be more: --limit shows more than " + std::to_string(options.limit));
  }
  return ExitCode::ok;
}

}  // namespace

void add_tasks_waiting(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<WaitingOptions>();
  CLI::App* command = add_command(tasks, invocation, "waiting", "List tasks that sleep or wait for an event",
                                  "  dogged tasks waiting\n"
                                  "  dogged tasks waiting --event payment:42      whom `dogged emit` would resume\n"
                                  "  dogged tasks waiting --queue orders -o ndjson | jq .until\n"
                                  "\nThey hold no worker. Those whose wait is over first come first.",
                                  [&invocation, options] { return list(invocation, *options); });
  command->add_option("--queue", options->queues, "Of this queue; several with commas")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--event", options->event, "That wait for this event")->type_name("NAME");
  command->add_option("--limit", options->limit, "How many; 50 unless said")->type_name("N")->check(is_limit());
}

}  // namespace dogged::cli
