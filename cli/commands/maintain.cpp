// `dogged maintain`: by hand what workers do every hour: partitions of the coming days, and retention.
#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "retention/retention.hpp"
#include "sql/commands.hpp"
#include "sql/retention.hpp"

namespace dogged::cli {
namespace {

using retention::Outcome;
using retention::Step;

const std::vector<Column> upkeep_columns{{"WHAT"}, {"OUTCOME"}, {"ROWS", Align::right}};

Record record_of(const std::string& what, std::string_view outcome, Color color, std::optional<std::int64_t> rows) {
  JsonObject json;
  json.add("what", what).add("outcome", outcome).add("rows", rows);
  return {{{what}, {std::string{outcome}, color}, {rows ? std::to_string(*rows) : ""}}, json.text()};
}

Record record_of(const Step& step) {
  return record_of(step.what, to_text(step.outcome), step.is_done() ? Color::green : Color::yellow, step.rows);
}

ExitCode print(const Invocation& invocation, const std::vector<Record>& records) {
  invocation.print(upkeep_columns, records, "nothing was to be done");
  return ExitCode::ok;
}

ExitCode dry_run(const Invocation& invocation) {
  db::Connection connection = invocation.connect();
  std::vector<Record> due;
  for (const auto& [partition] : connection.run(sql::DaysDue{})) {
    due.push_back(record_of(partition, "due", Color::blue, std::nullopt));
  }
  return print(invocation, due);
}

ExitCode maintain(const Invocation& invocation) {
  db::Connection connection = invocation.connect();
  stop_on_interrupt();
  std::vector<Record> records;
  const auto add = [&records](const char* what, std::string_view outcome, std::int64_t rows) {
    if (rows > 0) records.push_back(record_of(what, outcome, Color::green, rows));
  };
  add("partitions", "made", db::one(connection.run(sql::MakePartitions{})).made);
  const auto [calls, keys] = db::one(connection.run(sql::TidyLeftRows{}));
  add("producer_calls", to_text(Outcome::forgotten), calls);
  add("unique_keys", to_text(Outcome::forgotten), keys);
  const std::vector<Step> steps =
      retention::apply(connection, retention::Extent::everything, [] { return !was_interrupted(); });
  for (const Step& step : steps) records.push_back(record_of(step));
  print(invocation, records);
  if (was_interrupted()) throw Failure(ExitCode::interrupted, "interrupted; what is listed is done");
  const auto left = std::find_if(steps.begin(), steps.end(), [](const Step& step) { return !step.is_done(); });
  if (left == steps.end()) return ExitCode::ok;
  if (left->outcome == Outcome::busy) {
    throw Failure(ExitCode::not_done, "a worker or another `dogged maintain` is at it", "look again in a minute");
  }
  throw Failure(ExitCode::not_done, left->what + " was in use for longer than 200 ms and is left for later",
                "`dogged doctor` tells which sessions are in a transaction for long; workers try again every minute");
}

}  // namespace

void add_maintain(CLI::App& app, Invocation& invocation) {
  const auto is_dry = std::make_shared<bool>(false);
  add_command(
      app, invocation, "maintain", "Do one round of what workers do every hour: partitions and retention",
      "  dogged maintain --dry-run     list the days that are older than they are kept\n"
      "  dogged maintain               after a purge, or where no worker runs\n"
      "\nHow long things are kept is in dogged.settings: keep_done_days, keep_failed_days, keep_attempts_days;\n"
      "`dogged queues set` has single queues keep theirs longer.\n"
      "\nOutcomes:\n"
      "  made       partitions of coming days; ROWS is how many\n"
      "  dropped    a day that was older than it is kept; ROWS is what stays of it in a smaller partition: tasks of\n"
      "             queues that are kept longer, attempts of tasks that are still there\n"
      "  thinned    such a partition, without what need not stay any more\n"
      "  forgotten  rows of workers that ended long ago and that nothing names, calls of clients long gone,\n"
      "             unique keys that no task holds, and waits and checkpoints of tasks that have ended\n"
      "  postponed  the table was in use for longer than 200 ms: nothing was changed, and the exit code is 1\n"
      "  busy       a worker is at it; exit code 1\n"
      "  due        with --dry-run: would be dropped",
      [&invocation, is_dry] { return *is_dry ? dry_run(invocation) : maintain(invocation); })
      ->add_flag("--dry-run", *is_dry, "List the days that would be dropped; change nothing");
}

}  // namespace dogged::cli
