// See configured_retries.hpp.
#include "configured_retries.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <variant>

#include "retry/message.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t most_bytes = 1024 * 1024;  // as from_json takes

constexpr std::string_view breaker_field = "circuit_breaker";

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

void require_no_breaker(const std::string& task, const ResolvedRetryConfig& resolved) {
  if (!resolved.config.breaker()) return;
  const bool by_type = resolved.config.policy_type == RetryPolicyType::circuit_breaker;
  const std::string field{by_type ? "policy_type" : breaker_field};
  throw InvalidPolicy(field, field_of(resolved, field).origin.text +
                                 ": a worker does not take circuit_breaker yet for task " + task + "; " +
                                 (by_type ? "write exponential_backoff, linear_backoff, fixed_interval or no_retry"
                                          : "leave it out, or write false"));
}

RetryLayers layers_of(const Definition& definition, const RetryConfigFile* file, const Environment& environment) {
  const lifecycle::Rules& rules = definition.declared.rules;
  RetryLayers layers;
  layers.operation = definition.name;
  layers.fallback = default_retry_policy;
  if (rules.policy != RetryPolicy{default_retry_policy}) layers.policy = rules.policy;
  if (!rules.auto_retry_for.empty()) layers.auto_retry_for = rules.auto_retry_for;
  if (!rules.dead_letter) layers.dead_letter_enabled = false;
  layers.file = file;
  layers.environment = environment;
  return layers;
}

RetrySources sources_of(const ResolvedRetryConfig& resolved) {
  RetrySources sources;
  for (const ResolvedRetryField& field : resolved.fields) {
    if (field.used && field.name != breaker_field) sources.emplace(field.name, field.origin.text);
  }
  // A single attempt is the policy `none`, whatever the policy_type was.
  const bool has_retries = !std::holds_alternative<NoRetry>(resolved.config.policy());
  if (!has_retries && sources.count("max_attempts") > 0) sources["policy_type"] = sources["max_attempts"];
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

bool is_configured(const ResolvedRetryField& field) {
  return field.used && field.origin.layer != RetryLayer::built_in && field.origin.layer != RetryLayer::program;
}

/// `max_attempts = 6 (environment RETRY_MAX_ATTEMPTS), …`
std::string configured_settings(const ResolvedRetryConfig& resolved) {
  std::string text;
  for (const ResolvedRetryField& field : resolved.fields) {
    if (!is_configured(field)) continue;
    (text += text.empty() ? "" : ", ") +=
        std::string{field.name} + " = " + field.value + " (" + field.origin.text + ")";
  }
  return text;
}

}  // namespace

RetryConfigFile read_retry_config(const std::string& path) { return RetryConfigFile::from_json(read_file(path), path); }

std::vector<std::string> configure_retries(Definitions& definitions, const RetryConfigFile* file,
                                           const Environment& environment) {
  std::vector<std::string> changes;
  for (auto& [name, definition] : definitions) {
    const ResolvedRetryConfig resolved = resolve_retry_config(layers_of(definition, file, environment));
    require_no_breaker(name, resolved);
    Declaration declaration = declaration_from(resolved, definition.declared);
    if (!decide_alike(declaration, definition.declared)) {
      changes.push_back("task " + name + ": " + configured_settings(resolved) +
                        "; TASK_REGISTER: " + definition.declared.to_text());
    }
    definition.in_force = std::make_shared<InForce>(declaration);
    definition.declared = std::move(declaration);
  }
  return changes;
}

std::vector<UnregisteredTask> unregistered_tasks(const RetryConfigFile& file, const Definitions& definitions) {
  Words registered;
  for (const auto& [name, definition] : definitions) registered.push_back(name);
  std::vector<UnregisteredTask> unregistered;
  for (const auto& [name, settings] : file.tasks) {
    if (definitions.find(name) == definitions.end()) unregistered.push_back({name, suggestion(name, registered)});
  }
  return unregistered;
}

}  // namespace dogged::runtime
