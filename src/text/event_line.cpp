// See event_line.hpp.
#include "text/event_line.hpp"

#include <algorithm>
#include <optional>

#include "text/escaped.hpp"

namespace dogged {
namespace {

constexpr std::size_t longest_message = 500;  // bytes: a line of the log, not the record of the attempt

bool needs_quotes(std::string_view value, std::string_view escaped_value) {
  return value.empty() || escaped_value != value || value.find_first_of(" \"=\\") != std::string_view::npos;
}

std::string with_backslashes(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

/// The character that a backslash and `c` stand for. Escapes of bytes and code points stay as they are.
std::string unescaped(char c) {
  switch (c) {
    case 'n':
      return "\n";
    case 'r':
      return "\r";
    case 't':
      return "\t";
    case '"':
    case '\\':
      return {c};
    default:
      return {'\\', c};
  }
}

/// The longest beginning of `text` that is at most `bytes` long and does not end within a character.
std::string_view beginning_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const auto is_within_character = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 3 && is_within_character(end)) --end;
  return text.substr(0, end);
}

bool is_key_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/// Takes `key=value` from the beginning of `rest`.
std::optional<std::pair<std::string, std::string>> take_field(std::string_view& rest) {
  const auto key_end = std::find_if_not(rest.begin(), rest.end(), is_key_character);
  const auto length = static_cast<std::size_t>(key_end - rest.begin());
  if (length == 0 || length == rest.size() || rest[length] != '=') return std::nullopt;
  std::string key{rest.substr(0, length)};
  rest.remove_prefix(length + 1);
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string value{rest.substr(0, end)};
    rest.remove_prefix(end);
    return std::pair{std::move(key), std::move(value)};
  }
  std::string value;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return std::pair{std::move(key), std::move(value)};
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) {
      value += unescaped(rest[++i]);
    } else {
      value += rest[i];
    }
  }
  return std::nullopt;  // no quote at the end
}

/// Empty if any of the text has another form.
LogFields all_fields_of(std::string_view text) {
  LogFields fields;
  while (true) {
    auto field = take_field(text);
    if (!field) return {};
    fields.push_back(std::move(*field));
    if (text.empty()) return fields;
    if (!text.starts_with(' ')) return {};
    text.remove_prefix(1);
  }
}

}  // namespace

LogfmtLine& LogfmtLine::with(std::string_view key, std::string_view value) {
  if (!text_.empty()) text_ += ' ';
  text_.append(key) += '=';
  const std::string line = escaped(value);
  text_ += needs_quotes(value, line) ? '"' + escaped(with_backslashes(value)) + '"' : line;
  return *this;
}

LogfmtLine& LogfmtLine::with(std::string_view key, std::int64_t value) { return with(key, std::to_string(value)); }

LogfmtLine& LogfmtLine::with_message(std::string_view message) {
  if (message.empty()) return *this;
  const std::string_view beginning = beginning_of(message, longest_message);
  return with("message", std::string{beginning} + (beginning.size() < message.size() ? "…" : ""));
}

LogFields fields_of(std::string_view text) { return text.starts_with("event=") ? all_fields_of(text) : LogFields{}; }

std::string logger_name_with(std::string_view name, const LogfmtLine& fields_from_task) {
  return std::string{name} + " " + fields_from_task.text();
}

LoggerName split_logger_name(std::string_view text) {
  const auto end = text.find(" task=");
  if (end == std::string_view::npos) return {text, {}};
  LogFields fields = all_fields_of(text.substr(end + 1));
  return {fields.empty() ? text : text.substr(0, end), std::move(fields)};
}

}  // namespace dogged
