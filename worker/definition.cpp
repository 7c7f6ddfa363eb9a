// See definition.hpp.
#include "definition.hpp"

#include <map>
#include <set>
#include <string_view>

#include <dogged/resolved_retry_config.hpp>

namespace dogged::runtime {
namespace {

template <class Texts>
std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) (all += all.empty() ? "" : ", ") += text;
  return all;
}

Definition definition_from(const detail::RegisteredTask& task, const ExceptionMapper& exceptions) {
  Definition definition;
  definition.name = task.name;
  definition.queue = std::string{task.options.queue};
  definition.declared.rules.policy = task.options.retry;
  for (std::string_view code : task.options.auto_retry_for) definition.declared.rules.auto_retry_for.emplace_back(code);
  definition.declared.rules.max_losses = task.options.max_losses;
  definition.declared.rules.retry_lost = task.options.retry_lost;
  definition.declared.rules.dead_letter = task.options.dead_letter;
  definition.declared.policy_text = policy_to_text(task.options.retry);
  definition.in_force = std::make_shared<InForce>(definition.declared);
  definition.timeout = task.options.timeout;
  definition.exceptions = task.options.exceptions != nullptr ? task.options.exceptions() : exceptions;
  definition.circuit = std::string{task.options.circuit};
  definition.circuit_settings = task.options.circuit_settings;
  for (std::string_view pointer : task.options.redact) definition.redact.emplace_back(pointer);
  definition.run = task.run;
  return definition;
}

/// The places that operators have written to, each once: `environment RETRY_MAX_ATTEMPTS, file …`.
std::string configured_places(const RetrySources& sources) {
  std::set<std::string> places;
  for (const auto& [setting, source] : sources) {
    if (source != RetryOrigin{}.text && source != program_origin) places.insert(source);
  }
  return joined(places);
}

/// A circuit has one row: what one of its tasks says of it counts for all of them.
void share_circuit_settings(Definitions& definitions) {
  std::map<std::string_view, const Definition*> said;
  for (const auto& [name, definition] : definitions) {
    if (definition.circuit.empty() || definition.circuit_settings == CircuitBreakerSettings{}) continue;
    const auto [first, is_new] = said.try_emplace(definition.circuit, &definition);
    if (is_new || first->second->circuit_settings == definition.circuit_settings) continue;
    throw InvalidInput("the tasks " + first->second->name + " and " + name + " share the circuit \"" +
                           definition.circuit + "\", and give it different settings",
                       "give .circuit_settings to one of them, or circuits of their own to both");
  }
  for (auto& [name, definition] : definitions) {
    if (const auto found = said.find(definition.circuit); found != said.end()) {
      definition.circuit_settings = found->second->circuit_settings;
    }
  }
}

}  // namespace

std::string Declaration::to_text() const {
  std::string text = policy_text;
  text += rules.auto_retry_for.empty() ? ", retried for no code" : ", retried for " + joined(rules.auto_retry_for);
  if (!rules.dead_letter) text += ", no dead letters";
  const std::string places = configured_places(sources);
  return places.empty() ? text : text + " (by " + places + ")";
}

bool decide_alike(const Declaration& one, const Declaration& other) {
  return one.policy_text == other.policy_text && one.rules.auto_retry_for == other.rules.auto_retry_for &&
         one.rules.dead_letter == other.rules.dead_letter;
}

void InForce::replace_by(Declaration declaration) {
  const std::scoped_lock lock{mutex_};
  all_.push_back(std::move(declaration));
  current_ = &all_.back();
}

Definitions make_definitions(const std::vector<detail::RegisteredTask>& registered, const ExceptionMapper& exceptions) {
  if (registered.empty()) {
    throw InvalidInput("this program registers no task",
                       "declare one with TASK_REGISTER, and build the worker with dogged_add_worker(name SOURCES …): a "
                       "linker drops registrations that stand in a static library");
  }
  Definitions definitions;
  std::string twice;
  for (const detail::RegisteredTask& task : registered) {
    if (definitions.emplace(task.name, definition_from(task, exceptions)).second) continue;
    twice += (twice.empty() ? "" : ", ") + task.name;
  }
  share_circuit_settings(definitions);
  if (!twice.empty()) {
    throw InvalidInput("registered more than once: " + twice,
                       "a worker has one handler for a task: remove a TASK_REGISTER, or give it a key of its own");
  }
  return definitions;
}

}  // namespace dogged::runtime
