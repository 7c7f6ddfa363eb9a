// `dogged man-pages DIR`: the manual, a page for each command, written from the tree of commands when dogged is built.
// man(7): https://man7.org/linux/man-pages/man7/man.7.html
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "cli/commands/commands.hpp"
#include "cli/render/text.hpp"

namespace dogged::cli {
namespace {

bool is_shown(const CLI::App* command) { return !command->get_group().empty(); }

// --- text ------------------------------------------------------------------------------------------------------------

/// `\[u2026]` of a UTF-8 sequence: a page reads the same whatever the locale is.
std::string escaped_sequence(std::string_view sequence) {
  auto value = static_cast<std::uint32_t>(static_cast<unsigned char>(sequence.front()));
  value &= sequence.size() == 2 ? 0x1FU : sequence.size() == 3 ? 0x0FU : 0x07U;
  for (const char c : sequence.substr(1)) value = (value << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  char text[16];
  std::snprintf(text, sizeof text, "\\[u%04X]", static_cast<unsigned>(value));
  return text;
}

std::size_t sequence_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Text that troff leaves as it is: a line that begins with . or ' would be a request.
std::string escaped(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text[i]);
    if (length > 1) {
      result += escaped_sequence(text.substr(i, length));
    } else if (text[i] == '\\') {
      result += "\\e";
    } else if (text[i] == '-') {
      result += "\\-";  // a minus that can be copied into a shell
    } else {
      if (begins_line && (text[i] == '.' || text[i] == '\'')) result += "\\&";
      result += text[i];
    }
    begins_line = text[i] == '\n';
    i += length;
  }
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

// --- one page --------------------------------------------------------------------------------------------------------

/// dogged, tasks, list
std::vector<std::string> path_of(const CLI::App& command) {
  std::vector<std::string> path;
  if (command.get_parent() != nullptr) path = path_of(*command.get_parent());
  path.push_back(command.get_name());
  return path;
}

std::string page_name(const CLI::App& command) { return joined(path_of(command), "-"); }

std::string reference(const CLI::App& command) { return bold(page_name(command)) + "(1)"; }

std::string value_text(const CLI::Option& option) {
  return option.get_type_size_max() > 0 && !option.get_type_name().empty() ? option.get_type_name() : "";
}

std::string names_text(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
  for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
  std::string text = joined(names, ", ");
  if (names.empty()) return italic(upper(value_text(option)));
  if (const std::string value = value_text(option); !value.empty()) text += " " + italic(value);
  return text;
}

std::string option_text(const CLI::Option& option) {
  std::string text = ".TP\n" + names_text(option) + "\n" + escaped(option.get_description()) + ".\n";
  if (!option.get_default_str().empty()) text += "Default: " + escaped(option.get_default_str()) + ".\n";
  if (!option.get_envname().empty()) text += "Environment: " + bold(option.get_envname()) + ".\n";
  return text;
}

std::string options_section(const CLI::App& command) {
  std::string arguments, options;
  for (const CLI::Option* option : command.get_options()) {
    (option->nonpositional() ? options : arguments) += option_text(*option);
  }
  std::string text;
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  if (!options.empty()) text += ".SH OPTIONS\n" + options;
  if (command.get_parent() != nullptr)
    text += ".PP\nThe options of every command are described in " + bold("dogged") + "(1).\n";
  return text;
}

std::string synopsis(const CLI::App& command) {
  std::string text = ".SH SYNOPSIS\n" + bold(joined(path_of(command), " "));
  if (!command.get_subcommands(is_shown).empty()) {
    text += command.get_require_subcommand_min() == 0 ? " [" + italic("COMMAND") + "]" : " " + italic("COMMAND");
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional()) continue;
    const std::string several = option->get_expected_max() > 1 ? "\\&..." : "";
    const std::string word = italic(value_text(*option)) + several;
    text += option->get_required() ? " " + word : " [" + word + "]";
  }
  return text + " [" + italic("OPTION") + "]\\&...\n";
}

std::string commands_section(const CLI::App& command) {
  std::string text;
  for (const CLI::App* subcommand : command.get_subcommands(is_shown)) {
    text += ".TP\n" + reference(*subcommand) + "\n" + escaped(subcommand->get_description()) + ".\n";
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

/// The end of --help, line for line.
std::string footer_section(const CLI::App& command) {
  std::string footer = command.get_footer();
  if (footer.empty()) return "";
  constexpr std::string_view examples = "Examples:\n";
  const bool has_examples = footer.starts_with(examples);
  if (has_examples) footer.erase(0, examples.size());
  return std::string{".SH "} + (has_examples ? "EXAMPLES" : "NOTES") + "\n.nf\n" + escaped(footer) + "\n.fi\n";
}

std::string see_also(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  return ".SH SEE ALSO\n" + reference(*command.get_parent()) + "\n";
}

std::string page_of(const CLI::App& command) {
  return ".TH " + upper(page_name(command)) + " 1 \"\" \"dogged " DOGGED_VERSION "\" \"dogged\"\n.SH NAME\n" +
         escaped(page_name(command)) + " \\- " + escaped(command.get_description()) + "\n" + synopsis(command) +
         commands_section(command) + options_section(command) + footer_section(command) + see_also(command);
}

void write_pages(const CLI::App& command, const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / (page_name(command) + ".1");
  std::ofstream stream{file, std::ios::binary};
  stream << page_of(command);
  if (!stream.flush()) throw Failure(ExitCode::not_done, "cannot write " + file.string());
  for (const CLI::App* subcommand : command.get_subcommands(is_shown)) write_pages(*subcommand, directory);
}

}  // namespace

void add_man_pages(CLI::App& app, Invocation& invocation) {
  const auto directory = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, invocation, "man-pages", "Write the manual, a page for each command",
                  "  dogged man-pages build/man && man -l build/man/dogged-tasks-list.1", [&app, directory] {
                    std::filesystem::create_directories(*directory);
                    write_pages(app, *directory);
                    return ExitCode::ok;
                  });
  command->group("");  // of no use but to packagers
  command->add_option("directory", *directory, "Where they are written")->type_name("DIR")->required();
}

}  // namespace dogged::cli
