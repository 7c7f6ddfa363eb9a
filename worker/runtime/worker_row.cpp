// See worker_row.hpp.
#include "runtime/worker_row.hpp"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "db/connection.hpp"
#include "sql/registration.hpp"
#include "tasks/definition.hpp"

namespace dogged::runtime {
namespace {

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.c_str();
}

/// By task name, where the version is not 1; null if all are 1.
std::optional<std::string> args_versions_of(const Definitions& definitions) {
  nlohmann::json versions;
  for (const auto& [name, definition] : definitions) {
    if (definition.args_version != 1) versions[name] = definition.args_version;
  }
  return versions.is_null() ? std::nullopt : std::optional{versions.dump()};
}

}  // namespace

std::optional<Registration> register_worker(db::Connection& connection, const WorkerRow& row,
                                            const Definitions& definitions, std::optional<std::int64_t> previous) {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions) names.push_back(name);
  connection.run(sql::EndLeaseOfName{.name = row.name});
  std::optional<Registration> registered;
  const auto asked_at = SteadyClock::now();
  connection.transaction([&] {
    if (previous) connection.run(sql::EndLease{.worker_id = *previous, .pid = ::getpid(), .host = host_name()});
    const db::ClockMeasurement clock{row.clock};
    const auto inserted = connection.run(sql::RegisterWorker{.name = row.name,
                                                             .host = host_name(),
                                                             .pid = ::getpid(),
                                                             .version = DOGGED_VERSION,
                                                             .queues = nlohmann::json(row.queues).dump(),
                                                             .task_names = names,
                                                             .lease_ms = row.lease.count(),
                                                             .args_versions = args_versions_of(definitions)});
    if (inserted.empty()) return;
    registered = Registration{inserted.front().id, asked_at, clock.offset_from(inserted.front().now_us)};
    connection.run(sql::AnnounceWorker{});
  });
  return registered;
}

std::optional<NameHolder> find_holder(db::Connection& connection, const std::string& name) {
  const auto holders = connection.run(sql::NameHolder{.name = name});
  if (holders.empty()) return std::nullopt;
  const auto& [id, host, pid, heartbeat_at_us, lapses_in_ms] = holders.front();
  return NameHolder{id, heartbeat_at_us, milliseconds{lapses_in_ms},
                    "worker " + std::to_string(id) + " (pid " + std::to_string(pid) + " on " + host + ")"};
}

}  // namespace dogged::runtime
