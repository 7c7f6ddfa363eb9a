// From values to JSON text that PostgreSQL can store as jsonb, and back. Templates, so that nlohmann_json stays on
// the caller's side: the compiled library sees text only, and a program may use any of its build options.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/detail/cut_for_message.hpp>
#include <dogged/error.hpp>

namespace dogged::detail {

/// A value that jsonb cannot hold, by JSON pointer.
struct Unstorable {
  std::string pointer;
  std::string reason;
};

[[nodiscard]] inline std::string pointer_token(std::string_view key) {
  std::string token;
  for (char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

/// The mistake in a document, in words that quote no value of the document: viewers read them, and must not see values.
struct JsonMistake {
  std::string pointer;  ///< of the value that does not fit, as far as it is known; "" is the whole document
  std::string reason;
};

/// From the id and the text of an exception of nlohmann_json, such as 302 and "[json.exception.type_error.302] (/url)
/// type must be string, but is number". The pointer is there when JSON_DIAGNOSTICS is on, as the target dogged::worker
/// sets it; a missing key is named either way.
[[nodiscard]] JsonMistake describe_json_error(int id, std::string_view what);

/// How long JSON text is when PostgreSQL has written it out again: 1e308 comes as 5 characters and goes as 309.
[[nodiscard]] std::size_t bytes_as_jsonb(std::string_view json_text);

/// Deeper documents would overflow the stack of recursive code, here and in PostgreSQL.
inline constexpr int max_json_depth = 500;

inline constexpr std::string_view nul_reason = "contains a NUL character, which PostgreSQL's jsonb cannot hold";

/// The first value that dump() would change silently (NaN becomes null) or that jsonb refuses.
template <class Json>
[[nodiscard]] std::optional<Unstorable> find_unstorable(const Json& json, int depth = 0) {
  const auto because = [](std::string_view reason) { return Unstorable{"", std::string{reason}}; };
  const auto below = [depth](const Json& value, auto token) -> std::optional<Unstorable> {
    auto found = find_unstorable(value, depth + 1);
    if (found) found->pointer = "/" + token() + found->pointer;  // built only where something is wrong
    return found;
  };
  if (depth > max_json_depth) return because("is nested more than 500 levels deep");
  if (json.is_number_float() && !std::isfinite(json.template get<double>())) {
    return because("is NaN or infinite, which JSON cannot carry");
  }
  if (json.is_binary()) return because("is binary, which JSON cannot carry");
  if (json.is_string()) {
    if (json.template get_ref<const std::string&>().find('\0') != std::string::npos) return because(nul_reason);
  } else if (json.is_object()) {
    for (auto member = json.begin(); member != json.end(); ++member) {
      if (member.key().find('\0') != std::string::npos) return because(nul_reason);
      if (auto found = below(*member, [&] { return pointer_token(member.key()); })) return found;
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (auto found = below(json[i], [&] { return std::to_string(i); })) return found;
    }
  }
  return std::nullopt;
}

/// A value in a message: `the args of task "mail.send"`. Made only for an error: each enqueue has args.
struct ValueName {
  std::string_view kind;
  std::string_view of = {};

  [[nodiscard]] std::string text() const {
    return std::string{kind} + (of.empty() ? "" : " \"" + std::string{of} + "\"");
  }
};

[[nodiscard]] inline std::string storable_json_text(ValueName name, const nlohmann::json& json) {
  if (auto found = find_unstorable(json)) {
    throw std::invalid_argument(name.text() + ": " +
                                (found->pointer.empty() ? "the value" : cut_for_message(found->pointer)) + " " +
                                found->reason);
  }
  return json.dump();
}

/// JSON text of `value`. Throws std::invalid_argument, with the value's name and the JSON pointer.
template <class T>
[[nodiscard]] std::string to_json_text(ValueName name, const T& value) {
  try {
    if constexpr (std::is_same_v<T, nlohmann::json>) {
      return storable_json_text(name, value);  // without a copy, which would overflow the stack where it is too deep
    } else {
      return storable_json_text(name, nlohmann::json(value));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(name.text() +
                                " cannot become JSON: " + describe_json_error(error.id, error.what()).reason);
  }
}

template <class Args>
[[nodiscard]] std::string args_to_json_text(std::string_view task_name, const Args& args) {
  try {
    return to_json_text({"the args of task", task_name}, args);
  } catch (const std::invalid_argument& error) {
    throw InvalidInput(error.what());
  }
}

inline constexpr std::size_t max_details_bytes = 65536;

/// JSON text of an error's details. Never throws over their content: losing the error would be worse.
template <class Json>
[[nodiscard]] std::string details_to_json_text(const Json& details) {
  const auto text_of = [](const Json& given) { return given.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (auto found = find_unstorable(details)) {
    const std::string where = cut_for_message(found->pointer);
    return text_of({{"unstorable", (where.empty() ? "the value" : where) + " " + found->reason}});
  }
  std::string text = text_of(details);
  const std::size_t bytes = bytes_as_jsonb(text);
  if (bytes <= max_details_bytes) return text;
  return text_of({{"unstorable", "has " + std::to_string(bytes) + " bytes; the limit is 65536"}});
}

}  // namespace dogged::detail
