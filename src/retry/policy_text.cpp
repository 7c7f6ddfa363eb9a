// Policies as one line of text, for people and the command line: `fixed intervals=60s,300s jitter=25%`.
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <dogged/policy.hpp>

#include "retry/jitter_text.hpp"
#include "retry/policy_fields.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"
#include "text/number_text.hpp"

namespace dogged {
namespace {

std::string value_to_text(milliseconds value) { return duration_to_text(value); }
std::string value_to_text(int value) { return std::to_string(value); }
std::string value_to_text(double value) { return number_to_text(value); }
std::string value_to_text(const PolicyName& value) { return std::string{value.view()}; }

std::string value_to_text(const Intervals& value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) (text += i > 0 ? "," : "") += duration_to_text(value[i]);
  return text;
}

std::string value_to_text(const Jitter& value) { return jitter_to_text(value); }

/// `base=30s` in two parts. `value` is unchanged.
struct Setting {
  std::string_view field;
  std::string_view value;
};

[[noreturn]] void refuse(const Setting& setting, const std::string& remedy) {
  throw InvalidPolicy(std::string{setting.field},
                      std::string{setting.field} + " cannot be " + in_quotes(setting.value) + "; " + remedy);
}

[[noreturn]] void refuse(const Setting& setting, const InvalidInput& mistake) {
  throw InvalidPolicy(std::string{setting.field}, std::string{setting.field} + ": " + mistake.what());
}

milliseconds duration_in(const Setting& setting, std::string_view text) {
  try {
    return duration_from_text(text, limits::max_delay);
  } catch (const InvalidInput& mistake) {
    refuse(setting, mistake);
  }
}

std::optional<Jitter> jitter_in(const Setting& setting) {
  try {
    return jitter_from_text(setting.value);
  } catch (const DurationOutOfRange& mistake) {
    refuse(setting, mistake);
  }
}

void read_value(const Setting& setting, milliseconds& value) { value = duration_in(setting, setting.value); }

void read_value(const Setting& setting, int& value) {
  std::int64_t number = 0;
  const char* const end = setting.value.data() + setting.value.size();
  const auto [rest, error] = std::from_chars(setting.value.data(), end, number);
  if (error != std::errc{} || rest != end) refuse(setting, "write a whole number, 1 to 20");
  value = checked_max_retries(number);
}

void read_value(const Setting& setting, double& value) {
  const auto number = number_from_text(setting.value);
  if (!number) refuse(setting, "write a number, 1 to 100");
  value = *number;
}

void read_value(const Setting& setting, PolicyName& value) { value = setting.value; }

void read_value(const Setting& setting, Intervals& value) {
  std::string_view left = setting.value;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = left.find(',');
    value.push_back(duration_in(setting, left.substr(0, comma)));
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
  }
}

void read_value(const Setting& setting, Jitter& value) {
  const auto jitter = jitter_in(setting);
  if (!jitter) refuse(setting, "write none, full, a percentage such as 25%, or a duration such as 50ms");
  value = *jitter;
}

Words words_of(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  Words words;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
    if (text.empty()) return words;
    const std::string_view word = text.substr(0, text.find_first_of(spaces));
    words.push_back(word);
    text.remove_prefix(word.size());
  }
}

template <class Policy>
Words field_names() {
  Words names;
  for_each_field<Policy>([&names](const auto& field) { names.push_back(field.name); });
  return names;
}

bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The policy that has this field, if one has.
std::optional<std::string_view> policy_with(std::string_view field) {
  for (const RetryPolicy& policy : unset_policies) {
    const Words names = std::visit([]<class Policy>(const Policy&) { return field_names<Policy>(); }, policy);
    if (contains(names, field)) return name_of(policy);
  }
  return std::nullopt;
}

template <class Policy>
[[noreturn]] void refuse_field(std::string_view field) {
  const std::string policy{Description<Policy>::name};
  const Words names = field_names<Policy>();
  std::string message = in_quotes(field) + " is not a field of " + policy;
  if (const auto other = policy_with(field)) {
    message += ", but of " + std::string{*other};
  } else {
    message += suggestion(field, names);
  }
  message += names.empty() ? "; " + policy + " has no fields" : "; " + policy + " takes " + alternatives(names);
  throw InvalidPolicy(std::string{field}, message);
}

template <class Policy>
Setting setting_from(std::string_view word) {
  const std::size_t equals = word.find('=');
  const Setting setting{word.substr(0, equals), equals == std::string_view::npos ? "" : word.substr(equals + 1)};
  if (!contains(field_names<Policy>(), setting.field)) refuse_field<Policy>(setting.field);
  if (setting.value.empty()) {
    throw InvalidPolicy(std::string{setting.field}, std::string{setting.field} + " has no value; write " +
                                                        std::string{setting.field} + "=VALUE, without spaces");
  }
  return setting;
}

template <class Policy>
std::vector<Setting> settings_from(const Words& words) {
  std::vector<Setting> settings;
  for (std::string_view word : words) {
    const Setting setting = setting_from<Policy>(word);
    for (const Setting& earlier : settings) {
      if (earlier.field != setting.field) continue;
      throw InvalidPolicy(std::string{setting.field}, std::string{setting.field} + " is there twice; leave one out");
    }
    settings.push_back(setting);
  }
  return settings;
}

template <class Policy>
void read_fields(const std::vector<Setting>& settings, Policy& policy) {
  for_each_field<Policy>([&](const auto& field) {
    for (const Setting& setting : settings) {
      if (setting.field == field.name) return read_value(setting, policy.*field.member);
    }
    if (field.presence != Presence::required) return;
    throw InvalidPolicy(std::string{field.name},
                        std::string{Description<Policy>::name} + " needs " + std::string{field.name});
  });
}

}  // namespace

std::string policy_to_text(const RetryPolicy& policy) {
  require_valid(policy);
  std::string text{name_of(policy)};
  std::visit(
      [&text]<class Policy>(const Policy& chosen) {
        for_each_field<Policy>([&](const auto& field) {
          const bool is_always_said = field.presence == Presence::required || field.name == "jitter";
          if (!is_always_said && field.is_default(chosen)) return;
          (((text += ' ') += field.name) += '=') += value_to_text(chosen.*field.member);
        });
      },
      policy);
  return text;
}

RetryPolicy policy_from_text(std::string_view text) {
  Words words = words_of(text);
  if (words.empty()) {
    throw InvalidPolicy("policy", "the policy is empty; write " + alternatives(policy_names()) +
                                      " and its fields, such as \"exponential base=30s max_retries=5\"");
  }
  RetryPolicy policy = unset_policy(words.front());
  words.erase(words.begin());
  std::visit([&words]<class Policy>(Policy& chosen) { read_fields(settings_from<Policy>(words), chosen); }, policy);
  require_valid(policy);
  return policy;
}

}  // namespace dogged
