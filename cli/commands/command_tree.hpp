// The tree of commands. Completion, help and the nouns that stand for commands read the tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace dogged::cli {

[[nodiscard]] bool takes_value(const CLI::Option& option);
/// --schema, -o
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);
/// Of the command or, as on the command line, of those around it; nullptr where there is none.
[[nodiscard]] CLI::Option* find_option(CLI::App* command, std::string_view name);
/// nullptr where there is none.
[[nodiscard]] CLI::App* find_command(CLI::App& command, const std::string& name);

/// Each noun with a subcommand `list` stands for that one: its help says so.
void let_nouns_list(CLI::App& app);
/// The words of a command line, with `list` where let_nouns_list's nouns have no subcommand and help is not asked for.
[[nodiscard]] std::vector<std::string> with_implied_list(CLI::App& app, std::vector<std::string> words);

}  // namespace dogged::cli
