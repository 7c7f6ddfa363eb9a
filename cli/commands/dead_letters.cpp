// Shared by the subcommands of `dogged dead`.
#include "cli/commands/dead_letters.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <unordered_set>
#include <utility>

#include <unistd.h>

#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/line_reader.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/options/time_option.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/progress_bar.hpp"
#include "db/connection.hpp"
#include "sql/dead.hpp"
#include "text/counted.hpp"

namespace dogged::cli {
namespace {

// The batch of another session is done within so long. A session that holds locks for longer is told of.
constexpr int most_tries = 30;
constexpr milliseconds pause_between_tries{100};

std::string reason_of(const std::string& result) {
  if (result == "not_found") return "no such task";
  if (result == "not_failed") return "not a dead letter";
  if (result == "changed") return "replayed meanwhile, and failed again";
  if (result == "locked") return "someone else is changing it";
  if (result == "not_matched") return "not what the filter takes";
  if (result == "key_held") return "another task holds its unique key";
  if (result == "args_too_large") return "its new args are too large";
  return result;
}

}  // namespace

void add_dead_filters(CLI::App& command, const std::shared_ptr<DeadFilterOptions>& options) {
  command.add_option("id", options->ids, "Ids of dead letters; - reads them from stdin, one a line")
      ->type_name("ID")
      ->check(is_task_id_or_stdin());
  command.add_option("--name", options->name, "With this task name")->type_name("NAME")->check(is_not_empty());
  command.add_option("--queue", options->queue, "Of this queue")->type_name("NAME")->check(is_not_empty());
  command.add_option("--error-code", options->error_code, "That failed last with this code")
      ->type_name("CODE")
      ->check(is_not_empty());
  command.add_option("--tag", options->tags, "With this tag; with all of several, which commas part")
      ->type_name("TAG")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(is_not_empty());
  command
      .add_option("--message", options->message, "With a message that this regular expression matches (PostgreSQL's)")
      ->type_name("PATTERN")
      ->check(is_not_empty());
  command
      .add_option("--failed-after", options->failed_after,
                  "Failed at this time or later: 2026-11-24, 2026-11-24T14:00Z, or 2h (ago)")
      ->type_name("TIME")
      ->check(is_not_empty())
      ->check(is_time_or_duration());
  command.add_option("--failed-before", options->failed_before, "Failed before this time, or so long ago")
      ->type_name("TIME")
      ->check(is_not_empty())
      ->check(is_time_or_duration());
}

void add_dead_choice(CLI::App& command, const std::shared_ptr<DeadFilterOptions>& options) {
  add_dead_filters(command, options);
  command.add_flag("--all", options->all, "All dead letters, where neither ids nor a filter are given");
}

DeadFilter::DeadFilter(const DeadFilterOptions& options, const std::string& command, const std::string& verb)
    : options_(options) {
  if (!options.ids.empty()) ids_ = task_ids_of(options.ids, command, "nothing was " + verb);
}

void DeadFilter::require_choice(const std::string& command) const {
  const bool has_filter = !options_.name.empty() || !options_.queue.empty() || !options_.error_code.empty() ||
                          !options_.message.empty() || !options_.failed_after.empty() ||
                          !options_.failed_before.empty() || !options_.tags.empty();
  if (options_.all && (has_filter || ids_)) {
    throw Failure(ExitCode::wrong_input, "--all with ids or a filter: which of them is meant?",
                  "leave --all out to take what the filter takes");
  }
  if (options_.all || has_filter || ids_) return;
  throw Failure(ExitCode::wrong_input, "dogged " + command + " needs ids, a filter, or --all",
                "`dogged " + command + " --help` lists the filters; `dogged dead top` shows what there is");
}

void DeadFilter::resolve(db::Connection& connection, Zone zone) {
  try {
    now_ = time_from_microseconds(
        db::one(connection.run(sql::CheckDeadFilter{.message = given(options_.message)})).now_us);
  } catch (const InvalidInput& error) {
    throw InvalidInput("--message " + in_quotes(options_.message) + ": " + error.message(),
                       "it is a regular expression; a backslash before ( [ { . * + ? makes them mean themselves");
  }
  failed_after_ = past_time_of(options_.failed_after, now_, zone);
  failed_before_ = past_time_of(options_.failed_before, now_, zone);
}

void DeadFilter::require_existing(db::Connection& connection, bool was_found) const {
  FilterNames names;
  if (!options_.queue.empty()) names.queues.push_back(options_.queue);
  if (!options_.name.empty()) names.tasks.push_back(options_.name);
  cli::require_existing(connection, names, was_found);
}

void DeadResults::add(std::int64_t id, Result result) { results_.insert_or_assign(id, std::move(result)); }

std::int64_t DeadResults::count(const std::string& result) const {
  return std::count_if(results_.begin(), results_.end(),
                       [&](const auto& entry) { return entry.second.result == result; });
}

void DeadResults::print_json(const Invocation& invocation) const {
  std::vector<Record> records;
  for (const auto& [id, result] : results_) {
    JsonObject json;
    json.add("id", id).add("result", result.result);
    if (result.reason.empty()) {
      json.add_null("reason");
    } else {
      json.add("reason", result.reason);
    }
    json.add("due_at", result.due_at);
    records.push_back({{}, json.text()});
  }
  invocation.print({}, records, "");
}

std::string DeadResults::not_done() const {
  std::map<std::string, TaskIds> by_reason;
  for (const auto& [id, result] : results_) {
    if (!result.reason.empty()) by_reason[result.reason].push_back(id);
  }
  std::string text;
  for (const auto& [reason, ids] : by_reason) {
    (text += text.empty() ? "" : "; ") += listed(ids) + " (" + reason + ")";
  }
  return text;
}

DeadLetters find_dead_letters(db::Connection& connection, const DeadFilter& filter, DeadResults& results) {
  DeadLetters letters;
  std::unordered_set<std::int64_t> found;
  for (const auto& [id, attempt] : connection.run(filter.applied_to(sql::MatchDead{}))) {
    letters.push_back({id, attempt});
    if (filter.ids()) found.insert(id);
  }
  filter.require_existing(connection, !letters.empty());
  if (!filter.ids()) return letters;
  TaskIds rest;
  std::copy_if(filter.ids()->begin(), filter.ids()->end(), std::back_inserter(rest),
               [&](std::int64_t id) { return !found.contains(id); });
  for (const auto& [id, standing] : connection.run(sql::DeadStanding{.ids = rest})) {
    const std::string result = standing == "locked" ? "not_matched" : standing;  // a locked one is a dead letter
    results.add(id, {result, reason_of(result), std::nullopt});
  }
  return letters;
}

void require_dead_letters(db::Connection& connection, const DeadFilter& filter, const std::string& verb) {
  if (!filter.ids()) return;
  DeadResults others;
  for (const auto& [id, result] : connection.run(sql::DeadStanding{.ids = *filter.ids()})) {
    if (result == "locked") continue;  // it is a dead letter, for which the filter or the page is to blame
    others.add(id, {result, reason_of(result), std::nullopt});
  }
  const std::string text = others.not_done();
  if (text.empty()) return;
  throw Failure(ExitCode::not_done, "not " + verb + ": " + text, "`dogged tasks show ID` tells how a task stands");
}

DeadLetters take_results(const std::vector<DeadOutcome>& outcomes, const DeadLetters& batch, const std::string& done,
                         DeadResults& results) {
  std::map<std::int64_t, int> attempts;
  for (const DeadLetter& letter : batch) attempts[letter.id] = letter.attempt;
  DeadLetters locked;
  for (const auto& [id, result, due_at] : outcomes) {
    if (result == "locked") {
      locked.push_back({id, attempts[id]});
    } else {
      const bool is_done = result == done || result == "merged";
      results.add(id, {result, is_done ? "" : reason_of(result), due_at});
    }
  }
  return locked;
}

void work_through(const Invocation& invocation, DeadLetters letters, std::size_t batch_size, const std::string& verb,
                  const DeadWork& work, DeadResults& results) {
  stop_on_interrupt();
  const std::size_t total = letters.size() + results.size();
  ProgressBar bar{verb, total, invocation.shows_progress(), invocation.style()};
  for (int tries = 0; !letters.empty() && tries < most_tries && !was_interrupted(); ++tries) {
    if (tries > 0) pause(pause_between_tries);
    DeadLetters locked;
    for (std::size_t begin = 0; begin < letters.size() && !was_interrupted(); begin += batch_size) {
      const auto first = letters.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = static_cast<std::ptrdiff_t>(std::min(batch_size, letters.size() - begin));
      const DeadLetters batch(first, first + count);
      const DeadLetters left = work(batch, results);
      locked.insert(locked.end(), left.begin(), left.end());
      bar.show(results.size());
    }
    letters = std::move(locked);
  }
  if (was_interrupted()) return;
  for (const DeadLetter& letter : letters) results.add(letter.id, {"locked", reason_of("locked"), std::nullopt});
}

std::vector<std::int64_t> ids_of(const DeadLetters& letters) {
  std::vector<std::int64_t> ids;
  for (const DeadLetter& letter : letters) ids.push_back(letter.id);
  return ids;
}

std::vector<int> attempts_of(const DeadLetters& letters) {
  std::vector<int> attempts;
  for (const DeadLetter& letter : letters) attempts.push_back(letter.attempt);
  return attempts;
}

std::string dead_letters_text(std::int64_t count) { return counted(count, "dead letter"); }

bool can_ask(const Invocation& invocation, const DeadFilterOptions& options) {
  const bool reads_stdin = std::find(options.ids.begin(), options.ids.end(), "-") != options.ids.end();
  return isatty(STDIN_FILENO) == 1 && !reads_stdin && invocation.format == Format::table;
}

std::string ask(const std::string& question) {
  std::cerr << question << std::flush;
  stop_on_interrupt();
  LineReader lines{STDIN_FILENO};
  std::string answer;
  if (!lines.next(answer)) answer.clear();
  return answer;
}

std::int64_t print_counts(const Invocation& invocation, db::Connection& connection, const DeadFilter& filter) {
  static const std::vector<Column> columns{
      {.title = "CODE", .least = 30}, {.title = "COUNT", .align = Align::right}, {.title = "FIRST"}, {.title = "LAST"}};
  std::int64_t total = 0;
  std::vector<Record> records;
  for (const auto& [code, count, first_us, last_us] : connection.run(filter.applied_to(sql::CountDead{}))) {
    const Time first = time_from_microseconds(first_us);
    const Time last = time_from_microseconds(last_us);
    total += count;
    records.push_back({{{code.value_or(""), Color::red},
                        {std::to_string(count)},
                        time_cell(first, filter.now(), invocation.style().zone),
                        time_cell(last, filter.now(), invocation.style().zone)},
                       JsonObject{}
                           .add("error_code", code)
                           .add("count", count)
                           .add("first_failed_at", first)
                           .add("last_failed_at", last)
                           .text()});
  }
  if (total > 0 || invocation.format != Format::table) invocation.print(columns, records, "");
  return total;
}

ExitCode count_only(const Invocation& invocation, db::Connection& connection, const DeadFilter& filter,
                    const DeadResults& results, const std::string& verb) {
  const std::int64_t count = print_counts(invocation, connection, filter);
  if (invocation.format == Format::table) {
    std::cout << dead_letters_text(count) << " would be " << verb << "\n" << std::flush;
  }
  const std::string not_done = results.not_done();
  if (!not_done.empty()) throw Failure(ExitCode::not_done, "would not be " + verb + ": " + not_done);
  return count > 0 ? ExitCode::ok : ExitCode::not_done;
}

}  // namespace dogged::cli
