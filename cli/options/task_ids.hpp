// Ids of tasks on the command line, and on stdin where a word is -.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace dogged::cli {

using TaskIds = std::vector<std::int64_t>;

// A subcommand changes all of these tasks in one statement, which keeps them locked until its end.
inline constexpr std::size_t most_task_ids = 100'000;

/// An id, or - for stdin.
[[nodiscard]] CLI::Validator is_task_id_or_stdin();

/// The ids in the given order. A `-` stands for the ids on stdin, one a line; blank lines are skipped. Throws
/// InvalidInput for a line that is no id, and for more than `most_task_ids`. The error then says `nothing_done` (as in
/// `nothing was cancelled`), and how to do the work in parts with `command` (as in `tasks cancel`).
[[nodiscard]] TaskIds task_ids_of(const std::vector<std::string>& words, const std::string& command,
                                  const std::string& nothing_done);

/// `1, 2, 3 and 40 more`: as many as fit into a message.
[[nodiscard]] std::string listed(const TaskIds& ids);

}  // namespace dogged::cli
