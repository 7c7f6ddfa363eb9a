// Completion of command lines in shells. The scripts of `dogged completion SHELL` ask `dogged __complete WORD…` for the
// candidates of the last word. That command reads the tree of commands, so that no script holds a list that grows
// stale.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.hpp"

namespace dogged::cli {

/// The first word of such a question.
inline constexpr const char* completion_question = "__complete";

/// The candidates for the last of `words`: `candidate<TAB>description`, a line each, or `:files` where a file is
/// wanted. Names of queues, tasks, workers and circuits are the database's; none where it cannot be asked.
[[nodiscard]] std::string completions(CLI::App& app, Invocation& invocation, std::vector<std::string> words);

}  // namespace dogged::cli
