// `dogged attempts`: the history of attempts, the latest first.
#include <iostream>
#include <memory>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/task_rows.hpp"
#include "retry/duration.hpp"
#include "sql_statements.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Outcome;

struct AttemptOptions {
  std::int64_t task = 0;
  std::string name, error_code, outcome, since;
  std::int64_t limit = 50;
};

const std::vector<Column> attempt_columns{{"TASK", Align::right},
                                          {"#", Align::right},
                                          {"NAME", Align::left, true},
                                          {"OUTCOME"},
                                          {"ERROR", Align::left, true},
                                          {"RAN", Align::right},
                                          {"ENDED"},
                                          {"RETRY"},
                                          {"WORKER", Align::left, true}};

Color color_of(Outcome outcome) {
  if (outcome == Outcome::succeeded) return Color::green;
  return outcome == Outcome::failed || outcome == Outcome::timed_out ? Color::red : Color::yellow;
}

Record record_of(const AttemptView& attempt, Zone zone) {
  const bool failed = attempt.outcome != Outcome::succeeded;
  const std::string retry = attempt.will_retry ? "after " + readable(milliseconds{attempt.delay_ms.value_or(0)}) : "no";
  return {{{std::to_string(attempt.task_id)},
           {std::to_string(attempt.attempt)},
           {attempt.name},
           {std::string{lifecycle::to_text(attempt.outcome)}, color_of(attempt.outcome)},
           {attempt.error_code.value_or("")},
           {readable(attempt.finished_at - attempt.started_at)},
           {date_and_clock_text(attempt.finished_at, zone)},
           {failed ? retry : ""},
           {attempt.worker}},
          to_json(attempt)};
}

/// A day, unless one task is asked for: without a bound every attempt that is kept would be read.
std::optional<std::int64_t> since_ms(const AttemptOptions& options) {
  if (!options.since.empty()) return duration_from_text(options.since).count();
  if (options.task != 0) return std::nullopt;
  return milliseconds{std::chrono::hours{24}}.count();
}

ExitCode list(const Invocation& invocation, const AttemptOptions& options) {
  db::Connection connection = invocation.connect();
  const db::Rows rows = connection.run(sql::list_attempts, db::Params{}
                                                               .add(given(options.task))
                                                               .add(given(options.name))
                                                               .add(given(options.error_code))
                                                               .add(given(options.outcome))
                                                               .add(since_ms(options))
                                                               .add(options.limit));
  std::vector<Record> records;
  for (const db::Row& row : rows) records.push_back(record_of(attempt_of(row), invocation.style().zone));
  const bool is_bounded = since_ms(options).has_value();
  invocation.print(attempt_columns, records,
                   is_bounded ? "no such attempts in the last " + (options.since.empty() ? "24h" : options.since) +
                                    "; --since 7d looks further back"
                              : "no such attempts");
  if (invocation.format == Format::table && std::ssize(records) == options.limit) {
    std::cout.flush();
    std::cerr << "there may be more: --limit shows more than " << options.limit << "\n";
  }
  return ExitCode::ok;
}

}  // namespace

void add_attempts(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<AttemptOptions>();
  CLI::App* command = add_command(app, invocation, "attempts", "List attempts that ended, the latest first",
                                  "  dogged attempts --task 42\n"
                                  "  dogged attempts --error-code HTTP_503 --since 1h\n"
                                  "  dogged attempts --outcome lost --since 7d -o json",
                                  [&invocation, options] { return list(invocation, *options); });
  command->add_option("--task", options->task, "Of this task")->type_name("ID")->check(is_task_id());
  command->add_option("--name", options->name, "Of tasks with this name")->type_name("NAME");
  command->add_option("--error-code", options->error_code, "That failed with this code")->type_name("CODE");
  command->add_option("--outcome", options->outcome, "succeeded, failed, timed_out, cancelled, lost or interrupted")
      ->type_name("OUTCOME")
      ->check(is_outcome());
  command->add_option("--since", options->since, "Ended in this time until now; 24h unless said or --task is given")
      ->type_name("DURATION")
      ->check(is_duration());
  command->add_option("--limit", options->limit, "How many; 50 unless said")->type_name("N")->check(is_limit());
}

}  // namespace dogged::cli
