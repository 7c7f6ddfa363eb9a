// See published.hpp.
#include "tasks/published.hpp"

#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "lifecycle/lifecycle.hpp"
#include "sql/registration.hpp"
#include "tasks/definition.hpp"

namespace dogged::runtime {
namespace {

/// The name of a file may be any bytes.
std::string to_json(const RetrySources& sources) {
  return nlohmann::json(sources).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The values of each task for publish_definitions.sql and differing_definitions.sql.
template <class Statement>
void add_definitions(Statement& statement, const Definitions& definitions) {
  for (const auto& [name, definition] : definitions) {
    const lifecycle::Rules& rules = definition.declared.rules;
    statement.names.push_back(name);
    statement.queues.push_back(definition.queue);
    statement.retry_policies.push_back(policy_to_json(rules.policy));
    statement.auto_retry_for.push_back(nlohmann::json(rules.auto_retry_for).dump());
    statement.timeouts_ms.push_back(
        definition.timeout.count() > 0 ? std::optional{std::int64_t{definition.timeout.count()}} : std::nullopt);
    statement.retry_lost.push_back(rules.retry_lost);
    statement.max_losses.push_back(rules.max_losses);
    statement.max_snoozes.push_back(rules.max_snoozes);
    statement.dead_letter.push_back(rules.dead_letter);
    statement.circuits.push_back(definition.circuit.empty() ? std::nullopt : std::optional{definition.circuit});
  }
}

sql::PublishDefinitions publication_of(const Definitions& definitions) {
  sql::PublishDefinitions publication{};
  publication.version = DOGGED_VERSION;
  add_definitions(publication, definitions);
  for (const auto& [name, definition] : definitions) {
    publication.retry_sources.push_back(to_json(definition.declared.sources));
    publication.redact.push_back(nlohmann::json(definition.redact).dump());
    publication.args_versions.push_back(definition.args_version);
  }
  return publication;
}

sql::PublishCircuits circuits_of(const Definitions& definitions) {
  std::map<std::string, CircuitBreakerSettings> circuits;
  for (const auto& [name, definition] : definitions) {
    if (!definition.circuit.empty()) circuits[definition.circuit] = definition.circuit_settings;
  }
  sql::PublishCircuits publication{};
  for (const auto& [name, settings] : circuits) {
    publication.names.push_back(name);
    publication.failure_thresholds.push_back(settings.failure_threshold);
    publication.recovery_timeouts_ms.push_back(settings.recovery_timeout.count());
    publication.success_thresholds.push_back(settings.success_threshold);
  }
  return publication;
}

}  // namespace

sql::DifferingDefinitions differing_definitions(const Definitions& definitions) {
  sql::DifferingDefinitions statement{};
  add_definitions(statement, definitions);
  return statement;
}

void publish_definitions(db::Connection& connection, const Definitions& definitions,
                         const std::map<std::string, int>& queues, spdlog::logger& log,
                         const std::function<void()>& also) {
  std::set<std::string> served;
  for (const auto& [queue, concurrency] : queues) served.insert(queue);
  for (const auto& [name, definition] : definitions) served.insert(definition.queue);
  const auto replaced = connection.run(differing_definitions(definitions));
  connection.transaction([&] {
    connection.run(sql::CreateQueues{.names = {served.begin(), served.end()}});
    if (const auto circuits = circuits_of(definitions); !circuits.names.empty()) connection.run(circuits);
    connection.run(publication_of(definitions));
    connection.run(sql::AnnounceWorker{});  // after the publication, so that the others have something to compare with
    also();
  });
  for (const auto& other : replaced) {
    log.log(
        event("declaration_replaced"), spdlog::level::warn,
        "task {}: this worker declares it differently than the worker of version {} that published it last; now this "
        "declaration counts, for other workers as well: {}",
        other.name, other.version, definitions.find(other.name)->second.declared.to_text());
  }
}

}  // namespace dogged::runtime
