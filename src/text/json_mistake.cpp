// Describes nlohmann_json's exceptions without the values that some of them quote.
#include <algorithm>

#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/json_text.hpp>

#include "text/utf8.hpp"

namespace dogged::detail {
namespace {

constexpr int parse_error_id = 101;
constexpr int type_error_id = 302;
constexpr int no_at_id = 304;
constexpr int no_value_id = 306;
constexpr int invalid_utf8_id = 316;
constexpr int missing_index_id = 401;
constexpr int missing_key_id = 403;
constexpr int number_overflow_id = 406;

/// `must be string, but is number`: names of types, and nothing else.
bool are_type_names(std::string_view words) {
  return words.size() <= 60 &&
         std::all_of(words.begin(), words.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == ' ' || c == ','; });
}

/// Of `cannot use at() with array`: the conversion looked for a member, or in an object for an element. Empty: another
/// text.
std::string mistaken_type(std::string_view what) {
  constexpr std::string_view before = "() with ";
  const auto begin = what.find(before);
  if (begin == what.npos || !are_type_names(what.substr(begin + before.size()))) return {};
  const std::string type{what.substr(begin + before.size())};
  return "type must be " + std::string{type == "object" ? "array" : "object"} + ", but is " + type;
}

std::string_view key_of_missing(std::string_view what) {
  constexpr std::string_view before = "key '";
  const auto begin = what.find(before);
  const auto end = what.rfind('\'');
  if (begin == what.npos || end < begin + before.size()) return {};
  return what.substr(begin + before.size(), end - begin - before.size());
}

std::string reason_of(int id, std::string_view what) {
  switch (id) {
    case parse_error_id:
      return std::string{what.substr(0, what.find("; last read"))};
    case type_error_id:
      if (what.starts_with("type ") && are_type_names(what)) return std::string{what};
      break;
    case no_at_id:
    case no_value_id:
      if (const std::string mistake = mistaken_type(what); !mistake.empty()) return mistake;
      break;
    case invalid_utf8_id:
      return "a text in it is not valid UTF-8";
    case missing_index_id:
      return "an array has too few elements";
    case missing_key_id:
      return "key '" + cut_for_message(key_of_missing(what)) + "' not found";
    case number_overflow_id:
      return "a number is larger than a double can be";
    default:
      break;
  }
  return "it is not of this type (nlohmann_json's error " + std::to_string(id) + ")";
}

/// The text that ends the pointer in a message. A key in the pointer may contain it; the last such text is
/// nlohmann_json's.
std::string_view end_of_pointer(int id) {
  switch (id) {
    case missing_key_id:
      return ") key '";
    case no_at_id:
    case no_value_id:
      return ") cannot use ";
    default:
      return ") ";
  }
}

bool is_digit_of_json(char c) { return c >= '0' && c <= '9'; }

/// The value of an exponent at the beginning of `text`, behind the e. At most that of a double.
std::size_t exponent_of(std::string_view text) {
  constexpr std::size_t most = 400;
  std::size_t value = 0;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  for (; !text.empty() && is_digit_of_json(text.front()); text.remove_prefix(1)) {
    value = std::min(most, 10 * value + static_cast<std::size_t>(text.front() - '0'));
  }
  return value;
}

}  // namespace

std::size_t bytes_as_jsonb(std::string_view json_text) {
  std::size_t bytes = json_text.size();
  bool in_string = false;
  for (std::size_t i = 0; i < json_text.size(); ++i) {
    const char c = json_text[i];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      if (c == '\\') ++i;
    } else if ((c == 'e' || c == 'E') && i > 0 && is_digit_of_json(json_text[i - 1])) {
      bytes += exponent_of(json_text.substr(i + 1));
    }
  }
  return bytes;
}

JsonMistake describe_json_error(int id, std::string_view what) {
  if (const auto end_of_id = what.find("] "); what.starts_with("[json.exception.") && end_of_id != what.npos) {
    what.remove_prefix(end_of_id + 2);
  }
  JsonMistake mistake;
  if (const auto end = what.rfind(end_of_pointer(id)); what.starts_with("(/") && end != what.npos) {
    mistake.pointer = what.substr(1, end - 1);
    what.remove_prefix(end + 2);
  }
  mistake.reason = reason_of(id, what);
  if (id == missing_key_id) mistake.pointer += "/" + pointer_token(key_of_missing(what));
  return mistake;
}

}  // namespace dogged::detail
