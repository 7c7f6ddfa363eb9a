// See worker_row.hpp.
#include "runtime/worker_row.hpp"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "retry/duration.hpp"
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

std::optional<Registration> insert_row(db::Connection& connection, const WorkerRow& row, const Definitions& definitions,
                                       std::optional<std::int64_t> previous) {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions) names.push_back(name);
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

std::string holder_text(const sql::NameHolder::Row& holder) {
  return "worker " + std::to_string(holder.id) + " (pid " + std::to_string(holder.pid) + " on " + holder.host + ")";
}

/// Gives the worker that has the name; nothing if it has just gone.
std::optional<sql::NameHolder::Row> find_holder(db::Connection& connection, const WorkerRow& row,
                                                Registering& registering, spdlog::logger& log) {
  const auto holders = connection.run(sql::NameHolder{.name = row.name});
  if (holders.empty()) {
    (void)registering.on_holder(std::nullopt, SteadyClock::now());
    return std::nullopt;
  }
  const sql::NameHolder::Row& holder = holders.front();
  if (registering.on_holder(Registering::Holder{holder.id, holder.heartbeat_at_us}, SteadyClock::now())) {
    log.log(event("name_in_use"), spdlog::level::warn,
            "the name \"{}\" is in use by {}; waiting until its lease is renewed, or lapses in {}", row.name,
            holder_text(holder), duration_to_text(milliseconds{holder.lapses_in_ms}));
  }
  return holder;
}

}  // namespace

std::optional<Registration> register_worker(db::Connection& connection, const WorkerRow& row,
                                            const Definitions& definitions, std::optional<std::int64_t> previous,
                                            Registering& registering, const WakeFd& stop, spdlog::logger& log) {
  std::optional<Registration> registered;
  std::optional<sql::NameHolder::Row> holder;
  while (true) {
    const Registering::Action action = registering.next(SteadyClock::now(), stop.is_readable());
    switch (action.step) {
      case Registering::Step::ask:
        connection.run(sql::EndLeaseOfName{.name = row.name});  // upkeep ends the leases of other names later
        registered = insert_row(connection, row, definitions, previous);
        registered ? registering.on_registered() : registering.on_name_taken();
        break;
      case Registering::Step::find_holder:
        holder = find_holder(connection, row, registering, log);
        break;
      case Registering::Step::wait:
        (void)stop.wait_until(action.until);
        break;
      case Registering::Step::refuse:
        throw InvalidInput(
            "the name \"" + row.name + "\" is in use: " + holder_text(holder.value()) + " has just renewed its lease",
            "give each worker a name of its own with --name, or none: then it is made of host and process id");
      case Registering::Step::registered:
      case Registering::Step::fail:
      case Registering::Step::stop:
        return registered;
    }
  }
}

}  // namespace dogged::runtime
