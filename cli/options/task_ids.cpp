// Ids of tasks on the command line and on stdin.
#include "cli/options/task_ids.hpp"

#include <algorithm>

#include <unistd.h>

#include <dogged/error.hpp>

#include "cli/input/choices.hpp"
#include "cli/io/line_reader.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t most_ids_listed = 10;

void read_ids(TaskIds& ids, const std::string& nothing_done) {
  LineReader lines{STDIN_FILENO};
  std::string line;
  for (std::int64_t number = 1; ids.size() <= most_task_ids && lines.next(line); ++number) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty()) continue;
    if (const std::string mistake = is_task_id()(line); !mistake.empty()) {
      throw InvalidInput("line " + std::to_string(number) + " of stdin: " + mistake + " (" + nothing_done + ")");
    }
    ids.push_back(std::stoll(line));
  }
}

}  // namespace

CLI::Validator is_task_id_or_stdin() {
  return CLI::Validator{[](std::string& text) { return text == "-" ? std::string{} : is_task_id()(text); }, ""};
}

TaskIds task_ids_of(const std::vector<std::string>& words, const std::string& command,
                    const std::string& nothing_done) {
  TaskIds ids;
  for (const std::string& word : words) {
    if (word == "-") {
      read_ids(ids, nothing_done);
    } else {
      ids.push_back(std::stoll(word));
    }
  }
  if (ids.size() > most_task_ids) {
    throw InvalidInput("more than " + std::to_string(most_task_ids) + " tasks are too many at once; " + nothing_done,
                       "name them in parts: xargs -n 10000 dogged " + command);
  }
  return ids;
}

std::string listed(const TaskIds& ids) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ids.size(), most_ids_listed); ++i) {
    (text += i == 0 ? "" : ", ") += std::to_string(ids[i]);
  }
  if (ids.size() > most_ids_listed) text += " and " + std::to_string(ids.size() - most_ids_listed) + " more";
  return text;
}

}  // namespace dogged::cli
