// `dogged attempts`: the history of attempts, the latest first.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/more.hpp"
#include "cli/io/standing.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/options/time_option.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Outcome;

struct AttemptOptions {
  std::int64_t task = 0;
  std::string name, error_code, outcome, finished_after, finished_before;
  std::int64_t limit = 50;
};

const std::vector<Column> attempt_columns{{.title = "TASK", .align = Align::right},
                                          {.title = "#", .align = Align::right},
                                          {.title = "NAME", .least = 16, .cut = Cut::middle},
                                          {.title = "OUTCOME"},
                                          {.title = "ERROR", .least = 24},
                                          {.title = "RAN", .align = Align::right, .rank = 1},
                                          {.title = "ENDED"},
                                          {.title = "RETRY AFTER", .rank = 2},
                                          {.title = "WORKER", .rank = 3, .least = 12, .cut = Cut::middle}};

Color color_of(Outcome outcome) {
  if (outcome == Outcome::succeeded) return Color::green;
  return outcome == Outcome::failed || outcome == Outcome::timed_out ? Color::red : Color::yellow;
}

Record record_of(const AttemptView& attempt, Time now, Zone zone) {
  const bool failed = attempt.outcome != Outcome::succeeded;
  const std::string retry = attempt.will_retry ? readable(milliseconds{attempt.delay_ms.value_or(0)}) : "no retry";
  return {{{std::to_string(attempt.task_id)},
           {std::to_string(attempt.attempt)},
           {attempt.name},
           {std::string{lifecycle::to_text(attempt.outcome)}, color_of(attempt.outcome)},
           {attempt.error_code.value_or("")},
           {readable(attempt.finished_at - attempt.started_at)},
           time_cell(attempt.finished_at, now, zone),
           {failed ? retry : ""},
           {attempt.worker}},
          to_json(attempt)};
}

struct Ended {
  std::optional<Time> after, before;
};

/// A day, unless one task is asked for: without a bound every attempt that is kept would be read.
Ended ended_of(const AttemptOptions& options, Time now, Zone zone) {
  Ended ended{past_time_of(options.finished_after, now, zone), past_time_of(options.finished_before, now, zone)};
  if (!ended.after && options.task == 0) ended.after = ended.before.value_or(now) - std::chrono::hours{24};
  return ended;
}

std::string nothing_found(const Ended& ended, Zone zone) {
  std::string text = "no such attempts";
  if (ended.after) text += " since " + date_and_clock_text(*ended.after, zone);
  if (ended.before) text += " before " + date_and_clock_text(*ended.before, zone);
  return ended.after ? text + "; --finished-after 7d looks further back" : text;
}

/// Throws Failure where the task, or the name of a task, is not there: the reason why no attempt was found.
void require_existing(db::Connection& connection, const AttemptOptions& options) {
  if (options.task != 0 && look_at(connection, {options.task}).empty()) {
    throw Failure(ExitCode::not_done, "there is no task " + std::to_string(options.task), no_such_task_hint);
  }
  if (!options.name.empty()) require_existing(connection, Noun::task, {options.name});
}

ExitCode list(const Invocation& invocation, const AttemptOptions& options) {
  const Zone zone = invocation.style().zone;
  db::Connection connection = invocation.connect();
  const Time now = now_of(connection);
  const Ended ended = ended_of(options, now, zone);
  auto attempts = connection.run(sql::ListAttempts{.task = given(options.task),
                                                   .name = given(options.name),
                                                   .error_code = given(options.error_code),
                                                   .outcome = given(options.outcome),
                                                   .finished_after = as_parameter(ended.after),
                                                   .finished_before = as_parameter(ended.before),
                                                   .most = options.limit});
  if (attempts.empty()) require_existing(connection, options);
  std::vector<Record> records;
  for (auto& attempt : attempts) records.push_back(record_of(attempt_of(std::move(attempt)), now, zone));
  invocation.print(attempt_columns, records, nothing_found(ended, zone));
  if (std::ssize(records) == options.limit) {
    say_there_may_be_more(invocation, "there may be more: --limit shows more than " + std::to_string(options.limit));
  }
  return ExitCode::ok;
}

}  // namespace

void add_attempts(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<AttemptOptions>();
  CLI::App* command = add_command(app, invocation, "attempts", "List attempts that ended, the latest first",
                                  "  dogged attempts --task 42\n"
                                  "  dogged attempts --error-code HTTP_503 --finished-after 1h\n"
                                  "  dogged attempts --outcome lost --finished-after 7d -o json",
                                  [&invocation, options] { return list(invocation, *options); });
  command->add_option("--task", options->task, "Of this task")->type_name("ID")->check(is_task_id());
  command->add_option("--name", options->name, "Of tasks with this name")->type_name("NAME");
  command->add_option("--error-code", options->error_code, "That failed with this code")->type_name("CODE");
  command
      ->add_option("--outcome", options->outcome,
                   "succeeded, failed, timed_out, cancelled, lost, interrupted or snoozed")
      ->type_name("OUTCOME")
      ->check(is_outcome());
  command
      ->add_option(
          "--finished-after", options->finished_after,
          "Ended at this time or later: 2026-11-24T14:00, or 7d (ago); the last 24h unless said or --task is given")
      ->type_name("TIME")
      ->check(is_time_or_duration());
  command->add_option("--finished-before", options->finished_before, "Ended before this time, or so long ago")
      ->type_name("TIME")
      ->check(is_time_or_duration());
  command->add_option("--limit", options->limit, "How many; 50 unless said")->type_name("N")->check(is_limit());
}

}  // namespace dogged::cli
