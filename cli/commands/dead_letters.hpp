// Shared by the subcommands of `dogged dead`: finding the dead letters, working through them in batches, and the result
// of each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/input/choices.hpp"
#include "cli/invocation.hpp"
#include "cli/options/task_ids.hpp"
#include "cli/options/time_option.hpp"
#include "cli/render/moment.hpp"

namespace dogged::cli {

/// As they were written.
struct DeadFilterOptions {
  std::string name, queue, error_code, message, failed_after, failed_before;
  std::vector<std::string> ids, tags;
  bool all = false;
};

void add_dead_filters(CLI::App& command, const std::shared_ptr<DeadFilterOptions>& options);
/// And --all: without a filter, nothing is meant but by it.
void add_dead_choice(CLI::App& command, const std::shared_ptr<DeadFilterOptions>& options);

/// A dead letter as the command has read it. A replayed task that fails again is another dead letter.
struct DeadLetter {
  std::int64_t id = 0;
  int attempt = 0;
};
using DeadLetters = std::vector<DeadLetter>;

class DeadFilter {
 public:
  /// Reads ids from stdin where they are wanted. Throws InvalidInput. `verb`: as in `nothing was replayed`.
  DeadFilter(const DeadFilterOptions& options, const std::string& command, const std::string& verb);
  /// Throws InvalidInput unless something was chosen: ids, a filter, or --all.
  void require_choice(const std::string& command) const;

  /// Looks at the database's clock, and whether the message's pattern is one.
  void resolve(db::Connection& connection, Zone zone);
  /// Throws Failure where it names a queue or a task that is not there (existing.hpp).
  void require_existing(db::Connection& connection, bool was_found) const;
  /// The statement with the values of this filter, @name to @tags; after resolve().
  template <class Statement>
  [[nodiscard]] Statement applied_to(Statement statement) const {
    statement.name = given(options_.name);
    statement.queue = given(options_.queue);
    statement.error_code = given(options_.error_code);
    statement.message = given(options_.message);
    statement.failed_after = as_parameter(failed_after_);
    statement.failed_before = as_parameter(failed_before_);
    statement.ids = ids_;
    if (!options_.tags.empty()) statement.tags = options_.tags;
    return statement;
  }
  /// Of the database, when it was resolved.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const std::optional<TaskIds>& ids() const { return ids_; }

 private:
  DeadFilterOptions options_;
  std::optional<TaskIds> ids_;
  Time now_{};
  std::optional<Time> failed_after_;
  std::optional<Time> failed_before_;
};

/// The result of each task, by id.
class DeadResults {
 public:
  struct Result {
    std::string result;
    std::string reason;  ///< in words; empty where it was done
    std::optional<Time> due_at;
  };

  void add(std::int64_t id, Result result);
  [[nodiscard]] std::int64_t count(const std::string& result) const;
  [[nodiscard]] std::size_t size() const { return results_.size(); }
  void print_json(const Invocation& invocation) const;
  /// `3 (no such task); 4, 5 (not a dead letter)`; empty where all was done.
  [[nodiscard]] std::string not_done() const;

 private:
  std::map<std::int64_t, Result> results_;
};

/// The dead letters of the filter; ids without a dead letter go to `results`.
[[nodiscard]] DeadLetters find_dead_letters(db::Connection& connection, const DeadFilter& filter, DeadResults& results);

/// Throws Failure if a given id has no dead letter, and names such ids. `verb`: as in `not listed`.
void require_dead_letters(db::Connection& connection, const DeadFilter& filter, const std::string& verb);

/// Does a batch, one transaction. Gives the letters that another session was changing.
using DeadWork = std::function<DeadLetters(const DeadLetters& batch, DeadResults& results)>;

/// Does batch after batch until all are done, or Ctrl-C. Letters that another session was changing are tried again for
/// a while. `verb` stands in the progress that a terminal shows.
void work_through(const Invocation& invocation, DeadLetters letters, std::size_t batch_size, const std::string& verb,
                  const DeadWork& work, DeadResults& results);

/// A statement's answer on one task of a batch.
struct DeadOutcome {
  std::int64_t id = 0;
  std::string result;
  std::optional<Time> due_at = {};
};

/// Adds a statement's answers on the tasks of a batch; `done` is the word for success. Gives the letters that another
/// session was changing.
[[nodiscard]] DeadLetters take_results(const std::vector<DeadOutcome>& outcomes, const DeadLetters& batch,
                                       const std::string& done, DeadResults& results);

[[nodiscard]] std::vector<std::int64_t> ids_of(const DeadLetters& letters);
[[nodiscard]] std::vector<int> attempts_of(const DeadLetters& letters);

/// Exports all letters, batch by batch, by calling `write` with their lines. Gives the exported letters.
/// (dead_export.cpp)
DeadLetters export_dead_letters(const Invocation& invocation, db::Connection& connection, const DeadLetters& letters,
                                const std::function<void(const std::string&)>& write);

/// `1 dead letter`, `1000 dead letters`.
[[nodiscard]] std::string dead_letters_text(std::int64_t count);

/// Whether somebody can answer: stdin is a terminal and does not give the ids, and the output is for people.
[[nodiscard]] bool can_ask(const Invocation& invocation, const DeadFilterOptions& options);
/// Asks on stderr, and reads a line of stdin: empty at its end, and after Ctrl-C.
[[nodiscard]] std::string ask(const std::string& question);

/// Prints how many there are by error code; how many in all. Nothing on stdout where there are none.
std::int64_t print_counts(const Invocation& invocation, db::Connection& connection, const DeadFilter& filter);

/// Carries out --dry-run: prints the counts, and the tasks of `results` that would not be done. `verb`: as in `would be
/// replayed`.
ExitCode count_only(const Invocation& invocation, db::Connection& connection, const DeadFilter& filter,
                    const DeadResults& results, const std::string& verb);

}  // namespace dogged::cli
