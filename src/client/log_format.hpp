// The form of the lines that a worker and `dogged exporter` write to stderr.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/formatter.h>

namespace dogged {

enum class LogFormat {
  text,    ///< for people, in colours on a terminal
  json,    ///< one object a line
  logfmt,  ///< `key=value …`
};

/// Of workers and of `dogged exporter`, where --log-format is not given.
inline constexpr const char* log_format_variable = "DOGGED_LOG_FORMAT";

/// `text`, `json` or `logfmt`; throws InvalidInput for another text, which it calls `name`.
[[nodiscard]] LogFormat log_format_from_text(const std::string& name, std::string_view text);

/// The parts of a line of the log.
struct LogLine {
  std::string time;         ///< RFC 3339 with milliseconds and the offset from UTC
  std::string_view level;   ///< of spdlog
  std::string_view logger;  ///< its name, which has the fields of an attempt if a handler logs (LoggerName)
  std::string_view event;   ///< its stable name, if the line has one
  std::string_view text;  ///< without control characters; `event=… key=value …` has the name and the fields itself
};

/// `{"time": …, "level": …, "logger": …, "event": …, "message": …}`, with the fields of an event in their order. A line
/// without an event is one of a handler (Context::log), of a library or of the program. Its event is `log`, and a
/// handler's line has the fields of its attempt.
[[nodiscard]] std::string json_line(const LogLine& line);
/// `time=… level=… logger=… event=… message=…`, with the same keys.
[[nodiscard]] std::string logfmt_line(const LogLine& line);

/// In text, the level is coloured on a terminal.
[[nodiscard]] std::unique_ptr<spdlog::formatter> formatter_of(LogFormat format);

}  // namespace dogged
