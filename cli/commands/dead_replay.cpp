// `dogged dead replay`: dead letters run again.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/dead_letters.hpp"
#include "cli/input/args_patch.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/line_reader.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/time_option.hpp"
#include "db/connection.hpp"
#include "migrate/missing_role.hpp"
#include "sql/dead.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

// A transaction for each: its locks keep no other session waiting for long, and Ctrl-C is heard soon.
constexpr std::size_t replay_batch = 1000;
// With the args of each in memory, 1 MiB as a rule at most.
constexpr std::size_t replay_batch_with_args = 100;

struct ReplayOptions {
  bool dry_run = false;
  bool merge = false;
  std::string rate, edit_args;
  std::string steps;  ///< keep, again, or empty: not said
  DueTime due;
};

/// `50/s`, `30/m`, `0.5/s`: how many a second.
double rate_from_text(const std::string& text) {
  constexpr double most = 1'000'000;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit{stopped, static_cast<std::size_t>(end - stopped)};
  const double seconds = unit == "/s" ? 1 : unit == "/m" ? 60 : unit == "/h" ? 3600 : 0;
  if (error != std::errc{} || seconds == 0 || !std::isfinite(number) || number <= 0 || number / seconds > most) {
    throw InvalidInput("--rate " + in_quotes(text) + " is not a rate",
                       "write how many in which time: 50/s, 600/m or 1000/h; more than 0, at most 1000000/s");
  }
  return number / seconds;
}

std::string patch_text(const std::string& text) {
  if (!text.starts_with("@")) return text;
  return InputFile{text.substr(1)}.text();
}

class Replay {
 public:
  Replay(const ReplayOptions& options, Zone zone) : steps_(options.steps), merge_(options.merge) {
    if (!options.rate.empty()) per_second_ = rate_from_text(options.rate);
    if (!options.due.in.empty()) delay_ = duration_from_text(options.due.in);
    if (!options.due.at.empty()) {
      next_due_us_ = time_from_iso8601(options.due.at, zone).time_since_epoch().count();
    }
    if (!options.edit_args.empty()) patch_.emplace(patch_text(options.edit_args));
  }

  /// Throws InvalidInput where --at is over.
  void require_time_ahead(Time now, Zone zone) const {
    if (!next_due_us_ || *next_due_us_ > now.time_since_epoch().count()) return;
    throw InvalidInput("--at " + date_and_clock_text(time_from_microseconds(*next_due_us_), zone) +
                           " is in the past (it is " + date_and_clock_text(now, zone) + "); nothing was replayed",
                       "leave --at out to run them at once");
  }

  /// Asks whether steps on record are kept, unless the options say so. Steps are kept if none is on record, or if
  /// nobody is there to ask. Throws Failure where the answer is none.
  void choose_steps(const Invocation& invocation, const DeadFilterOptions& filter, db::Connection& connection,
                    const DeadLetters& letters) {
    if (!steps_.empty()) return;
    steps_ = "keep";
    if (letters.empty() || !can_ask(invocation, filter)) return;
    if (!have_steps(connection, letters)) return;
    const std::string answer =
        ask((letters.size() == 1 ? "The dead letter has"
                                 : "Some of the " + dead_letters_text(std::ssize(letters)) + " have") +
            std::string{" steps on record. Keep them, or run all steps again? [keep/again] "});
    if (answer == "keep" || answer == "again") {
      steps_ = answer;
      return;
    }
    throw Failure(was_interrupted() ? ExitCode::interrupted : ExitCode::not_done, "nothing was replayed",
                  "answer keep or again, or say it by --steps");
  }

  [[nodiscard]] std::size_t size_of_batches() const { return patch_ ? replay_batch_with_args : replay_batch; }

  DeadLetters replay(db::Connection& connection, const DeadLetters& batch, DeadResults& results) {
    std::vector<std::string> args;
    const DeadLetters letters = patch_ ? with_new_args(connection, batch, args, results) : batch;
    if (letters.empty()) return {};
    const auto rows = run_audited(connection, sql::ReplayDead{.ids = ids_of(letters),
                                                              .due_at_us = next_due_us_,
                                                              .delay_ms = delay_.count(),
                                                              .per_second = per_second_,
                                                              .args = patch_ ? std::optional{args} : std::nullopt,
                                                              .attempts = attempts_of(letters),
                                                              .steps = steps_,
                                                              .merge = merge_});
    std::vector<DeadOutcome> outcomes;
    for (const auto& [id, result, due_at_us] : rows) {
      if (per_second_ && due_at_us) last_due_us_ = std::max(last_due_us_, due_at_us);
      outcomes.push_back({id, result, time_from_microseconds(due_at_us)});
    }
    // The next batch goes on where this one ends, by the database's clock.
    if (last_due_us_) next_due_us_ = *last_due_us_ + std::llround(1e6 / *per_second_);
    return take_results(outcomes, letters, "replayed", results);
  }

  /// Adds those to `results` that the patch does not apply to.
  void try_patch(db::Connection& connection, const DeadLetters& letters, DeadResults& results) const {
    if (!patch_) return;
    for (std::size_t begin = 0; begin < letters.size(); begin += replay_batch_with_args) {
      const auto first = letters.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::size_t count = std::min(replay_batch_with_args, letters.size() - begin);
      std::vector<std::string> args;
      (void)with_new_args(connection, {first, first + static_cast<std::ptrdiff_t>(count)}, args, results);
    }
  }

  /// When the last of those is due that were spread by --rate.
  [[nodiscard]] std::optional<Time> last_due() const {
    return last_due_us_ ? std::optional{time_from_microseconds(*last_due_us_)} : std::nullopt;
  }

 private:
  /// Whether one of them has steps on record. False after Ctrl-C, which work_through hears as well.
  static bool have_steps(db::Connection& connection, const DeadLetters& letters) {
    stop_on_interrupt();
    for (std::size_t begin = 0; begin < letters.size() && !was_interrupted(); begin += replay_batch) {
      const auto first = letters.begin() + static_cast<std::ptrdiff_t>(begin);
      const DeadLetters batch{first,
                              first + static_cast<std::ptrdiff_t>(std::min(replay_batch, letters.size() - begin))};
      const sql::DeadWithSteps question{.ids = ids_of(batch), .attempts = attempts_of(batch)};
      if (db::one(connection.run(question)).has_steps) return true;
    }
    return false;
  }

  DeadLetters with_new_args(db::Connection& connection, const DeadLetters& batch, std::vector<std::string>& args,
                            DeadResults& results) const {
    std::map<std::int64_t, int> attempts;
    for (const DeadLetter& letter : batch) attempts[letter.id] = letter.attempt;
    DeadLetters letters;
    const sql::DeadArgs stored{.ids = ids_of(batch), .attempts = attempts_of(batch)};
    for (const auto& [id, stored_args] : connection.run(stored)) {
      try {
        args.push_back(patch_->apply(stored_args));
        letters.push_back({id, attempts[id]});
      } catch (const InvalidInput& error) {
        results.add(id, {"not_patched", "the patch does not apply: " + error.message(), std::nullopt});
      }
      attempts.erase(id);
    }
    for (const auto& [id, attempt] : attempts) results.add(id, {"not_failed", "not a dead letter", std::nullopt});
    return letters;
  }

  std::string steps_;
  bool merge_;
  std::optional<double> per_second_;
  milliseconds delay_{0};
  std::optional<ArgsPatch> patch_;
  std::optional<std::int64_t> next_due_us_;
  std::optional<std::int64_t> last_due_us_;
};

/// How the same command goes on after it was cut short.
std::string how_to_go_on(const DeadFilter& filter, const Replay& work) {
  std::string text = "run it again with --failed-before " + to_iso8601(filter.now()) +
                     " (in place of --all): what was replayed is left alone, also where it failed again";
  if (work.last_due()) text += "; those that were replayed are due until " + to_iso8601(*work.last_due());
  return text;
}

void print_results(const Invocation& invocation, const DeadResults& results, const Replay& work) {
  if (invocation.format != Format::table) return results.print_json(invocation);
  std::cout << "replayed " << dead_letters_text(results.count("replayed"));
  if (work.last_due() && results.count("replayed") > 0) {
    std::cout << ", the last of them due " << date_and_clock_text(*work.last_due(), invocation.style().zone);
  }
  if (const auto merged = results.count("merged"); merged > 0) {
    std::cout << "; " << merged << " discarded, because another task holds their unique key";
  }
  std::cout << "\n" << std::flush;
}

ExitCode conclude(const DeadResults& results, const DeadFilter& filter, const Replay& work) {
  const std::string not_done = results.not_done();
  if (was_interrupted()) {
    throw Failure(ExitCode::interrupted,
                  "interrupted: " + dead_letters_text(results.count("replayed")) +
                      " replayed, and nothing else changed" + (not_done.empty() ? "" : "; not replayed: " + not_done),
                  how_to_go_on(filter, work));
  }
  if (results.size() == 0 && (!filter.ids() || !filter.ids()->empty())) {
    throw Failure(ExitCode::not_done, "no dead letter is what the filter takes; nothing was replayed",
                  "`dogged dead top` shows what there is");
  }
  if (!not_done.empty()) {
    throw Failure(ExitCode::not_done, "not replayed: " + not_done, "`dogged tasks show ID` tells how a task stands");
  }
  return ExitCode::ok;
}

ExitCode replay(const Invocation& invocation, const DeadFilterOptions& filter_options, const ReplayOptions& options) {
  const Zone zone = invocation.style().zone;
  const std::vector<std::string>& ids = filter_options.ids;
  if (options.edit_args == "@-" && std::find(ids.begin(), ids.end(), "-") != ids.end()) {
    throw InvalidInput("stdin gives either the ids or the patch of --edit-args",
                       "put the patch into a file: --edit-args @FILE");
  }
  Replay work{options, zone};
  DeadFilter filter{filter_options, "dead replay", "replayed"};
  filter.require_choice("dead replay");
  db::Connection connection = invocation.connect();
  filter.resolve(connection, zone);
  work.require_time_ahead(filter.now(), zone);
  DeadResults results;
  const DeadLetters letters = find_dead_letters(connection, filter, results);
  if (options.dry_run) {
    work.try_patch(connection, letters, results);
    return count_only(invocation, connection, filter, results, "replayed");
  }
  work.choose_steps(invocation, filter_options, connection, letters);
  try {
    work_through(
        invocation, letters, work.size_of_batches(), "replayed",
        [&](const DeadLetters& batch, DeadResults& done) { return work.replay(connection, batch, done); }, results);
  } catch (const Error& error) {
    if (migrate::is_missing_right(error) || results.count("replayed") + results.count("merged") == 0) throw;
    print_results(invocation, results, work);
    throw Failure(exit_code_for(error),
                  error.message() + " (" + dead_letters_text(results.count("replayed")) + " replayed before)",
                  how_to_go_on(filter, work));
  }
  print_results(invocation, results, work);
  return conclude(results, filter, work);
}

}  // namespace

void add_dead_replay(CLI::App& dead, Invocation& invocation) {
  const auto filter = std::make_shared<DeadFilterOptions>();
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = add_command(
      dead, invocation, "replay", "Run dead letters again, with all of their retries",
      "  dogged dead replay 42 43\n"
      "  dogged dead replay --error-code HTTP_503 --failed-after 2h --dry-run\n"
      "  dogged dead replay --error-code HTTP_503 --failed-after 2h --rate 50/s --in 10m\n"
      "  dogged dead replay --name report.build --edit-args '[{\"op\": \"replace\", \"path\": \"/region\", \"value\": "
      "\"eu\"}]'\n"
      "  dogged dead list --message 'no customer' --limit 100000 -o ndjson |\n"
      "    jq .id | dogged dead replay -\n"
      "\nA task keeps its id, its args and its attempts, whose numbers go on; its retries are counted from 0 again.\n"
      "In batches of 1,000, each a transaction. Ctrl-C ends it between two of them, and it says how to go on. A dead\n"
      "letter is replayed once, also where two run the same command. Each is noted in dogged.audit.\n"
      "--rate is kept by the database, also if this command ends. A task that a patch does not apply to stays a dead\n"
      "letter; of the others dogged.audit keeps what their args were.\n"
      "The exit code is 1 if one was not replayed.",
      [&invocation, filter, options] { return replay(invocation, *filter, *options); });
  add_dead_choice(*command, filter);
  command->add_flag("--dry-run", options->dry_run,
                    "Change nothing; count by error code what would be replayed, and try the patch of --edit-args");
  command->add_flag("--merge", options->merge,
                    "Discard a dead letter whose unique key a pending or running task holds; it stays unless said");
  command->add_option("--rate", options->rate, "No more than so many fall due in a time: 50/s, 600/m, 1000/h")
      ->type_name("RATE")
      ->check(is_not_empty());
  add_due_options(*command, options->due, "The first falls due at");
  command
      ->add_option("--steps", options->steps,
                   "keep: steps that are on record run no more; again: all steps run again, also waits. Unless said, "
                   "a person at a terminal is asked where there are such steps; a script keeps them")
      ->type_name("KEEP|AGAIN")
      ->check(is_one_of({"keep", "again"}, "what becomes of steps"));
  command
      ->add_option("--edit-args", options->edit_args,
                   "Change the args by a JSON Patch (RFC 6902), or @FILE with one (@-: stdin)")
      ->type_name("PATCH")
      ->check(is_not_empty());
}

}  // namespace dogged::cli
