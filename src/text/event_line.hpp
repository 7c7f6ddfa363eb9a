// A line of the log for programs: `event=retry task=7 error=HTTP_503 message="no answer"`. Pure.
//
// The form is logfmt: keys without spaces, and values that are quoted if they have a space, a quote or an equals sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dogged {

class LogfmtLine {
 public:
  LogfmtLine& with(std::string_view key, std::string_view value);
  LogfmtLine& with(std::string_view key, std::int64_t value);
  /// Nothing if `message` is empty. A long message is cut after 500 bytes.
  LogfmtLine& with_message(std::string_view message);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

[[nodiscard]] inline LogfmtLine event_line(std::string_view name) { return LogfmtLine{}.with("event", name); }

using LogFields = std::vector<std::pair<std::string, std::string>>;

/// The keys and values of a text that begins with an event, in their order. Empty if the text has another form.
[[nodiscard]] LogFields fields_of(std::string_view text);

/// The logger of an attempt's handler carries the fields of the attempt behind its name: `dogged task=7 name=…`. spdlog
/// passes a formatter nothing else that belongs to one logger.
struct LoggerName {
  std::string_view name;
  LogFields fields;  ///< empty if the logger is of no attempt
};

[[nodiscard]] std::string logger_name_with(std::string_view name, const LogfmtLine& fields_from_task);
[[nodiscard]] LoggerName split_logger_name(std::string_view text);

}  // namespace dogged
