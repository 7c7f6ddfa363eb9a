// The options of `dogged enqueue` that make a task unique.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace dogged {
struct NewTask;
}

namespace dogged::cli {

/// As they were written; empty: not given.
struct UniqueOptions {
  std::string key, while_, on_conflict, period, latest;
  std::vector<std::string> by;

  /// Makes the task unique if any of the options was given. The pointers of `by` must live as long as the task.
  void apply_to(NewTask& task) const;
};

/// Adds the options, and returns them.
std::vector<CLI::Option*> add_unique_options(CLI::App& command, UniqueOptions& options);

}  // namespace dogged::cli
