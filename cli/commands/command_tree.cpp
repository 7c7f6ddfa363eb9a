// See command_tree.hpp.
#include "cli/commands/command_tree.hpp"

#include <algorithm>

namespace dogged::cli {
namespace {

constexpr const char* implied_command = "list";

}  // namespace

bool takes_value(const CLI::Option& option) { return option.get_type_size_max() > 0 && option.get_expected_max() > 0; }

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

CLI::Option* find_option(CLI::App* command, std::string_view name) {
  for (; command != nullptr; command = command->get_parent()) {
    for (CLI::Option* option : command->get_options()) {
      const std::vector<std::string> names = names_of(*option);
      if (std::find(names.begin(), names.end(), name) != names.end()) return option;
    }
  }
  return nullptr;
}

CLI::App* find_command(CLI::App& command, const std::string& name) {
  const auto found = command.get_subcommands([&name](CLI::App* of) { return of->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

void let_nouns_list(CLI::App& app) {
  for (CLI::App* noun :
       app.get_subcommands([](CLI::App* of) { return find_command(*of, implied_command) != nullptr; })) {
    const std::string name = app.get_name() + " " + noun->get_name();
    noun->require_subcommand(0, 1);
    noun->footer("Without a subcommand, `" + name + "` is `" + name + " " + implied_command + "`.");
  }
}

std::vector<std::string> with_implied_list(CLI::App& app, std::vector<std::string> words) {
  CLI::App* command = &app;
  auto behind_command = words.begin();
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!word->starts_with('-') || *word == "-") {
      command = find_command(*command, *word);
      if (command == nullptr) return words;  // an argument, or a mistake
      behind_command = word + 1;
      continue;
    }
    const bool is_long = word->starts_with("--");
    const auto end_of_name = is_long ? word->find('=') : 2;
    const CLI::Option* option = find_option(command, word->substr(0, end_of_name));
    if (option == nullptr) break;  // one of the list
    if (option == command->get_help_ptr()) return words;
    const bool has_value_in_itself = is_long ? end_of_name != std::string::npos : word->size() > 2;
    if (takes_value(*option) && !has_value_in_itself && word + 1 != words.end()) ++word;
  }
  if (find_command(*command, implied_command) != nullptr) words.insert(behind_command, implied_command);
  return words;
}

}  // namespace dogged::cli
