// See worker_row.hpp.
#include "runtime/worker_row.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "retry/duration.hpp"
#include "sql/registration.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds between_tries{100};

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.c_str();
}

/// The name of a file may be any bytes.
std::string to_json(const RetrySources& sources) {
  return nlohmann::json(sources).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
    const auto pid = static_cast<std::int64_t>(::getpid());
    if (previous) connection.run(sql::end_lease, db::Params{}.add(*previous).add(pid).add(host_name()));
    const db::ClockMeasurement clock{row.clock};
    const db::Rows inserted = connection.run(sql::register_worker, db::Params{}
                                                                       .add(row.name)
                                                                       .add(host_name())
                                                                       .add(pid)
                                                                       .add(DOGGED_VERSION)
                                                                       .add(nlohmann::json(row.queues).dump())
                                                                       .add(names)
                                                                       .add(std::int64_t{row.lease.count()})
                                                                       .add(args_versions_of(definitions)));
    if (inserted.empty()) return;
    const db::Row own = inserted.one();
    registered = Registration{own.number("id"), asked_at, clock.offset_from(own.number("now_us"))};
    connection.run(sql::announce_worker);
  });
  return registered;
}

}  // namespace

db::Params definition_params(const Definitions& definitions) {
  std::vector<std::string> names, queues, policies, codes;
  std::vector<std::optional<std::int64_t>> timeouts_ms;
  std::vector<std::string> retry_lost, dead_letter;
  std::vector<std::optional<std::string>> circuits;
  std::vector<std::int64_t> max_losses;
  for (const auto& [name, definition] : definitions) {
    names.push_back(name);
    queues.push_back(definition.queue);
    policies.push_back(policy_to_json(definition.declared.rules.policy));
    codes.push_back(nlohmann::json(definition.declared.rules.auto_retry_for).dump());
    timeouts_ms.push_back(definition.timeout.count() > 0 ? std::optional{std::int64_t{definition.timeout.count()}}
                                                         : std::nullopt);
    retry_lost.emplace_back(definition.declared.rules.retry_lost ? "t" : "f");
    max_losses.push_back(definition.declared.rules.max_losses);
    dead_letter.emplace_back(definition.declared.rules.dead_letter ? "t" : "f");
    circuits.push_back(definition.circuit.empty() ? std::nullopt : std::optional{definition.circuit});
  }
  db::Params params;
  params.add(names).add(queues).add(policies).add(codes).add(timeouts_ms).add(retry_lost).add(max_losses);
  params.add(dead_letter).add(circuits);
  return params;
}

namespace {

/// The parameter of publish_circuits.sql; empty if no task has a circuit.
std::optional<db::Params> circuit_params(const Definitions& definitions) {
  std::map<std::string, CircuitBreakerSettings> circuits;
  for (const auto& [name, definition] : definitions) {
    if (!definition.circuit.empty()) circuits[definition.circuit] = definition.circuit_settings;
  }
  if (circuits.empty()) return std::nullopt;
  std::vector<std::string> names;
  std::vector<std::int64_t> failure_thresholds, recovery_timeouts_ms, success_thresholds;
  for (const auto& [name, settings] : circuits) {
    names.push_back(name);
    failure_thresholds.push_back(settings.failure_threshold);
    recovery_timeouts_ms.push_back(settings.recovery_timeout.count());
    success_thresholds.push_back(settings.success_threshold);
  }
  return db::Params{}.add(names).add(failure_thresholds).add(recovery_timeouts_ms).add(success_thresholds);
}

}  // namespace

void publish_definitions(db::Connection& connection, const Definitions& definitions, const WorkerRow& row,
                         spdlog::logger& log) {
  std::set<std::string> served;
  for (const auto& [queue, concurrency] : row.queues) served.insert(queue);
  for (const auto& [name, definition] : definitions) served.insert(definition.queue);
  std::vector<std::string> sources, redact;
  std::vector<std::int64_t> args_versions;
  for (const auto& [name, definition] : definitions) {
    sources.push_back(to_json(definition.declared.sources));
    redact.push_back(nlohmann::json(definition.redact).dump());
    args_versions.push_back(definition.args_version);
  }
  for (const db::Row& other : connection.run(sql::differing_definitions, definition_params(definitions))) {
    log.warn(
        "task {}: this worker declares it differently than the worker of version {} that published it last; now this "
        "declaration counts, for other workers as well: {}",
        other.text("name"), other.text("version"), definitions.find(other.text("name"))->second.declared.to_text());
  }
  connection.transaction([&] {
    connection.run(sql::create_queues, db::Params{}.add(std::vector<std::string>{served.begin(), served.end()}));
    if (const auto circuits = circuit_params(definitions)) connection.run(sql::publish_circuits, *circuits);
    connection.run(sql::publish_definitions,
                   definition_params(definitions).add(DOGGED_VERSION).add(sources).add(redact).add(args_versions));
    connection.run(sql::announce_worker);  // after the publication, so that the others have something to compare with
  });
}

std::optional<Registration> register_worker(db::Connection& connection, const WorkerRow& row,
                                            const Definitions& definitions, std::optional<std::int64_t> previous,
                                            const WakeFd& stop, spdlog::logger& log) {
  std::optional<std::int64_t> last_seen_us;
  while (true) {
    connection.run(sql::end_lease_of_name, db::Params{}.add(row.name));  // upkeep ends the leases of other names later
    if (const auto registered = insert_row(connection, row, definitions, previous)) return registered;

    const db::Rows holder = connection.run(sql::name_holder, db::Params{}.add(row.name));
    if (holder.empty()) continue;  // the other worker has just gone
    const db::Row other = holder.one();
    const std::string who = "worker " + std::to_string(other.number("id")) + " (pid " +
                            std::to_string(other.number("pid")) + " on " + std::string{other.text("host")} + ")";
    if (last_seen_us && *last_seen_us != other.number("heartbeat_at_us")) {
      throw InvalidInput(
          "the name \"" + row.name + "\" is in use: " + who + " has just renewed its lease",
          "give each worker a name of its own with --name, or none: then it is made of host and process id");
    }
    if (!last_seen_us) {
      log.warn("the name \"{}\" is in use by {}; waiting until its lease is renewed, or lapses in {}", row.name, who,
               duration_to_text(milliseconds{other.number("lapses_in_ms")}));
      last_seen_us = other.number("heartbeat_at_us");
    }
    if (stop.wait_until(SteadyClock::now() + between_tries)) return std::nullopt;
  }
}

}  // namespace dogged::runtime
