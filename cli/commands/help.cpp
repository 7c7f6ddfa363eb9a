// `dogged help`: the help of any command, as its --help prints it.
#include <iostream>
#include <memory>

#include "cli/commands/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

ExitCode print_help(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    CLI::App* next = find_command(*command, word);
    if (next == nullptr) {
      Words names;
      for (const CLI::App* one : command->get_subcommands({})) names.push_back(one->get_name());
      throw Failure(ExitCode::wrong_input,
                    in_quotes(word) + " is not a subcommand of " + path + suggestion(word, names), path + " --help");
    }
    command = next;
    path += " " + word;
  }
  // Not App::help(), which would give the help of the command that was chosen: of `help`.
  std::cout << app.get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal);
  return ExitCode::ok;
}

}  // namespace

void add_help(CLI::App& app, Invocation& invocation) {
  const auto words = std::make_shared<std::vector<std::string>>();
  add_command(app, invocation, "help", "Show what a command does, and its options",
              "  dogged help\n  dogged help tasks list     the same as dogged tasks list --help",
              [&app, words] { return print_help(app, *words); })
      ->add_option("command", *words, "The words of the command")
      ->type_name("COMMAND");
}

}  // namespace dogged::cli
