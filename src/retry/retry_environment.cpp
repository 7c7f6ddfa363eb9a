// Reads the environment's retry variables.
#include "retry/retry_environment.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "retry/retry_config_fields.hpp"
#include "text/message.hpp"
#include "text/number_text.hpp"

namespace dogged {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> variables{{
    {"max_attempts", "RETRY_MAX_ATTEMPTS"},
    {"max_retries", "RETRY_MAX_RETRIES"},
    {"initial_delay", "RETRY_INITIAL_BACKOFF_MS"},
    {"max_delay", "RETRY_MAX_BACKOFF_MS"},
    {"multiplier", "RETRY_BACKOFF_MULTIPLIER"},
    {"jitter", "RETRY_JITTER_ENABLED"},
}};

class Reader {
 public:
  Reader(const Environment& environment, const std::string& prefix) : environment_(environment), prefix_(prefix) {}

  [[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view field, std::int64_t least,
                                                         std::int64_t most) const {
    const auto text = text_of(field);
    if (!text) return std::nullopt;
    const auto number = whole_number_in(*text);
    if (number && *number >= least && *number <= most) return number;
    refuse(field, *text, "a whole number, " + std::to_string(least) + " to " + std::to_string(most));
  }

  [[nodiscard]] std::optional<double> multiplier(std::string_view field) const {
    const auto text = text_of(field);
    if (!text) return std::nullopt;
    const auto number = number_from_text(*text);
    if (number && mistake_in_multiplier(*number).empty()) return number;
    refuse(field, *text, "a number, 1 to 100");
  }

  [[nodiscard]] std::optional<bool> flag(std::string_view field) const {
    const auto text = text_of(field);
    if (!text) return std::nullopt;
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    refuse(field, *text, "true or 1, false or 0");
  }

  [[noreturn]] void refuse_beside(std::string_view field, std::string_view other) const {
    refuse_setting(field, "environment " + name_of(field),
                   " says in other words what " + name_of(other) + " says; unset one of them");
  }

 private:
  [[nodiscard]] std::string name_of(std::string_view field) const { return prefix_ + std::string{variable_of(field)}; }

  [[nodiscard]] std::optional<std::string> text_of(std::string_view field) const {
    return environment_ ? environment_(name_of(field)) : std::nullopt;
  }

  static std::optional<std::int64_t> whole_number_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
    return number;
  }

  [[noreturn]] void refuse(std::string_view field, const std::string& text, const std::string& limit) const {
    const std::string place = "environment " + name_of(field);
    if (text.empty()) refuse_setting(field, place, " is empty; unset it, or set it to " + limit);
    refuse_setting(field, place, " is " + in_quotes(text) + "; it must be " + limit);
  }

  const Environment& environment_;
  const std::string& prefix_;
};

}  // namespace

std::string_view variable_of(std::string_view field) {
  for (const auto& [name, variable] : variables) {
    if (name == field) return variable;
  }
  return {};
}

RetrySettings settings_from_environment(const Environment& environment, const std::string& prefix,
                                        const RetryConfig& below) {
  const Reader reader{environment, prefix};
  RetrySettings settings;
  if (const auto attempts = reader.whole_number("max_attempts", 1, limits::max_attempts)) {
    settings.max_attempts = static_cast<int>(*attempts);
  }
  if (const auto retries = reader.whole_number("max_retries", 0, limits::max_retries)) {
    if (settings.max_attempts) reader.refuse_beside("max_retries", "max_attempts");
    settings.max_attempts = static_cast<int>(*retries) + 1;
    settings.written_as["max_attempts"] = variable_of("max_retries");
  }
  if (const auto delay = reader.whole_number("initial_delay", 1, limits::max_delay.count())) {
    settings.initial_delay = milliseconds{*delay};
  }
  if (const auto delay = reader.whole_number("max_delay", 1, limits::max_delay.count())) {
    settings.max_delay = milliseconds{*delay};
  }
  settings.multiplier = reader.multiplier("multiplier");
  if (const auto enabled = reader.flag("jitter")) {
    const Jitter on = below.jitter == Jitter::none() ? RetryConfig{}.jitter : below.jitter;
    settings.jitter = *enabled ? on : Jitter::none();
  }
  return settings;
}

std::optional<std::string> process_environment(const std::string& variable) {
  const char* const value = std::getenv(variable.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::string environment_name(std::string_view operation) {
  std::string name;
  for (char c : operation) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    const bool is_kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_kept ? c : '_';
  }
  return name;
}

}  // namespace dogged
