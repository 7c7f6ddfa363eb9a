// See adopted_declarations.hpp.
#include "upkeep/adopted_declarations.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>

#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "sql/registration.hpp"
#include "tasks/custom_policies.hpp"
#include "tasks/in_force.hpp"
#include "tasks/published.hpp"

namespace dogged::runtime {
namespace {

Declaration declaration_of(const sql::DifferingDefinitions::Row& other) {
  Declaration stored;
  stored.rules.policy = policy_from_json(other.retry_policy);
  for (const auto& code : nlohmann::json::parse(other.auto_retry_for)) {
    stored.rules.auto_retry_for.push_back(code.get<std::string>());
  }
  stored.rules.retry_lost = other.retry_lost;
  stored.rules.max_losses = other.max_losses;
  stored.rules.max_snoozes = other.max_snoozes;
  stored.rules.dead_letter = other.dead_letter;
  stored.policy_text = policy_to_text(stored.rules.policy);
  nlohmann::json::parse(other.retry_sources).get_to(stored.sources);
  return stored;
}

}  // namespace

AdoptedDeclarations::AdoptedDeclarations(std::shared_ptr<const Definitions> definitions,
                                         std::shared_ptr<spdlog::logger> log)
    : definitions_(std::move(definitions)), log_(std::move(log)) {}

void AdoptedDeclarations::compare(db::Connection& connection) {
  std::set<std::string> differing;
  for (const auto& other : connection.run(differing_definitions(*definitions_))) {
    differing.insert(other.name);
    adopt(other);
  }
  give_up_all_but(differing);
}

void AdoptedDeclarations::adopt(const sql::DifferingDefinitions::Row& other) {
  const std::string& name = other.name;
  Declaration stored;
  try {
    stored = declaration_of(other);
    definitions_->find(name)->second.policies->bind(name, stored.rules);
  } catch (const InvalidInput& error) {  // a policy that this program does not know, or does not have
    return tell_of_unreadable(other, error.what());
  } catch (const nlohmann::json::exception& error) {
    return tell_of_unreadable(other, error.what());
  }
  unreadable_.erase(name);
  InForce& in_force = *definitions_->find(name)->second.in_force;
  if (decide_alike(stored, in_force.current())) return;
  log_->log(
      event("declaration_adopted"), spdlog::level::warn,
      "task {}: a worker of version {} that started later declares it differently; its declaration counts from now on, "
      "here as well: {}",
      name, other.version, stored.to_text());
  in_force.replace_by(std::move(stored));
  adopted_.insert(name);
}

/// Once, until the declaration can be read.
void AdoptedDeclarations::tell_of_unreadable(const sql::DifferingDefinitions::Row& other, std::string_view reason) {
  if (!unreadable_.insert(other.name).second) return;
  log_->log(event("declaration_unreadable"), spdlog::level::warn,
            "task {}: its declaration by a worker of version {} cannot be read here, and does not count here: {}",
            other.name, other.version, reason);
}

void AdoptedDeclarations::give_up_all_but(const std::set<std::string>& differing) {
  std::erase_if(adopted_, [&](const std::string& name) {
    if (differing.contains(name)) return false;
    const Definition& definition = definitions_->find(name)->second;
    log_->log(event("declaration_restored"), spdlog::level::info,
              "task {}: this worker's own declaration counts again: {}", name, definition.declared.to_text());
    definition.in_force->replace_by(definition.declared);
    return true;
  });
}

}  // namespace dogged::runtime
