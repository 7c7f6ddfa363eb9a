// See served_queues.hpp.
#include "tasks/served_queues.hpp"

#include <set>
#include <string_view>
#include <vector>

#include <dogged/error.hpp>

#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "sql/registration.hpp"
#include "tasks/definition.hpp"
#include "text/counted.hpp"
#include "text/message.hpp"

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
  for (const sql::UnknownQueues::Row& unknown : connection.run(sql::UnknownQueues{.names = names_in(queues)})) {
    if (declared.contains(unknown.name)) continue;
    std::string nearest = suggestion(unknown.name, {declared.begin(), declared.end()});
    if (nearest.empty() && unknown.nearest) nearest = "; nearest to it: " + *unknown.nearest;
    throw InvalidInput(
        "the queue \"" + unknown.name + "\" does not exist, and no task of this program names it" + nearest,
        "correct --queues, or make the queue with --create-queues or `dogged queues create`");
  }
}

void tell_of_unserved(db::Connection& connection, const std::map<std::string, int>& queues,
                      const Definitions& definitions, spdlog::logger& log) {
  if (const std::string unserved = undeclared_by(queues, definitions); !unserved.empty()) {
    log.log(event("queues_not_served"), spdlog::level::warn,
            "this worker does not serve the queues of some of its tasks: {}", unserved);
  }
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions) names.push_back(name);
  const std::string& schema = connection.settings().schema;
  const std::string of_schema = schema == db::Settings{}.schema ? "" : " --schema " + schema;
  for (const auto& [queue, name, tasks, args_version, is_all] :
       connection.run(sql::StrandedTasks{.most = most_looked_through, .queues = names_in(queues), .names = names})) {
    const Definition& own = definitions.find(name)->second;
    if (queues.contains(queue)) {
      log.log(event("tasks_for_newer_worker"), spdlog::level::warn,
              "{}{} of {} in the queue {} {} for a newer worker: their args are of version {}, and this worker knows "
              "version {}",
              is_all ? "" : "at least ", counted(tasks, "task"), name, queue, tasks == 1 ? "waits" : "wait",
              args_version.value(), own.args_version);
      continue;
    }
    log.log(event("tasks_stranded"), spdlog::level::warn,
            "{}{} of {} {} in the queue {}, which no live worker that knows them serves: move them with "
            "`dogged tasks move{} --queue {} --name {} --to {}`, or serve it (--queues)",
            is_all ? "" : "at least ", counted(tasks, "task"), name, tasks == 1 ? "waits" : "wait", queue, of_schema,
            queue, name, queues.contains(own.queue) ? own.queue : queues.begin()->first);
  }
}

}  // namespace dogged::runtime
