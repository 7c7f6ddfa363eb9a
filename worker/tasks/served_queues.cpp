// See served_queues.hpp.
#include "tasks/served_queues.hpp"

#include <set>
#include <string_view>
#include <vector>

#include "retry/counted.hpp"
#include "sql/registration.hpp"

namespace dogged::runtime {
namespace {

constexpr std::int64_t most_looked_through = 10'000;  // of each queue; they take about 5 ms

std::vector<std::string> names_in(const std::map<std::string, int>& queues) {
  std::vector<std::string> names;
  for (const auto& [name, concurrency] : queues) names.push_back(name);
  return names;
}

/// The declared queues that `queues` lacks, each with its tasks: `webhooks (webhook.deliver, webhook.ping)`.
std::string undeclared_by(const std::map<std::string, int>& queues, const Definitions& definitions) {
  std::map<std::string, std::string> tasks_by_queue;
  for (const auto& [name, definition] : definitions) {
    if (queues.contains(definition.queue)) continue;
    std::string& tasks = tasks_by_queue[definition.queue];
    tasks += (tasks.empty() ? "" : ", ") + name;
  }
  std::string text;
  for (const auto& [queue, tasks] : tasks_by_queue) text += (text.empty() ? "" : ", ") + queue + " (" + tasks + ")";
  return text;
}

}  // namespace

void require_known_queues(db::Connection& connection, const std::map<std::string, int>& queues,
                          const Definitions& definitions) {
  std::set<std::string_view> declared;
  for (const auto& [name, definition] : definitions) declared.insert(definition.queue);
  for (const db::Row& row : connection.run(sql::unknown_queues, db::Params{}.add(names_in(queues)))) {
    if (declared.contains(row.text("name"))) continue;
    const std::string nearest = row.is_null("nearest") ? "" : "; nearest to it: " + std::string{row.text("nearest")};
    throw InvalidInput("the queue \"" + std::string{row.text("name")} +
                           "\" does not exist, and no task of this program names it" + nearest,
                       "correct --queues, or make the queue with --create-queues or `dogged queues create`");
  }
}

void tell_of_unserved(db::Connection& connection, const std::map<std::string, int>& queues,
                      const Definitions& definitions, spdlog::logger& log) {
  if (const std::string unserved = undeclared_by(queues, definitions); !unserved.empty()) {
    log.warn("this worker does not serve the queues of some of its tasks: {}", unserved);
  }
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions) names.push_back(name);
  for (const db::Row& row :
       connection.run(sql::stranded_tasks, db::Params{}.add(names).add(names_in(queues)).add(most_looked_through))) {
    const std::string_view name = row.text("name");
    const std::int64_t tasks = row.number("tasks");
    const Definition& own = definitions.find(name)->second;
    if (queues.contains(std::string{row.text("queue")})) {
      log.warn(
          "{}{} of {} in the queue {} {} for a newer worker: their args are of version {}, and this worker knows "
          "version {}",
          row.boolean("is_all") ? "" : "at least ", counted(tasks, "task"), name, row.text("queue"),
          tasks == 1 ? "waits" : "wait", row.number("args_version"), own.args_version);
      continue;
    }
    const std::string& queue = own.queue;
    log.warn(
        "{}{} of {} {} in the queue {}, which no live worker that knows them serves: move them with "
        "`dogged tasks move --queue {} --name {} --to {}`, or serve it (--queues)",
        row.boolean("is_all") ? "" : "at least ", counted(tasks, "task"), name, tasks == 1 ? "waits" : "wait",
        row.text("queue"), row.text("queue"), name, queues.contains(queue) ? queue : queues.begin()->first);
  }
}

}  // namespace dogged::runtime
