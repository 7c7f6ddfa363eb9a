// Checks of options that several subcommands have, with messages that say what to write.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/input/new_tasks.hpp"
#include "text/message.hpp"

namespace dogged::cli {

[[nodiscard]] CLI::Validator is_task_id();
/// One of the words; `noun` names their kind: `a status`.
[[nodiscard]] CLI::Validator is_one_of(Words words, const std::string& noun);
/// The words that is_one_of lets pass as a value of the option; none where it has no such check.
[[nodiscard]] std::vector<std::string> choices_of(CLI::Option& option);
[[nodiscard]] CLI::Validator is_status();
[[nodiscard]] CLI::Validator is_outcome();
/// How many rows: 1 to 1,000,000.
[[nodiscard]] CLI::Validator is_limit();
/// Something: an empty text is a variable of a script that is not set, and not an option that was left out.
[[nodiscard]] CLI::Validator is_not_empty();
/// 30s, 1h30m, 7d; `most` at most.
[[nodiscard]] CLI::Validator is_duration(std::chrono::milliseconds most = longest_duration);

/// Nothing where the option was not given.
[[nodiscard]] std::optional<std::string> given(const std::string& text);
[[nodiscard]] std::optional<std::int64_t> given(std::int64_t number);

}  // namespace dogged::cli
