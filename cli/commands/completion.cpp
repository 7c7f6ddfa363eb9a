// Completion of command lines in shells.
#include "cli/commands/completion.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>

#include "cli/commands/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

using Texts = std::vector<std::string>;

// --- the tree --------------------------------------------------------------------------------------------------------

bool takes_several(const CLI::Option& option) {
  return option.get_expected_max() > 1 || option.get_delimiter() != '\0';
}

/// The argument in place `index`, the last one for all that follow if it takes several.
CLI::Option* positional(CLI::App& command, std::size_t index) {
  const auto all = command.get_options([](CLI::Option* option) { return option->get_positional(); });
  if (index < all.size()) return all[index];
  return !all.empty() && takes_several(*all.back()) ? all.back() : nullptr;
}

/// How far a command line has come.
struct WordPlace {
  CLI::App* command;
  std::size_t arguments = 0;              ///< of the command
  CLI::Option* awaiting_value = nullptr;  ///< the option whose value comes next
  std::vector<const CLI::Option*> given;
};

void use(Invocation& invocation, const CLI::Option& option, const std::string& value) {
  const Texts names = names_of(option);
  if (names.front() == "--database-url") invocation.database_url = value;
  if (names.front() == "--schema") invocation.schema = value;
}

void go_on(WordPlace& place, Invocation& invocation, const std::string& word) {
  const bool is_option = word.size() > 1 && word.starts_with('-');
  if (place.awaiting_value != nullptr && !(is_option && place.awaiting_value->get_expected_min() == 0)) {
    use(invocation, *place.awaiting_value, word);
    place.awaiting_value = nullptr;
  } else if (is_option) {
    place.awaiting_value = nullptr;
    const auto equals = word.find('=');
    CLI::Option* option = find_option(place.command, word.substr(0, equals));
    if (option == nullptr) return;
    place.given.push_back(option);
    if (equals != std::string::npos) {
      use(invocation, *option, word.substr(equals + 1));
    } else if (takes_value(*option)) {
      place.awaiting_value = option;
    }
  } else if (CLI::App* command = find_command(*place.command, word); command != nullptr && place.arguments == 0) {
    place.command = command;
  } else {
    ++place.arguments;
  }
}

// --- values ----------------------------------------------------------------------------------------------------------

/// The kind of names to ask the database for; empty: none.
std::string kind_of(const CLI::App& command, const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const Texts names = names_of(option);
  const std::string name = names.empty() ? "" : names.front();
  if (type == "QUEUE" || name == "--queue") return "queues";
  if (type == "TASK" || name == "--name") return "tasks";
  if (type == "WORKER") return "workers";
  if (type != "NAME") return "";
  if (name == "--task" || (names.empty() && command.get_name() == "enqueue")) return "tasks";
  const std::string around = command.get_parent() == nullptr ? "" : command.get_parent()->get_name();
  const bool is_of_those_there = names.empty() && command.get_name() != "create";
  return is_of_those_there && (around == "queues" || around == "circuits" || around == "schedules") ? around : "";
}

/// Within two seconds or not at all: the shell waits for the answer while a key is pressed.
Texts words_of(const Invocation& invocation, const std::string& kind) {
  Texts words;
  try {
    setenv("PGCONNECT_TIMEOUT", "2", 0);
    db::Connection connection = invocation.connect();
    for (const auto& [word] : connection.run(sql::CompletionWords{.kind = kind})) words.push_back(word);
  } catch (const Error&) {  // a shell has no place for it
    words.clear();
  }
  return words;
}

class Candidates {
 public:
  /// The words that begin with `typed`, with `before` in front of them.
  Candidates(std::string typed, std::string before) : typed_(std::move(typed)), before_(std::move(before)) {}

  void add(const std::string& word, const std::string& description) {
    if (!word.starts_with(typed_)) return;
    text_ += before_ + word + "\t" + harmless(description, true) + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string typed_, before_, text_;
};

std::string values(const CLI::App& command, CLI::Option& option, const Invocation& invocation, std::string typed,
                   std::string before) {
  const std::string type = option.get_type_name();
  if (type == "FILE" || type == "DIR") return ":files\n";
  // For `a,b,c`: the text after the last comma.
  if (const auto comma = typed.rfind(','); comma != std::string::npos && option.get_delimiter() == ',') {
    before += typed.substr(0, comma + 1);
    typed.erase(0, comma + 1);
  }
  Candidates candidates{typed, before};
  for (const std::string& word : choices_of(option)) candidates.add(word, "");
  if (const std::string kind = kind_of(command, option); !kind.empty()) {
    for (const std::string& word : words_of(invocation, kind)) candidates.add(word, "");
  }
  return candidates.text();
}

std::string options(const WordPlace& place, const std::string& typed) {
  Candidates candidates{typed, ""};
  for (CLI::App* command = place.command; command != nullptr; command = command->get_parent()) {
    for (const CLI::Option* option : command->get_options()) {
      const bool is_given = std::find(place.given.begin(), place.given.end(), option) != place.given.end();
      if (is_given && !takes_several(*option)) continue;
      // -h, --help stands in every command of the tree.
      if (command != place.command && option == command->get_help_ptr()) continue;
      for (const std::string& name : names_of(*option)) candidates.add(name, option->get_description());
    }
  }
  return candidates.text();
}

Candidates commands(const WordPlace& place, const std::string& typed) {
  Candidates candidates{typed, ""};
  if (place.arguments > 0) return candidates;
  for (CLI::App* command : place.command->get_subcommands([](CLI::App* of) { return !of->get_group().empty(); })) {
    candidates.add(command->get_name(), command->get_description());
  }
  return candidates;
}

std::string commands_or_argument(const WordPlace& place, const Invocation& invocation, const std::string& typed) {
  const Candidates candidates = commands(place, typed);
  CLI::Option* argument = positional(*place.command, place.arguments);
  return argument == nullptr ? candidates.text()
                             : candidates.text() + values(*place.command, *argument, invocation, typed, "");
}

// --- scripts ---------------------------------------------------------------------------------------------------------

constexpr const char* bash_script = R"(# Completion of dogged for bash: source <(dogged completion bash)
_dogged() {
  local line=${COMP_LINE:0:COMP_POINT} words current candidate
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${words[-1]}
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == :files ]]; then
      compopt -o default
      return
    fi
    COMPREPLY+=("${candidate%%$'\t'*}")
  done < <("${COMP_WORDS[0]}" __complete "${words[@]:1}" 2>/dev/null)
  # To bash, what stands before the last = or : is a word of its own.
  local before=${current%"${current##*[=:]}"}
  [[ $COMP_WORDBREAKS == *=* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -F _dogged dogged
)";

constexpr const char* zsh_script = R"(#compdef dogged
# Completion of dogged for zsh: a file _dogged in a directory of $fpath, or source <(dogged completion zsh)
_dogged() {
  local -a lines described
  local line
  lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "${lines[1]}" == ":files" ]]; then
    _files
    return
  fi
  for line in "${lines[@]}"; do
    [[ -n "$line" ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( ${#described} )) && _describe dogged described
}
if [[ "${funcstack[1]}" == "_dogged" ]]; then
  _dogged "$@"
else
  compdef _dogged dogged
fi
)";

constexpr const char* fish_script = R"(# Completion of dogged for fish: dogged completion fish | source
function __dogged_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command $words[1] __complete $words[2..-1] 2>/dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else if set -q lines[1]
        printf '%s\n' $lines
    end
end
complete -c dogged -f -a '(__dogged_complete)'
)";

ExitCode print_script(const std::string& shell) {
  std::cout << (shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script);
  return ExitCode::ok;
}

}  // namespace

std::string completions(CLI::App& app, Invocation& invocation, std::vector<std::string> words) {
  if (const char* schema = std::getenv("DOGGED_SCHEMA"); schema != nullptr) invocation.schema = schema;
  WordPlace place{.command = &app, .given = {}};
  const std::string typed = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  const bool is_help = !words.empty() && words.front() == "help";
  if (is_help) words.erase(words.begin());
  if (typed.starts_with('-')) words = with_implied_list(app, std::move(words));
  for (const std::string& word : words) go_on(place, invocation, word);
  if (is_help && !typed.starts_with('-')) return commands(place, typed).text();
  if (place.awaiting_value != nullptr) return values(*place.command, *place.awaiting_value, invocation, typed, "");
  if (!typed.starts_with('-')) return commands_or_argument(place, invocation, typed);
  const auto equals = typed.find('=');
  if (equals == std::string::npos) return options(place, typed);
  CLI::Option* option = find_option(place.command, typed.substr(0, equals));
  if (option == nullptr) return "";
  return values(*place.command, *option, invocation, typed.substr(equals + 1), typed.substr(0, equals + 1));
}

void add_completion(CLI::App& app, Invocation& invocation) {
  const auto shell = std::make_shared<std::string>();
  add_command(
      app, invocation, "completion", "Print the completion script of a shell",
      "  source <(dogged completion bash)                                      for this shell\n"
      "  dogged completion bash > ~/.local/share/bash-completion/completions/dogged\n"
      "  dogged completion zsh  > \"${fpath[1]}/_dogged\"\n"
      "  dogged completion fish > ~/.config/fish/completions/dogged.fish\n"
      "\nCommands, options and their choices are completed, and the names of queues, tasks, workers, circuits and "
      "schedules\n"
      "where the database can be asked. `cmake --install` puts the scripts into place.",
      [shell] { return print_script(*shell); })
      ->add_option("shell", *shell, "bash, zsh or fish")
      ->type_name("SHELL")
      ->required()
      ->check(is_one_of({"bash", "zsh", "fish"}, "a shell"));
}

}  // namespace dogged::cli
