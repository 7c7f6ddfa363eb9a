// Retry settings as JSON: one object, and a file of them by task.
#include "retry/retry_settings_json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/detail/names.hpp>

#include "retry/jitter_text.hpp"
#include "retry/named_code_sets.hpp"
#include "retry/retry_config_fields.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged {
namespace {

using nlohmann::json;

constexpr std::size_t max_text_bytes = 1024 * 1024;
/// A breaker's object or a list, in a task, in `tasks`, in the file.
constexpr int max_depth = 4;

/// The subject of an error: the setting, and its place, as a JSON pointer behind the file's name.
struct Place {
  std::string field;
  std::string file;
  std::string pointer;

  [[nodiscard]] Place member(const std::string& key) const { return {key, file, pointer + "/" + pointer_step(key)}; }
  [[nodiscard]] Place entry(std::size_t i) const { return {field, file, pointer + "/" + std::to_string(i)}; }
  [[nodiscard]] std::string text() const {
    if (pointer.empty()) return file.empty() ? "the retry config" : file;
    return file.empty() ? pointer : file + " " + pointer;
  }
};

[[noreturn]] void refuse(const Place& place, const std::string& mistake) {
  refuse_setting(place.field, place.text(), mistake);
}

[[noreturn]] void refuse_value(const Place& place, const json& value, const std::string& remedy) {
  const std::string written = value.is_structured() ? std::string{"an "} + value.type_name()
                                                    : value.dump(-1, ' ', true, json::error_handler_t::replace);
  refuse(place, " cannot be " + printable(written) + "; " + remedy);
}

/// Sees each key before its value is read, where nlohmann's documents keep only the last of two that are equal.
class KeyWatch {
 public:
  explicit KeyWatch(Place root) : root_(std::move(root)) {}

  void see(int depth, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= max_depth) refuse(place(), " is nested more deeply than any setting");
      levels_.emplace_back();
    } else if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) {
      levels_.pop_back();
    } else if (event == json::parse_event_t::key) {
      Level& level = levels_.back();
      level.last_key = parsed.get_ref<const std::string&>();
      if (!level.keys.insert(level.last_key).second) refuse(place(), " is there twice; leave one out");
    }
  }

  /// Of the last key that was read.
  [[nodiscard]] Place place() const {
    Place result = root_;
    for (const Level& level : levels_) {
      if (!level.last_key.empty()) result = result.member(level.last_key);
    }
    return result;
  }

 private:
  struct Level {
    std::set<std::string> keys;
    std::string last_key;
  };

  Place root_;
  std::vector<Level> levels_;
};

/// `position` counts from 1.
std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(before.size() - line_begin + 1);
}

json parsed_object(const Place& root, std::string_view text) {
  if (text.size() > max_text_bytes) {
    refuse(root, " is " + std::to_string(text.size()) + " bytes long; it must be at most 1048576 (1 MiB)");
  }
  KeyWatch watch{root};
  const auto see = [&watch](int depth, json::parse_event_t event, json& parsed) {
    watch.see(depth, event, parsed);
    return true;
  };
  try {
    json document = json::parse(text, see);
    if (!document.is_object()) refuse_value(root, document, R"(write an object such as {"max_attempts": 5})");
    return document;
  } catch (const json::parse_error& error) {
    refuse(root, " is not JSON: " + line_and_column(text, error.byte));
  } catch (const json::out_of_range&) {  // a number; the parser reads it before it is known whose it is
    refuse(watch.place(), " is a number that is too large; no limit of a setting is above 1000");
  }
}

Words with(std::string_view first, Words rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

const Words& setting_keys() {
  static const Words keys = [] {
    Words names;
    for_each_config_field([&names](const auto& field) { names.push_back(field.name); });
    names.push_back("jitter_enabled");
    return with("preset", names);
  }();
  return keys;
}

/// A number of retries is one less than that of attempts, so "did you mean" alone would change what happens.
std::string remedy_for_key(const std::string& key, const Words& known) {
  const bool takes_attempts = std::find(known.begin(), known.end(), "max_attempts") != known.end();
  if (takes_attempts && key == "max_retries") return "; write max_attempts, which counts the first attempt as well";
  return suggestion(key, known) + "; it takes " + alternatives(known);
}

void require_known_keys(const Place& place, const json& object, const Words& known) {
  for (const auto& member : object.items()) {
    if (std::find(known.begin(), known.end(), member.key()) != known.end()) continue;
    throw InvalidPolicy(member.key(),
                        place.text() + " has no key " + in_quotes(member.key()) + remedy_for_key(member.key(), known));
  }
}

void require_object(const Place& place, const json& value, const std::string& remedy) {
  if (!value.is_object()) refuse_value(place, value, remedy);
}

int whole_number(const Place& place, const json& value, const std::string& remedy) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()}
                        : value.is_number_integer() && value.get<std::int64_t>() >= std::numeric_limits<int>::min();
  if (!fits) refuse_value(place, value, remedy);
  return value.get<int>();
}

const std::string& text_in(const Place& place, const json& value, const std::string& remedy) {
  if (!value.is_string()) refuse_value(place, value, remedy);
  return value.get_ref<const std::string&>();
}

/// The unit that is missing is most often milliseconds.
std::string duration_remedy(const json& value) {
  constexpr auto longest_ms = static_cast<std::uint64_t>(limits::max_delay.count());
  const bool is_count = value.is_number_unsigned() && value.get<std::uint64_t>() <= longest_ms;
  if (is_count) return "a duration has a unit: write \"" + value.dump() + "ms\"";
  return "write a duration with its unit, such as \"100ms\" or \"60s\"";
}

void read_value(const Place& place, const json& value, milliseconds& result) {
  const std::string& text = text_in(place, value, duration_remedy(value));
  try {
    result = duration_from_text(text, limits::max_delay);
  } catch (const InvalidInput& error) {
    refuse(place, std::string{": "} + error.what());
  }
}

void read_value(const Place& place, const json& value, int& result) {
  result = whole_number(place, value, "write a whole number, 1 to 21");
}

void read_value(const Place& place, const json& value, double& result) {
  if (!value.is_number()) refuse_value(place, value, "write a number, 1 to 100");
  result = value.get<double>();
}

void read_value(const Place& place, const json& value, bool& result) {
  if (!value.is_boolean()) refuse_value(place, value, "write true or false");
  result = value.get<bool>();
}

void read_value(const Place& place, const json& value, std::string& result) {
  result = text_in(place, value, "write the name of a policy that the worker has registered");
  if (result.empty()) refuse(place, " is empty; write the name of a policy that the worker has registered");
}

void read_value(const Place& place, const json& value, RetryPolicyType& result) {
  const Words names{policy_type_names.begin(), policy_type_names.end()};
  const std::string& name = text_in(place, value, "write " + alternatives(names));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const bool is_of_policy = name == "none";  // as policy_from_text has it, and no spelling leads to `no_retry`
    refuse(place, " cannot be " + in_quotes(name) + suggestion(is_of_policy ? "no_retry" : name, names) + "; write " +
                      alternatives(names));
  }
  result = static_cast<RetryPolicyType>(found - names.begin());
}

void read_value(const Place& place, const json& value, Intervals& result) {
  if (!value.is_array() || value.empty()) {
    const std::string remedy = R"(write a list of 1 to 20 durations, such as ["1m", "5m"])";
    if (value.is_array()) refuse(place, " has no entry; " + remedy);
    refuse_value(place, value, remedy);
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    milliseconds interval{};
    read_value(place.entry(i), value[i], interval);
    result.push_back(interval);
  }
}

void read_value(const Place& place, const json& value, Jitter& result) {
  const std::string remedy = R"(write true, false, "full", a percentage such as "25%", or a duration such as "50ms")";
  if (value.is_boolean()) {
    result = value.get<bool>() ? RetryConfig{}.jitter : Jitter::none();
    return;
  }
  try {
    const auto jitter = jitter_from_text(text_in(place, value, remedy));
    if (!jitter) refuse_value(place, value, remedy);
    result = *jitter;
  } catch (const DurationOutOfRange& error) {
    refuse(place, std::string{": "} + error.what());
  }
}

void read_value(const Place& place, const json& value, std::optional<CircuitBreakerSettings>& result) {
  static const Words keys{"failure_threshold", "recovery_timeout", "success_threshold"};
  if (value == false) {
    result = std::nullopt;
    return;
  }
  require_object(place, value, R"(write an object such as {"failure_threshold": 5}, or false)");
  require_known_keys(place, value, keys);
  CircuitBreakerSettings& settings = result.emplace();
  const auto read_threshold = [&](const std::string& key, int& threshold) {
    if (value.contains(key)) {
      threshold = whole_number(place.member(key), value.at(key), "write a whole number, 1 to 1000");
    }
  };
  read_threshold("failure_threshold", settings.failure_threshold);
  read_threshold("success_threshold", settings.success_threshold);
  const auto timeout = value.find("recovery_timeout");
  if (timeout != value.end()) read_value(place.member("recovery_timeout"), *timeout, settings.recovery_timeout);
}

void require_no(const Place& place, const std::string& mistake) {
  if (!mistake.empty()) refuse(place, mistake);
}

/// No code begins so.
bool is_name_of_a_set(const std::string& entry) { return !entry.empty() && entry[0] >= 'a' && entry[0] <= 'z'; }

const ErrorCodes& code_set(const Place& place, const std::string& name) {
  Words names;
  for (const NamedCodeSet& set : named_code_sets()) {
    if (set.name == name) return set.codes;
    names.push_back(set.name);
  }
  refuse(place, " is " + in_quotes(name) + ", and there is no such set of codes" + suggestion(name, names) +
                    "; write a code in upper case, * for every code, or a set: " + alternatives(names));
}

void add_code(std::vector<std::string>& codes, std::string_view code) {
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.emplace_back(code);
}

/// As they are written. How many codes the sets amount to is checked afterwards.
void require_valid_codes(const Place& place, const std::vector<std::string>& entries) {
  require_no(place, mistake_in_code_count(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_name_of_a_set(entries[i])) require_no(place.entry(i), mistake_in_code(entries[i]));
    require_no(place.entry(i), mistake_in_repetition(entries, i));
    if (entries[i] == codes::any && entries.size() > 1) {
      refuse(place.entry(i), " is \"*\", which is every code, and stands alone; leave it out, or the other entries");
    }
  }
}

void read_value(const Place& place, const json& value, std::vector<std::string>& result) {
  const std::string remedy = R"(write a list of codes or of their sets, such as ["HTTP_429", "connect_transient"])";
  if (!value.is_array()) refuse_value(place, value, remedy);
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < value.size(); ++i) entries.push_back(text_in(place.entry(i), value[i], remedy));
  require_valid_codes(place, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_name_of_a_set(entries[i])) {
      add_code(result, entries[i]);
    } else {
      for (std::string_view code : code_set(place.entry(i), entries[i])) add_code(result, code);
    }
  }
}

template <class Value>
Value unread() {
  if constexpr (std::is_same_v<Value, Jitter>) {
    return Jitter::none();  // Jitter has no default constructor
  } else {
    return Value{};
  }
}

template <class Value>
void read_value(const Place& place, const json& value, std::optional<Value>& result,
                std::string (*mistake_in)(const Value&)) {
  read_value(place, value, result.emplace(unread<Value>()));
  const std::string mistake = mistake_in(*result);
  if (!mistake.empty()) refuse(place, mistake);
}

void read_preset(const Place& place, const json& value, std::optional<std::string>& result) {
  try {
    result = retry_preset(text_in(place, value, "write the name of a preset, such as \"http_request\"")).name;
  } catch (const InvalidPolicy& error) {
    if (!value.is_string()) throw;
    refuse(place, std::string{": "} + error.what());
  }
}

/// Another word for `"jitter": true` and `"jitter": false`.
void read_jitter_enabled(const Place& place, const json& value, RetrySettings& settings) {
  bool is_enabled = false;
  read_value(place, value, is_enabled);
  if (is_enabled && settings.jitter) {
    if (settings.jitter == Jitter::none()) refuse(place, " is true, and jitter is false; leave one of them out");
    return;
  }
  settings.jitter = is_enabled ? RetryConfig{}.jitter : Jitter::none();
  settings.written_as["jitter"] = place.field;
}

RetrySettings settings_from(const Place& place, const json& object) {
  require_object(place, object, R"(write an object such as {"max_attempts": 5})");
  require_known_keys(place, object, setting_keys());
  RetrySettings settings;
  const auto preset = object.find("preset");
  if (preset != object.end()) read_preset(place.member("preset"), *preset, settings.preset);
  for_each_config_field([&](const auto& field) {
    const auto found = object.find(std::string{field.name});
    if (found == object.end()) return;
    read_value(place.member(std::string{field.name}), *found, settings.*field.in_settings, field.mistake_in);
  });
  const auto enabled = object.find("jitter_enabled");
  if (enabled != object.end()) read_jitter_enabled(place.member("jitter_enabled"), *enabled, settings);
  return settings;
}

std::string escaped(std::string_view key) {
  std::string result;
  for (char c : key) c == '~' ? result += "~0" : c == '/' ? result += "~1" : result += c;
  return result;
}

}  // namespace

std::string pointer_step(std::string_view key) {
  return escaped(detail::is_valid_name(key) ? std::string{key} : printable(key));
}

RetrySettings settings_from_json(std::string_view text) {
  const Place root{"retry_config", "", ""};
  return settings_from(root, parsed_object(root, text));
}

RetryConfigFile RetryConfigFile::from_json(std::string_view text, std::string name) {
  const Place root{"retry_config", "file " + name, ""};
  const json document = parsed_object(root, text);
  require_known_keys(root, document, {"defaults", "tasks"});
  RetryConfigFile file{.name = std::move(name)};
  const auto defaults = document.find("defaults");
  if (defaults != document.end()) file.defaults = settings_from(root.member("defaults"), *defaults);
  const auto tasks = document.find("tasks");
  if (tasks == document.end()) return file;
  const Place place = root.member("tasks");
  require_object(place, *tasks, R"(write an object such as {"webhook.deliver": {"max_attempts": 5}})");
  for (const auto& task : tasks->items()) {
    if (!detail::is_valid_name(task.key())) {
      refuse(place, " has the name " + in_quotes(task.key()) +
                        ", which no task has: a name is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or "
                        "a digit");
    }
    file.tasks.emplace(task.key(), settings_from(place.member(task.key()), task.value()));
  }
  return file;
}

namespace {

using nlohmann::ordered_json;

ordered_json setting_to_json(milliseconds value) { return duration_to_text(value); }
ordered_json setting_to_json(int value) { return value; }
ordered_json setting_to_json(double value) { return value; }
ordered_json setting_to_json(bool value) { return value; }
ordered_json setting_to_json(RetryPolicyType value) { return name_of(value); }
ordered_json setting_to_json(const std::string& value) { return value; }

/// Beside "*" no other code is read.
ordered_json setting_to_json(const std::vector<std::string>& codes) {
  const bool has_all = std::find(codes.begin(), codes.end(), codes::any) != codes.end();
  return has_all ? std::vector<std::string>{std::string{codes::any}} : codes;
}

ordered_json setting_to_json(const Intervals& value) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < value.size(); ++i) list.push_back(duration_to_text(value[i]));
  return list;
}

ordered_json setting_to_json(const Jitter& value) {
  if (value == Jitter::none()) return false;
  if (value == RetryConfig{}.jitter) return true;
  return jitter_to_text(value);
}

ordered_json setting_to_json(const CircuitBreakerSettings& value) {
  return {{"failure_threshold", value.failure_threshold},
          {"recovery_timeout", duration_to_text(value.recovery_timeout)},
          {"success_threshold", value.success_threshold}};
}

template <class Value>
void write(ordered_json& object, std::string_view name, const Value& value) {
  object[std::string{name}] = setting_to_json(value);
}

template <class Value>
void write(ordered_json& object, std::string_view name, const std::optional<Value>& value) {
  if (value) write(object, name, *value);
}

}  // namespace

std::string RetryConfig::to_json() const {
  require_valid(*this);
  ordered_json object = ordered_json::object();
  for_each_config_field([&](const auto& field) {
    if (is_in_use(field.name, field.used_by, *this)) write(object, field.name, this->*field.in_config);
  });
  return object.dump();
}

}  // namespace dogged
