// Lays the layers of retry settings over one another, and keeps which one said what.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <dogged/resolved_retry_config.hpp>

#include "retry/jitter_text.hpp"
#include "retry/retry_config_fields.hpp"
#include "retry/retry_environment.hpp"
#include "retry/retry_settings_json.hpp"
#include "text/duration.hpp"
#include "text/number_text.hpp"

namespace dogged {
namespace {

struct Layer {
  RetryLayer kind;
  std::string source;   ///< before the place: `file retry.json `
  std::string pointer;  ///< of the object in the file
  RetrySettings settings;
};

bool is_environment(RetryLayer kind) {
  return kind == RetryLayer::environment || kind == RetryLayer::operation_environment;
}

bool is_in_a_file(RetryLayer kind) { return kind == RetryLayer::file_defaults || kind == RetryLayer::file_task; }

/// Where the layer says the field; origin and error call it the same.
std::string place_in(const Layer& layer, std::string_view field) {
  const auto other = layer.settings.written_as.find(field);
  const bool has_other_name = other != layer.settings.written_as.end();
  if (is_environment(layer.kind)) {
    return layer.source + (has_other_name ? other->second : std::string{variable_of(field)});
  }
  if (is_in_a_file(layer.kind)) {
    return layer.source + layer.pointer + "/" + (has_other_name ? other->second : std::string{field});
  }
  return layer.source;
}

/// Whether the layer is about this operation alone.
bool is_specific(RetryLayer kind) { return kind == RetryLayer::file_task || kind == RetryLayer::operation_environment; }

/// A policy as a layer says what the policy_type uses, and nothing else.
RetrySettings settings_of_policy(const RetryConfig& config) {
  RetrySettings settings;
  for_each_config_field([&](const auto& field) {
    if (!is_in_use(field.name, field.used_by, config) || field.used_by == every_type) return;
    settings.*field.in_settings = config.*field.in_config;
  });
  settings.policy_type = config.policy_type;
  // A list has a first delay as well, for a layer above that asks for another policy_type.
  if (settings.intervals) settings.initial_delay = config.initial_delay;
  return settings;
}

RetrySettings settings_of_preset(const RetryPreset& preset) {
  RetrySettings settings = settings_of_policy(preset.config);
  settings.dead_letter_enabled = preset.config.dead_letter_enabled;
  return settings;
}

/// The one of the two that the policy uses.
std::string_view first_delay_of(const RetryConfig& config) {
  return config.intervals.empty() ? "initial_delay" : "intervals";
}

milliseconds longest_first_delay(const RetryConfig& config) {
  if (config.intervals.empty()) return config.initial_delay;
  milliseconds longest{0};
  const std::size_t kept = std::min<std::size_t>(config.intervals.size(), limits::max_retries);  // policy() counts them
  for (std::size_t i = 0; i < kept; ++i) longest = std::max(longest, config.intervals[i]);
  return longest;
}

bool is_cut(const RetryConfig& config) {
  return is_in_use("max_delay", delaying_types, config) && longest_first_delay(config) > config.max_delay;
}

std::string types_of(PolicyTypes types) {
  Words names;
  for (std::size_t i = 0; i < policy_type_names.size(); ++i) {
    if (is_used_by(types, static_cast<RetryPolicyType>(i))) names.push_back(policy_type_names[i]);
  }
  return alternatives(names);
}

class Resolver {
 public:
  void add(Layer layer) {
    if (layer.settings.preset) add_preset(*layer.settings.preset);
    ++height_;
    for_each_config_field([&](const auto& field) {
      const auto& said = layer.settings.*field.in_settings;
      if (!said) return;
      config_.*field.in_config = *said;
      set_origin(field.name, layer, field.name);
    });
    settle_list(layer);
    layers_.push_back({std::move(layer), height_});
  }

  void add_preset(const std::string& name) {
    const RetryPreset& preset = retry_preset(name);
    add({RetryLayer::preset, "preset " + std::string{preset.name}, "", settings_of_preset(preset)});
  }

  [[nodiscard]] const RetryConfig& config() const { return config_; }

  [[nodiscard]] ResolvedRetryConfig resolved() const {
    for (const Added& added : layers_) {
      if (!is_specific(added.layer.kind)) continue;
      require_effect(added.layer);
      require_uncut(added);
    }
    (void)config_.policy();  // throws where the settings do not fit together
    return {config_, fields()};
  }

 private:
  struct Said {
    std::size_t height = 0;
    RetryOrigin origin{};
  };
  struct Added {
    Layer layer;
    std::size_t height;
  };

  void set_origin(std::string_view name, const Layer& layer, std::string_view said_by) {
    said_[name] = {height_, {layer.kind, place_in(layer, said_by)}};
  }

  /// Of intervals and initial_delay, the setting of the higher layer holds.
  void settle_list(const Layer& layer) {
    const RetrySettings& settings = layer.settings;
    if (settings.intervals && !settings.intervals->empty() && !settings.max_attempts) {
      config_.max_attempts = static_cast<int>(settings.intervals->size()) + 1;
      set_origin("max_attempts", layer, "intervals");
    }
    if (settings.initial_delay && !settings.intervals && !config_.intervals.empty()) {
      config_.intervals = {};
      set_origin("intervals", layer, "initial_delay");
    }
  }

  [[nodiscard]] Said said(std::string_view name) const {
    const auto found = said_.find(name);
    return found == said_.end() ? Said{} : found->second;
  }

  void require_effect(const Layer& layer) const {
    const RetryPolicyType type = config_.policy_type;
    const std::string policy_type = "policy_type " + std::string{name_of(type)};
    for_each_config_field([&](const auto& field) {
      if (!(layer.settings.*field.in_settings) || is_used_by(field.used_by, type)) return;
      refuse_setting(field.name, place_in(layer, field.name),
                     " has no effect with " + policy_type + " (" + said("policy_type").origin.text +
                         "); it takes effect with " + types_of(field.used_by));
    });
    if (layer.settings.intervals && layer.settings.initial_delay) {
      refuse_setting("initial_delay", place_in(layer, "initial_delay"),
                     " has no effect beside intervals; leave one of them out");
    }
    const auto& breaker = layer.settings.circuit_breaker;
    if (breaker && !*breaker && type == RetryPolicyType::circuit_breaker) {
      refuse_setting("circuit_breaker", place_in(layer, "circuit_breaker"),
                     " cannot be false with " + policy_type + "; leave it out, or write its settings");
    }
  }

  void require_uncut(const Added& added) const {
    if (!is_cut(config_)) return;
    const std::string_view name = first_delay_of(config_);
    const Said ceiling = said("max_delay");
    if (said(name).height != added.height || ceiling.height >= added.height) return;
    const std::string text = duration_to_text(longest_first_delay(config_));
    refuse_setting(name, place_in(added.layer, name),
                   " is up to " + text + ", which max_delay, " + duration_to_text(config_.max_delay) + " (" +
                       ceiling.origin.text + "), would cut; set max_delay as well, " + text + " to 24h");
  }

  [[nodiscard]] std::vector<ResolvedRetryField> fields() const;

  RetryConfig config_;
  std::size_t height_ = 0;
  std::map<std::string_view, Said> said_;
  std::vector<Added> layers_;
};

std::string value_text(milliseconds value) { return duration_to_text(value); }
std::string value_text(int value) { return std::to_string(value); }
std::string value_text(double value) { return number_to_text(value); }
std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(const std::string& value) { return value.empty() ? "none" : value; }
std::string value_text(RetryPolicyType value) { return std::string{name_of(value)}; }
std::string value_text(const Jitter& value) { return jitter_to_text(value); }

std::string value_text(const Intervals& value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) (text += i > 0 ? "," : "") += duration_to_text(value[i]);
  return text.empty() ? "none" : text;
}

std::string value_text(const std::vector<std::string>& value) {
  std::string text;
  for (const std::string& code : value) (text += text.empty() ? "" : ",") += code;
  return text.empty() ? "none" : text;
}

std::string value_text(const CircuitBreakerSettings& value) {
  return "failure_threshold=" + std::to_string(value.failure_threshold) +
         " recovery_timeout=" + duration_to_text(value.recovery_timeout) +
         " success_threshold=" + std::to_string(value.success_threshold);
}

template <class Value>
std::string value_text(const std::optional<Value>& value) {
  return value ? value_text(*value) : "none";
}

/// As it applies, where the member alone does not say it.
std::string applied_text(std::string_view name, const std::string& text, const RetryConfig& config) {
  if (name == "increment") return value_text(config.increment.value_or(config.initial_delay));
  if (name == "circuit_breaker") return value_text(config.breaker());
  if (name == "auto_retry_for" && !config.auto_retry_for) return "not said";
  return text;
}

std::vector<ResolvedRetryField> Resolver::fields() const {
  std::vector<ResolvedRetryField> fields;
  for_each_config_field([&](const auto& field) {
    fields.push_back({.name = field.name,
                      .value = applied_text(field.name, value_text(config_.*field.in_config), config_),
                      .origin = said(field.name).origin,
                      .used = is_in_use(field.name, field.used_by, config_),
                      .cut = is_cut(config_) && field.name == first_delay_of(config_)});
  });
  return fields;
}

void add_file_task(Resolver& resolver, const RetryLayers& layers) {
  const auto task = layers.file->tasks.find(layers.operation);
  if (task == layers.file->tasks.end()) return;
  resolver.add({RetryLayer::file_task, "file " + layers.file->name + " ", "/tasks/" + pointer_step(layers.operation),
                task->second});
}

void add_program(Resolver& resolver, const RetryLayers& layers) {
  RetrySettings settings;
  if (layers.policy) settings = settings_of_policy(RetryConfig::from_policy(*layers.policy));
  settings.auto_retry_for = layers.auto_retry_for;
  settings.dead_letter_enabled = layers.dead_letter_enabled;
  if (layers.circuit_breaker) settings.circuit_breaker = layers.circuit_breaker;
  resolver.add({RetryLayer::program, std::string{program_origin}, "", settings});
}

void add_environment(Resolver& resolver, const RetryLayers& layers, RetryLayer kind, const std::string& prefix) {
  resolver.add(
      {kind, "environment " + prefix, "", settings_from_environment(layers.environment, prefix, resolver.config())});
}

}  // namespace

ResolvedRetryConfig resolve_retry_config(const RetryLayers& layers) {
  if (layers.operation.empty()) throw InvalidInput("the operation has no name; give the task's or the preset's");
  Resolver resolver;
  if (layers.fallback) {
    resolver.add(
        {RetryLayer::built_in, "built-in default", "", settings_of_policy(RetryConfig::from_policy(*layers.fallback))});
  }
  if (layers.file != nullptr) {
    resolver.add({RetryLayer::file_defaults, "file " + layers.file->name + " ", "/defaults", layers.file->defaults});
  }
  add_program(resolver, layers);
  if (layers.preset) resolver.add_preset(*layers.preset);
  if (layers.file != nullptr) add_file_task(resolver, layers);
  add_environment(resolver, layers, RetryLayer::environment, "");
  add_environment(resolver, layers, RetryLayer::operation_environment, environment_name(layers.operation) + "_");
  return resolver.resolved();
}

RetryConfig RetryConfig::from_json(std::string_view text) {
  Resolver resolver;
  resolver.add({RetryLayer::file_task, "", "", settings_from_json(text)});
  return resolver.resolved().config;
}

std::string ResolvedRetryField::to_text() const {
  std::string text = std::string{name} + " = " + value + " (" + origin.text + ")";
  if (!used) text += ", not used";
  if (cut) text += ", cut by max_delay";
  return text;
}

std::string ResolvedRetryConfig::to_text() const {
  std::string text;
  for (const ResolvedRetryField& field : fields) text += field.to_text() + "\n";
  return text;
}

}  // namespace dogged
