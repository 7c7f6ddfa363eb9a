// JSON objects written member by member.
#include "cli/render/json_object.hpp"

#include <nlohmann/json.hpp>

#include "text/escaped.hpp"

namespace dogged::cli {

std::string json_string(std::string_view text) {
  return escaped_json(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string json_array(const std::vector<std::string>& elements) {
  std::string text = "[";
  for (const std::string& element : elements) {
    if (text.size() > 1) text += ",";
    text += element;
  }
  return text + "]";
}

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> elements;
  for (const std::string& text : texts) elements.push_back(json_string(text));
  return json_array(elements);
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view json_text) {
  if (!members_.empty()) members_ += ",";
  members_ += json_string(key);
  members_ += ":";
  members_ += escaped_json(json_text);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view text) { return add_json(key, json_string(text)); }

JsonObject& JsonObject::add(std::string_view key, std::int64_t number) { return add_json(key, std::to_string(number)); }

JsonObject& JsonObject::add(std::string_view key, bool value) { return add_json(key, value ? "true" : "false"); }

JsonObject& JsonObject::add(std::string_view key, Time time) { return add(key, to_iso8601(time)); }

}  // namespace dogged::cli
