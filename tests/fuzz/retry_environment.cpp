// Retry settings of the environment: the values of RETRY_… for every operation, and of an operation's own variables.
#include <array>
#include <map>
#include <optional>
#include <string>

#include <dogged/resolved_retry_config.hpp>

#include "policy_checks.hpp"

using namespace dogged;

namespace {

constexpr std::array variables{"RETRY_MAX_ATTEMPTS", "RETRY_INITIAL_BACKOFF_MS", "RETRY_MAX_BACKOFF_MS",
                               "RETRY_BACKOFF_MULTIPLIER", "RETRY_JITTER_ENABLED"};
const std::string operation = "mail.send";

using Values = std::map<std::string, std::string>;

/// Five lines are the variables of all operations, five more the variables of this operation. An empty line is an empty
/// value, and `-` an unset variable.
Values values_of(fuzz::Lines& lines) {
  Values values;
  for (const std::string prefix : {"", "MAIL_SEND_"}) {
    for (const char* variable : variables) {
      if (lines.at_end()) return values;
      std::string value = lines.text();
      if (value != "-") values[prefix + variable] = std::move(value);
    }
  }
  return values;
}

/// The value of a variable that counts: the operation's own, else the one for all.
std::optional<std::string> value_of(const Values& values, const std::string& variable) {
  for (const std::string& name : {"MAIL_SEND_" + variable, variable}) {
    if (const auto found = values.find(name); found != values.end()) return found->second;
  }
  return std::nullopt;
}

void require_taken(const RetryConfig& config, const Values& values) {
  if (const auto attempts = value_of(values, "RETRY_MAX_ATTEMPTS")) {
    fuzz::require(std::to_string(config.max_attempts) == attempts->substr(attempts->find_first_not_of('0')),
                  "the number of attempts is the variable's", *attempts);
  }
  if (const auto most = value_of(values, "RETRY_MAX_BACKOFF_MS")) {
    fuzz::require(std::to_string(config.max_delay.count()) == most->substr(most->find_first_not_of('0')),
                  "the longest delay is the variable's", *most);
  }
  if (const auto enabled = value_of(values, "RETRY_JITTER_ENABLED")) {
    const bool is_on = *enabled == "true" || *enabled == "1";
    fuzz::require(is_on || *enabled == "false" || *enabled == "0", "only these say whether there is jitter", *enabled);
    fuzz::require((config.jitter == Jitter::none()) != is_on, "there is jitter where the variable says so", *enabled);
  }
}

}  // namespace

FUZZ_TARGET(retry_environment, input) {
  Lines lines{input};
  const Values values = values_of(lines);
  RetryLayers layers{.operation = operation};
  layers.environment = [&values](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  };
  try {
    const ResolvedRetryConfig resolved = resolve_retry_config(layers);
    require_valid(resolved.config);
    require_sound(resolved.config.policy());
    require_taken(resolved.config, values);
    for (const ResolvedRetryField& field : resolved.fields) {
      require(is_printable_line(field.value) && is_printable_line(field.origin.text), "what applies is printable");
    }
  } catch (const InvalidPolicy& error) {
    require_sound_message(error);
  }
}
