// `dogged dead purge`: dead letters are deleted.
#include <iostream>
#include <memory>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/dead_letters.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/letter_file.hpp"
#include "db/connection.hpp"
#include "migrate/missing_role.hpp"
#include "sql/dead.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t purge_batch = 1000;

struct PurgeOptions {
  bool dry_run = false;
  bool yes = false;
  std::string export_to;
};

/// Throws unless the user confirms the purge.
void require_yes(const Invocation& invocation, const DeadFilterOptions& filter_options, std::size_t count) {
  if (!can_ask(invocation, filter_options)) {
    throw Failure(ExitCode::wrong_input,
                  "purging deletes " + dead_letters_text(static_cast<std::int64_t>(count)) +
                      " for good, and nobody is there to ask; nothing was purged",
                  "--yes purges without asking; --export FILE writes them to a file before");
  }
  const std::string answer = ask("Delete " + dead_letters_text(static_cast<std::int64_t>(count)) + " for good? [y/N] ");
  if (answer == "y" || answer == "Y" || answer == "yes") return;
  throw Failure(was_interrupted() ? ExitCode::interrupted : ExitCode::not_done, "nothing was purged");
}

void print_results(const Invocation& invocation, const DeadResults& results) {
  if (invocation.format != Format::table) return results.print_json(invocation);
  std::cout << "purged " << dead_letters_text(results.count("purged")) << "\n" << std::flush;
}

ExitCode conclude(const DeadResults& results) {
  const std::string not_done = results.not_done();
  if (was_interrupted()) {
    throw Failure(ExitCode::interrupted,
                  "interrupted: " + dead_letters_text(results.count("purged")) + " purged, and nothing else changed" +
                      (not_done.empty() ? "" : "; not purged: " + not_done),
                  "run it again to go on");
  }
  if (!not_done.empty()) {
    throw Failure(ExitCode::not_done, "not purged: " + not_done, "`dogged tasks show ID` tells how a task stands");
  }
  return ExitCode::ok;
}

/// The letters that were written and are on the disk: no others may be deleted.
DeadLetters exported(const Invocation& invocation, db::Connection& connection, const DeadLetters& letters,
                     const std::string& path) {
  LetterFile file{path};
  DeadLetters written =
      export_dead_letters(invocation, connection, letters, [&](const std::string& lines) { file.write(lines); });
  if (was_interrupted()) {
    throw Failure(ExitCode::interrupted,
                  "interrupted while " + path + " was written; nothing was purged, and the file is removed");
  }
  file.finish();
  return written;
}

ExitCode purge(const Invocation& invocation, const DeadFilterOptions& filter_options, const PurgeOptions& options) {
  DeadFilter filter{filter_options, "dead purge", "purged"};
  filter.require_choice("dead purge");
  db::Connection connection = invocation.connect();
  filter.resolve(connection, invocation.style().zone);
  DeadResults results;
  DeadLetters letters = find_dead_letters(connection, filter, results);
  if (options.dry_run) return count_only(invocation, connection, filter, results, "purged");
  if (letters.empty() && results.size() == 0 && (!filter.ids() || !filter.ids()->empty())) {
    throw Failure(ExitCode::not_done, "no dead letter is what the filter takes; nothing was purged",
                  "`dogged dead top` shows what there is");
  }
  if (!letters.empty() && !options.yes) {
    if (invocation.format == Format::table) print_counts(invocation, connection, filter);
    require_yes(invocation, filter_options, letters.size());
  }
  if (!options.export_to.empty()) letters = exported(invocation, connection, letters, options.export_to);
  try {
    work_through(
        invocation, letters, purge_batch, "purged",
        [&](const DeadLetters& batch, DeadResults& done) {
          std::vector<DeadOutcome> outcomes;
          const sql::PurgeDead purge_of_batch{.ids = ids_of(batch), .attempts = attempts_of(batch)};
          for (const auto& [id, result] : run_audited(connection, purge_of_batch)) outcomes.push_back({id, result});
          return take_results(outcomes, batch, "purged", done);
        },
        results);
  } catch (const Error& error) {
    if (migrate::is_missing_right(error)) throw;
    print_results(invocation, results);
    throw Failure(exit_code_for(error),
                  error.message() + " (" + dead_letters_text(results.count("purged")) + " purged before)",
                  "run it again to go on");
  }
  print_results(invocation, results);
  return conclude(results);
}

}  // namespace

void add_dead_purge(CLI::App& dead, Invocation& invocation) {
  const auto filter = std::make_shared<DeadFilterOptions>();
  const auto options = std::make_shared<PurgeOptions>();
  CLI::App* command = add_command(
      dead, invocation, "purge", "Delete dead letters for good",
      "  dogged dead purge 42\n"
      "  dogged dead purge --failed-before 30d --dry-run\n"
      "  dogged dead purge --failed-before 30d --export purged.ndjson --yes\n"
      "\nIn batches of 1,000, each a transaction; Ctrl-C ends it between two of them. What is written by --export is "
      "on\n"
      "the disk before anything is deleted, and `dogged dead import` puts it back. Each is noted in dogged.audit.",
      [&invocation, filter, options] { return purge(invocation, *filter, *options); });
  add_dead_choice(*command, filter);
  CLI::Option* dry_run =
      command->add_flag("--dry-run", options->dry_run, "Change nothing; count by error code what would be purged");
  command->add_flag("--yes", options->yes, "Do not ask");
  command->add_option("--export", options->export_to, "Write them to a new file first")
      ->type_name("FILE")
      ->check(is_not_empty())
      ->excludes(dry_run);
}

}  // namespace dogged::cli
