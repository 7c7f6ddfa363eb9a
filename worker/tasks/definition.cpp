// See definition.hpp.
#include "tasks/definition.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <variant>

#include <dogged/detail/registration.hpp>
#include <dogged/resolved_retry_config.hpp>

#include "tasks/custom_policies.hpp"
#include "tasks/in_force.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged::runtime {
namespace {

template <class Texts>
std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) (all += all.empty() ? "" : ", ") += text;
  return all;
}

/// If both the option and the key name a queue, they name the same.
std::string queue_of(const detail::RegisteredTask& task) {
  const auto& said = task.options.queue;
  const auto& of_key = task.key_queue;
  if (said && of_key && *said != *of_key) {
    throw InvalidInput("the task " + task.name + " is registered for the queue \"" + std::string{*said} +
                           "\", and its key names \"" + std::string{*of_key} + "\"",
                       "leave .queue out of its TASK_REGISTER: producers enqueue to the queue of the key");
  }
  return std::string{task.queue()};
}

/// In the order of the enum: the compiler's messages for a TASK_REGISTER.
constexpr std::array<std::string_view, 13> option_rules{
    "queue must be 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit",
    "auto_retry_for must have at most 64 codes",
    "auto_retry_for must have codes of 1 to 64 of A-Z 0-9 _ beginning with a letter",
    "timeout must be 1ms to 24h, or 0 for none",
    "max_losses must be 1 to 100",
    "max_snoozes must be 0 to 1000000",
    "circuit must be 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit",
    "circuit_settings need a circuit",
    "circuit_settings.failure_threshold must be 1 to 1000",
    "circuit_settings.recovery_timeout must be 1ms to 24h",
    "circuit_settings.success_threshold must be 1 to 1000",
    "redact must have at most 16 JSON pointers",
    "redact must have JSON pointers of at most 256 bytes, each \"\" or beginning with a slash",
};

std::string given_text(std::monostate) { return {}; }
std::string given_text(std::string_view text) { return ", and is " + in_quotes(text); }
std::string given_text(std::int64_t number) { return ", and is " + std::to_string(number); }
std::string given_text(milliseconds time) { return ", and is " + duration_to_text(time); }

void require_sound_options(const detail::RegisteredTask& task) {
  if (const auto found = detail::find_option_mistake(task.options)) {
    const std::string given = std::visit([](auto value) { return given_text(value); }, found->value);
    throw InvalidInput("the task " + task.name + ": " +
                       std::string{option_rules[static_cast<std::size_t>(found->rule)]} + given);
  }
  require_valid(task.options.retry);
}

Definition definition_from(const detail::RegisteredTask& task, const ExceptionMapper& exceptions,
                           const Middlewares& middleware) {
  require_sound_options(task);
  Definition definition;
  definition.name = task.name;
  definition.queue = queue_of(task);
  definition.declared.rules.policy = task.options.retry;
  for (std::string_view code : task.options.auto_retry_for) definition.declared.rules.auto_retry_for.emplace_back(code);
  definition.declared.rules.max_losses = task.options.max_losses;
  definition.declared.rules.max_snoozes = task.options.max_snoozes;
  definition.declared.rules.retry_lost = task.options.retry_lost;
  definition.declared.rules.dead_letter = task.options.dead_letter;
  definition.declared.policy_text = policy_to_text(task.options.retry);
  definition.in_force = std::make_shared<InForce>(definition.declared);
  definition.timeout = task.options.timeout;
  definition.exceptions = task.options.exceptions != nullptr ? task.options.exceptions() : exceptions;
  definition.middleware = middleware;
  if (task.options.middleware != nullptr) {
    const Middlewares& own = task.options.middleware();
    definition.middleware.insert(definition.middleware.end(), own.begin(), own.end());
  }
  definition.circuit = std::string{task.options.circuit};
  definition.circuit_settings = task.options.circuit_settings;
  for (std::string_view pointer : task.options.redact) definition.redact.emplace_back(pointer);
  definition.completes_in_transaction = task.options.completes_in_transaction;
  definition.run = task.run;
  definition.args_version = task.args_version;
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

/// A circuit has one row, so what one of its tasks declares counts for all of them.
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
  if (rules.max_snoozes != TaskOptions{}.max_snoozes) text += ", snoozes at most " + std::to_string(rules.max_snoozes);
  const std::string places = configured_places(sources);
  return places.empty() ? text : text + " (by " + places + ")";
}

bool decide_alike(const Declaration& one, const Declaration& other) {
  return one.policy_text == other.policy_text && one.rules.auto_retry_for == other.rules.auto_retry_for &&
         one.rules.dead_letter == other.rules.dead_letter && one.rules.max_snoozes == other.rules.max_snoozes;
}

Definitions make_definitions(const std::vector<detail::RegisteredTask>& registered, const ExceptionMapper& exceptions,
                             const Middlewares& middleware) {
  if (registered.empty()) {
    throw InvalidInput("this program registers no task",
                       "declare one with TASK_REGISTER, and build the worker with dogged_add_worker(name SOURCES …): a "
                       "linker drops registrations that stand in a static library");
  }
  const auto no_policies = std::make_shared<const CustomPolicies>(std::map<std::string, DelayFunction>{}, nullptr);
  Definitions definitions;
  std::string twice;
  for (const detail::RegisteredTask& task : registered) {
    const auto [made, is_new] = definitions.emplace(task.name, definition_from(task, exceptions, middleware));
    made->second.policies = no_policies;
    if (is_new) continue;
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
