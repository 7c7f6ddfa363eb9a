// See existing.hpp.
#include "cli/options/existing.hpp"

#include <algorithm>
#include <iterator>

#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

/// As the statements and the shells' completion call it.
std::string plural_of(Noun noun) {
  switch (noun) {
    case Noun::queue:
      return "queues";
    case Noun::task:
      return "tasks";
    case Noun::worker:
      return "workers";
    case Noun::circuit:
      return "circuits";
    case Noun::schedule:
      return "schedules";
  }
  return "";
}

std::string complaint(Noun noun, const std::string& name) {
  if (noun == Noun::task) return "no worker has declared a task " + in_quotes(name);
  return "there is no " + plural_of(noun).substr(0, plural_of(noun).size() - 1) + " " + in_quotes(name);
}

std::string where_to_look(Noun noun) {
  switch (noun) {
    case Noun::queue:
      return "`dogged queues list` lists them; a worker makes those of its tasks, and `dogged queues create` makes one";
    case Noun::task:
      return "names are published when a worker starts: dogged workers";
    case Noun::worker:
      return "`dogged workers --all` lists them";
    case Noun::circuit:
      return "workers make those that their tasks name (.circuit) when they start: dogged circuits list";
    case Noun::schedule:
      return "`dogged schedules list` lists them; `dogged schedules create` makes one";
  }
  return "";
}

}  // namespace

Failure not_there(db::Connection& connection, Noun noun, const std::string& name) {
  const auto there = connection.run(sql::CompletionWords{.kind = plural_of(noun)});
  Words words;
  for (const auto& [word] : there) words.push_back(word);
  return {ExitCode::not_done, complaint(noun, name) + suggestion(name, words), where_to_look(noun)};
}

void require_existing(db::Connection& connection, Noun noun, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const auto missing = connection.run(sql::MissingNames{.names = names, .kind = plural_of(noun)});
  if (!missing.empty()) throw not_there(connection, noun, missing.front().name);
}

void require_existing(db::Connection& connection, const FilterNames& names, bool was_found) {
  require_existing(connection, Noun::queue, names.queues);
  if (was_found) return;
  std::vector<std::string> tasks;
  std::copy_if(names.tasks.begin(), names.tasks.end(), std::back_inserter(tasks),
               [](const std::string& name) { return name.find_first_of("*?") == std::string::npos; });
  require_existing(connection, Noun::task, tasks);
  require_existing(connection, Noun::worker, names.workers);
}

}  // namespace dogged::cli
