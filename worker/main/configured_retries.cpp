// See configured_retries.hpp.
#include "main/configured_retries.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include <dogged/error.hpp>

#include "retry/retry_config_fields.hpp"
#include "retry/retry_settings_json.hpp"
#include "tasks/in_force.hpp"
#include "text/message.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t most_bytes = 1024 * 1024;  // as from_json takes

constexpr std::string_view breaker_field = "circuit_breaker";
/// In the sources, this key stands for the delays of policy_type circuit_breaker, and for nothing else.
constexpr std::string_view recovery_field = "recovery_timeout";

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};

[[noreturn]] void refuse_file(const std::string& path, int error) {
  throw InvalidInput("--retry-config: cannot read the file \"" + path + "\": " + std::strerror(error),
                     "name a JSON file that this user may read");
}

std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file{std::fopen(path.c_str(), "rbe")};
  if (!file) refuse_file(path, errno);
  std::string text(most_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) refuse_file(path, errno);
  if (text.size() > most_bytes) refuse_file(path, EFBIG);
  return text;
}

const ResolvedRetryField& field_of(const ResolvedRetryConfig& resolved, std::string_view name) {
  return *std::find_if(resolved.fields.begin(), resolved.fields.end(),
                       [name](const ResolvedRetryField& field) { return field.name == name; });
}

/// Where it is said that there is a breaker, or that there is none.
const RetryOrigin& origin_of_breaker(const ResolvedRetryConfig& resolved) {
  const bool by_type = !resolved.config.circuit_breaker && resolved.config.breaker();
  return field_of(resolved, by_type ? "policy_type" : breaker_field).origin;
}

bool is_configured(const RetryOrigin& origin) {
  return origin.layer != RetryLayer::built_in && origin.layer != RetryLayer::program;
}

RetryLayers layers_of(const Definition& definition, const RetryConfigFile* file, const Environment& environment) {
  const lifecycle::Rules& rules = definition.declared.rules;
  RetryLayers layers;
  layers.operation = definition.name;
  layers.fallback = default_retry_policy;
  if (rules.policy != RetryPolicy{default_retry_policy}) layers.policy = rules.policy;
  if (!rules.auto_retry_for.empty()) layers.auto_retry_for = rules.auto_retry_for;
  if (!rules.dead_letter) layers.dead_letter_enabled = false;
  if (!definition.circuit.empty()) layers.circuit_breaker = definition.circuit_settings;
  layers.file = file;
  layers.environment = environment;
  return layers;
}

RetrySources sources_of(const ResolvedRetryConfig& resolved) {
  RetrySources sources;
  for (const ResolvedRetryField& field : resolved.fields) {
    if (field.used) sources.emplace(field.name, field.origin.text);
  }
  sources[std::string{breaker_field}] = origin_of_breaker(resolved).text;
  // A single attempt is the policy `none`, whatever the policy_type was.
  const bool has_retries = !std::holds_alternative<NoRetry>(resolved.config.policy());
  if (!has_retries && sources.count("max_attempts") > 0) sources["policy_type"] = sources["max_attempts"];
  if (has_retries && resolved.config.policy_type == RetryPolicyType::circuit_breaker) {
    sources.emplace(recovery_field, origin_of_breaker(resolved).text);
  }
  return sources;
}

Declaration declaration_from(const ResolvedRetryConfig& resolved, Declaration declaration) {
  declaration.rules.policy = resolved.config.policy();
  declaration.rules.auto_retry_for = resolved.config.auto_retry_for.value_or(std::vector<std::string>{});
  declaration.rules.dead_letter = resolved.config.dead_letter_enabled;
  declaration.policy_text = policy_to_text(declaration.rules.policy);
  declaration.sources = sources_of(resolved);
  return declaration;
}

/// `max_attempts = 6 (environment RETRY_MAX_ATTEMPTS), …`
std::string configured_settings(const ResolvedRetryConfig& resolved) {
  std::string text;
  for (const ResolvedRetryField& field : resolved.fields) {
    if (!field.used || !is_configured(field.origin)) continue;
    (text += text.empty() ? "" : ", ") += field.to_text();
  }
  return text;
}

/// Whether the setting matters only if failures are retried. A circuit may be shared with another task, or be opened by
/// hand.
bool is_of_retries(std::string_view name) {
  return name != "dead_letter_enabled" && name != breaker_field && name != "auto_retry_for";
}

/// Where the file's entry for the task, and variables for the task alone, set something of retries.
std::vector<std::string> own_places(const std::string& task, const ResolvedRetryConfig& resolved,
                                    const RetryConfigFile* file) {
  std::vector<std::string> places;
  if (file != nullptr && file->tasks.count(task) > 0) {
    const RetrySettings& entry = file->tasks.find(task)->second;
    const std::string place = "file " + file->name + " /tasks/" + pointer_step(task) + "/";
    if (entry.preset) places.push_back(place + "preset");
    for_each_config_field([&](const auto& field) {
      const bool is_said = (entry.*field.in_settings).has_value() && is_of_retries(field.name);
      if (is_said) places.push_back(place + std::string{field.name});
    });
  }
  for (const ResolvedRetryField& field : resolved.fields) {
    if (field.used && field.origin.layer == RetryLayer::operation_environment) places.push_back(field.origin.text);
  }
  return places;
}

/// Says that the settings of the task's retries do nothing, those of operators first; empty if they do something, or if
/// nobody has set any.
std::string warning_of(const std::string& task, const Declaration& registered, const ResolvedRetryConfig& resolved,
                       const RetryConfigFile* file) {
  const bool has_codes = resolved.config.auto_retry_for && !resolved.config.auto_retry_for->empty();
  if (has_codes || std::holds_alternative<NoRetry>(resolved.config.policy())) return {};
  const std::vector<std::string> places = own_places(task, resolved, file);
  if (places.empty()) {
    if (registered.policy_text == policy_to_text(default_retry_policy)) return {};
    return "task " + task +
           ": its .retry is never used, because its .auto_retry_for lists no code, so that no failure " +
           "is retried; list codes, or \"*\" for all";
  }
  const RetryOrigin& says_none = field_of(resolved, "auto_retry_for").origin;
  std::string text;
  for (const std::string& place : places) (text += text.empty() ? "" : ", ") += place;
  text += (places.size() == 1 ? " has" : " have") + std::string{" no effect: auto_retry_for of task "} + task +
          " is empty (" + says_none.text + "), so that no failure is retried; list codes ";
  if (is_configured(says_none)) return text + "there";
  return text + "in its TASK_REGISTER, or as auto_retry_for of /tasks/" + pointer_step(task) +
         " in the file of --retry-config";
}

/// Operators' settings for a circuit, and the task that has them.
struct ConfiguredCircuit {
  std::string task;
  CircuitBreakerSettings settings;
  std::string origin;
};
using ConfiguredCircuits = std::map<std::string, ConfiguredCircuit, std::less<>>;

/// A task without a circuit in its TASK_REGISTER gets one of its own. True if the task has another circuit now, or
/// none.
bool configure_circuit(Definition& definition, const ResolvedRetryConfig& resolved, ConfiguredCircuits& configured) {
  const auto breaker = resolved.config.breaker();
  if (!breaker) return !std::exchange(definition.circuit, {}).empty();
  const RetryOrigin& origin = origin_of_breaker(resolved);
  const bool is_new = definition.circuit.empty();
  if (is_new) definition.circuit = definition.name;
  definition.declared.sources["circuit"] = is_new ? origin.text : std::string{program_origin};
  const bool is_other = is_new || definition.circuit_settings != *breaker;
  definition.circuit_settings = *breaker;
  if (!is_configured(origin)) return is_other;
  const auto [first, is_first] =
      configured.try_emplace(definition.circuit, ConfiguredCircuit{definition.name, *breaker, origin.text});
  if (is_first || first->second.settings == *breaker) return is_other;
  throw InvalidPolicy(std::string{breaker_field}, origin.text + ": the tasks " + first->second.task + " and " +
                                                      definition.name + " share the circuit \"" + definition.circuit +
                                                      "\", and " + first->second.origin +
                                                      " gives it other settings; give both the same, or leave one out");
}

/// A circuit has one row, so what operators set for one of its tasks counts for all of them.
void share_configured_circuits(Definitions& definitions, const ConfiguredCircuits& configured) {
  for (auto& [name, definition] : definitions) {
    const auto found = configured.find(definition.circuit);
    if (found == configured.end()) continue;
    definition.circuit_settings = found->second.settings;
    definition.declared.sources.insert_or_assign(std::string{breaker_field}, found->second.origin);
  }
}

}  // namespace

RetryConfigFile read_retry_config(const std::string& path) { return RetryConfigFile::from_json(read_file(path), path); }

ConfiguredRetries configure_retries(Definitions& definitions, const RetryConfigFile* file,
                                    const Environment& environment) {
  ConfiguredRetries configured;
  ConfiguredCircuits circuits;
  for (auto& [name, definition] : definitions) {
    const ResolvedRetryConfig resolved = resolve_retry_config(layers_of(definition, file, environment));
    const Declaration registered = std::exchange(definition.declared, declaration_from(resolved, definition.declared));
    const bool has_other_circuit = configure_circuit(definition, resolved, circuits);
    if (has_other_circuit || !decide_alike(definition.declared, registered)) {
      configured.changes.push_back("task " + name + ": " + configured_settings(resolved) +
                                   "; TASK_REGISTER: " + registered.to_text());
    }
    std::string warning = warning_of(name, registered, resolved, file);
    if (!warning.empty()) configured.warnings.push_back(std::move(warning));
  }
  share_configured_circuits(definitions, circuits);
  for (auto& [name, definition] : definitions) definition.in_force = std::make_shared<InForce>(definition.declared);
  return configured;
}

std::vector<UnregisteredTask> unregistered_tasks(const RetryConfigFile& file, const Definitions& definitions) {
  Words registered;
  for (const auto& [name, definition] : definitions) registered.push_back(name);
  std::vector<UnregisteredTask> unregistered;
  for (const auto& [name, settings] : file.tasks) {
    if (definitions.find(name) == definitions.end())
      unregistered.push_back({name, suggestion_of_typo(name, registered)});
  }
  return unregistered;
}

}  // namespace dogged::runtime
