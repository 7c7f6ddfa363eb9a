// JSON objects written member by member. Documents that the database holds go through as the text that they are: parsed
// and written again, numbers would lose digits. Characters that a terminal could obey, or that turn the direction of a
// text, are escaped everywhere (text/escaped.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/moment.hpp"

namespace dogged::cli {

/// In quotes, escaped; invalid UTF-8 is replaced.
[[nodiscard]] std::string json_string(std::string_view text);
/// `[a,b]` of JSON texts.
[[nodiscard]] std::string json_array(const std::vector<std::string>& elements);
/// `["a","b"]`.
[[nodiscard]] std::string json_strings(const std::vector<std::string>& texts);

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text);
  JsonObject& add(std::string_view key, const char* text) { return add(key, std::string_view{text}); }
  JsonObject& add(std::string_view key, const std::string& text) { return add(key, std::string_view{text}); }
  JsonObject& add(std::string_view key, std::int64_t number);
  JsonObject& add(std::string_view key, int number) { return add(key, static_cast<std::int64_t>(number)); }
  JsonObject& add(std::string_view key, bool value);
  JsonObject& add(std::string_view key, Time time);
  JsonObject& add_json(std::string_view key, std::string_view json_text);
  JsonObject& add_null(std::string_view key) { return add_json(key, "null"); }
  /// null where there is no value.
  template <class T>
  JsonObject& add(std::string_view key, const std::optional<T>& value) {
    return value ? add(key, *value) : add_null(key);
  }

  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace dogged::cli
