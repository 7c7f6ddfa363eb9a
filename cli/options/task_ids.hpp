// Ids of tasks on the command line, and on stdin where a word is -.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace dogged::cli {

using TaskIds = std::vector<std::int64_t>;

// What a subcommand does with all of them is one statement, which keeps them locked until it ends.
inline constexpr std::size_t most_task_ids = 100'000;

/// An id, or - for stdin.
[[nodiscard]] CLI::Validator is_task_id_or_stdin();

/// The ids in the order given, those of stdin (one a line; blank lines are passed over) in the place of their -. Throws
/// InvalidInput where a line is none, and where there are more than `most_task_ids`; it then says `nothing_done`, as in
/// `nothing was cancelled`, and how to do it in parts with `command`, as in `tasks cancel`.
[[nodiscard]] TaskIds task_ids_of(const std::vector<std::string>& words, const std::string& command,
                                  const std::string& nothing_done);

/// `1, 2, 3 and 40 more`: those that fit into a message.
[[nodiscard]] std::string listed(const TaskIds& ids);

}  // namespace dogged::cli
