// Tasks as people write them for `dogged enqueue`.
#include "cli/input/new_tasks.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/client.hpp>
#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/json_text.hpp>

#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

using nlohmann::json;

constexpr std::string_view white_space = " \t\r\n";
const Words known_keys{"name",        "args",          "queue",      "at",         "in",
                       "priority",    "trace_context", "expires_at", "expires_in", "tags",
                       "parent",      "args_version",  "unique_key", "unique_by",  "unique_while",
                       "on_conflict", "unique_period", "latest"};

/// Accepts every JSON document without building it, and keeps where and why one is wrong. The parser that
/// calls it keeps its own stack: no document is too deep for it.
class Checker : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    // Behind "last read" stands the text itself, which may be long and no UTF-8.
    const std::string what = error.what();
    const std::string text = what.substr(0, what.find("; last read"));
    const auto reason = text.rfind(" - ");
    constexpr int number_overflow = 406;  // its text quotes the number, which is a value of args
    reason_ = error.id == number_overflow   ? "a number is larger than a double can be"
              : reason == std::string::npos ? text
                                            : text.substr(reason + 3);
    position_ = position;
    return false;
  }

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::size_t position_ = 0;
  std::string reason_;
};

/// `line 2, column 7`, or the column alone in a text of one line.
std::string place_of(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : std::min(position - 1, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const auto line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::string column = "column " + std::to_string(before.size() - line_begin + 1);
  return lines == 0 ? column : "line " + std::to_string(lines + 1) + ", " + column;
}

/// Takes an object apart into the texts of its members. The text was checked before.
class MemberReader {
 public:
  explicit MemberReader(std::string_view object) : rest_(object) {
    take_space();
    rest_.remove_prefix(1);  // {
  }

  /// The next member's key and value; false at the end.
  bool next(std::string& key, std::string_view& value) {
    take_space();
    if (rest_.front() == ',') rest_.remove_prefix(1);
    take_space();
    if (rest_.front() == '}') return false;
    key = json::parse(take_value()).get<std::string>();
    take_space();
    rest_.remove_prefix(1);  // :
    take_space();
    value = take_value();
    return true;
  }

 private:
  void take_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(white_space), rest_.size())); }

  std::size_t string_length() const {
    std::size_t end = 1;
    while (rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    return end + 1;
  }

  /// Up to the comma, colon or bracket that belongs to the object itself.
  std::string_view take_value() {
    const std::string_view all = rest_;
    std::size_t depth = 0;
    do {
      const char c = rest_.front();
      if (c == '"') {
        rest_.remove_prefix(string_length());
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      rest_.remove_prefix(1);
    } while (depth > 0 || std::string_view{",:}] \t\r\n"}.find(rest_.front()) == std::string_view::npos);
    return all.substr(0, all.size() - rest_.size());
  }

  std::string_view rest_;
};

std::string text_of(const std::string& key, std::string_view value) {
  if (value.front() != '"') {
    throw InvalidInput("\"" + key + "\" is " + in_quotes(value) + ", and must be a string");
  }
  return json::parse(value).get<std::string>();
}

std::vector<std::string> texts_of(const std::string& key, std::string_view value) {
  const json document = json::parse(value);
  if (!document.is_array() ||
      !std::all_of(document.begin(), document.end(), [](const json& e) { return e.is_string(); })) {
    throw InvalidInput("\"" + key + "\" is " + in_quotes(value) + ", and must be a list of strings");
  }
  return document.get<std::vector<std::string>>();
}

std::int64_t number_of(const std::string& key, std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) {
    throw InvalidInput("\"" + key + "\" is " + in_quotes(value) + ", and must be a whole number");
  }
  return number;
}

/// The text of a member, read by `read`. Exceptions name the member.
template <class Read>
auto read_member(const std::string& key, std::string_view value, Read read) {
  const std::string text = text_of(key, value);
  try {
    return read(text);
  } catch (const InvalidInput& error) {
    throw InvalidInput("\"" + key + "\": " + error.message(), error.hint());
  }
}

std::string unique_key_of(std::string_view value) {
  std::string key = text_of("unique_key", value);
  if (key.empty()) throw InvalidInput("\"unique_key\" is empty");
  if (key.size() <= limits::unique_key_bytes) return key;
  throw InvalidInput("\"unique_key\" has " + std::to_string(key.size()) + " bytes; the limit is " +
                     std::to_string(limits::unique_key_bytes));
}

JsonPointers unique_by_of(std::string_view value, PointerTexts& texts) {
  JsonPointers pointers;
  for (std::string& text : texts_of("unique_by", value)) {
    if (!detail::is_valid_json_pointer(text)) {
      throw InvalidInput("\"unique_by\" has " + in_quotes(text) + ", which is no JSON pointer of up to " +
                             std::to_string(limits::json_pointer_bytes) + " bytes",
                         "a JSON pointer begins with a slash, as /customer/id; \"\" is the whole of the args");
    }
    pointers.push_back(*texts.insert(std::move(text)).first);
  }
  if (pointers.size() <= JsonPointers::max_size) return pointers;
  throw InvalidInput("\"unique_by\" has " + std::to_string(pointers.size()) + " JSON pointers; the limit is " +
                     std::to_string(JsonPointers::max_size));
}

milliseconds more_than_zero(const std::string& key, milliseconds duration) {
  if (duration > milliseconds{0}) return duration;
  throw InvalidInput("\"" + key + "\" is " + duration_to_text(duration) + ", and must be more than 0",
                     "leave it out for no limit");
}

Unique& unique_of(NewTask& task) { return task.options.unique ? *task.options.unique : task.options.unique.emplace(); }

/// Whether it is a member that makes the task unique.
bool set_unique_member(NewTask& task, const std::string& key, std::string_view value, PointerTexts& pointers) {
  const auto duration = [&] { return more_than_zero(key, read_member(key, value, duration_of)); };
  if (key == "unique_key") {
    task.options.unique_key = unique_key_of(value);
  } else if (key == "unique_by") {
    unique_of(task).by = unique_by_of(value, pointers);
  } else if (key == "unique_while") {
    unique_of(task).while_ = read_member(key, value, unique_while_from_text);
  } else if (key == "on_conflict") {
    unique_of(task).on_conflict = read_member(key, value, on_conflict_from_text);
  } else if (key == "unique_period") {
    unique_of(task).period = duration();
  } else if (key == "latest") {
    unique_of(task).latest = duration();
  } else {
    return false;
  }
  return true;
}

void set_member(NewTask& task, const std::string& key, std::string_view value, PointerTexts& pointers, Zone zone) {
  const auto time = [&] {
    return read_member(key, value, [zone](const std::string& text) { return time_point_from_text(text, zone); });
  };
  const auto duration = [&] { return read_member(key, value, duration_of); };
  if (key == "name") {
    task.name = text_of(key, value);
  } else if (key == "args") {
    task.args_json = value;
  } else if (key == "queue") {
    task.options.queue = text_of(key, value);
  } else if (key == "at") {
    task.options.run_at = time();
  } else if (key == "in") {
    task.options.delay = duration();
  } else if (key == "priority") {
    task.options.priority = priority_from_number(number_of(key, value));
  } else if (key == "trace_context") {
    task.options.trace_context = text_of(key, value);
  } else if (key == "expires_at") {
    task.options.expires_at = time();
  } else if (key == "expires_in") {
    task.options.expires_in = duration();
  } else if (key == "tags") {
    task.options.tags = texts_of(key, value);
  } else if (key == "parent") {
    task.options.parent = number_of(key, value);
  } else if (key == "args_version") {
    task.args_version = args_version_from_number(number_of(key, value));
  } else if (!set_unique_member(task, key, value, pointers)) {
    throw InvalidInput(in_quotes(key) + " is not known" + suggestion(key, known_keys) + "; a task may have " +
                       alternatives(known_keys));
  }
}

}  // namespace

void require_json(const std::string& what, std::string_view text, const std::string& hint) {
  if (text.find_first_not_of(white_space) == std::string_view::npos) {
    throw InvalidInput(what + " is empty; write a JSON document, for example {}");
  }
  Checker checker;
  if (!json::sax_parse(text, &checker)) {
    throw InvalidInput(what + " is not JSON: " + place_of(text, checker.position()) + ": " + checker.reason(), hint);
  }
  if (text.find("\\u0000") == std::string_view::npos) return;
  // PostgreSQL's own error does not say where.
  if (const auto found = detail::find_unstorable(json::parse(text))) {
    throw InvalidInput(what + ": " + (found->pointer.empty() ? "the value" : detail::cut_for_message(found->pointer)) +
                       " " + found->reason);
  }
}

std::chrono::system_clock::time_point time_point_from_text(std::string_view text, Zone zone) {
  using Clock = std::chrono::system_clock;
  // In microseconds, because these reach every year. Nanoseconds overflow: 2611 would be 2026 again.
  constexpr Time first{std::chrono::duration_cast<microseconds>(Clock::duration::min())};
  constexpr Time last{std::chrono::duration_cast<microseconds>(Clock::duration::max())};
  const Time time = time_from_iso8601(text, zone);
  if (time >= first && time <= last) return time;
  throw InvalidInput(in_quotes(text) + " is out of range; it may be at most 10 years from now");
}

std::chrono::milliseconds duration_of(const std::string& text) {
  const auto duration = duration_from_text(text, longest_duration);
  if (duration <= longest_duration) return duration;
  throw InvalidInput(in_quotes(text) + " is too long; write a duration up to " + duration_to_text(longest_duration));
}

int priority_from_number(std::int64_t number) {
  if (number >= -32768 && number <= 32767) return static_cast<int>(number);
  throw InvalidInput("priority " + std::to_string(number) + " is not between -32768 and 32767; lower runs first");
}

int args_version_from_number(std::int64_t number) {
  if (number >= 1 && number <= limits::max_args_version) return static_cast<int>(number);
  throw InvalidInput("args_version " + std::to_string(number) + " is not between 1 and 32767");
}

UniqueWhile unique_while_from_text(const std::string& text) {
  for (const auto value : {UniqueWhile::pending, UniqueWhile::live, UniqueWhile::kept}) {
    if (to_text(value) == text) return value;
  }
  throw InvalidInput(in_quotes(text) + " is not known" + suggestion(text, unique_whiles) + "; it is " +
                     alternatives(unique_whiles));
}

OnConflict on_conflict_from_text(const std::string& text) {
  for (const auto value : {OnConflict::keep, OnConflict::refuse, OnConflict::replace_args, OnConflict::merge_args,
                           OnConflict::reschedule, OnConflict::debounce, OnConflict::debounce_merge}) {
    if (to_text(value) == text) return value;
  }
  throw InvalidInput(in_quotes(text) + " is not known" + suggestion(text, on_conflicts) + "; it is " +
                     alternatives(on_conflicts));
}

NewTask task_from_json_line(std::string_view line, PointerTexts& pointers, Zone zone) {
  require_json("the line", line, "");
  if (line[line.find_first_not_of(white_space)] != '{') throw InvalidInput("the line is not a JSON object");
  NewTask task;
  std::vector<std::string> seen;
  std::string key;
  std::string_view value;
  for (MemberReader reader{line}; reader.next(key, value);) {
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      throw InvalidInput(in_quotes(key) + " stands there twice");
    }
    set_member(task, key, value, pointers, zone);
    seen.push_back(key);
  }
  if (task.name.empty()) throw InvalidInput("a task needs a \"name\"");
  if (task.options.run_at && task.options.delay) {
    throw InvalidInput("give either \"at\" or \"in\", not both");
  }
  if (task.options.expires_at && task.options.expires_in) {
    throw InvalidInput("give either \"expires_at\" or \"expires_in\", not both");
  }
  if (std::find(seen.begin(), seen.end(), "unique_by") != seen.end() && !task.options.unique_key.empty()) {
    throw InvalidInput("give either \"unique_key\" or \"unique_by\", not both");
  }
  return task;
}

}  // namespace dogged::cli
