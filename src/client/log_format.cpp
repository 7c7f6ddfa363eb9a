// See log_format.hpp.
#include "client/log_format.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <spdlog/pattern_formatter.h>

#include <dogged/error.hpp>

#include "text/escaped.hpp"
#include "text/event_line.hpp"
#include "text/message.hpp"

namespace dogged {
namespace {

/// The fields whose values are whole numbers. A name or a code of digits stays a string.
bool is_number(std::string_view key, std::string_view value) {
  static constexpr std::array numbers{"attempt", "delay_ms", "max_retries", "retries",
                                      "retry",   "task",     "tasks",       "worker"};
  const bool has_digits = !value.empty() && value.size() < 19 &&
                          std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  return has_digits && std::find(numbers.begin(), numbers.end(), key) != numbers.end();
}

/// Logger, event, fields and message of a line. A handler's text is its message, whatever it looks like: a field in the
/// text would count as one of the attempt.
LogFields fields_of_line(const LogLine& line) {
  LoggerName logger = split_logger_name(line.logger);
  LogFields fields{{"logger", std::string{logger.name}}};
  const LogFields of_event = logger.fields.empty() ? fields_of(line.text) : LogFields{};
  if (!of_event.empty()) {
    fields.insert(fields.end(), of_event.begin(), of_event.end());
    return fields;
  }
  fields.emplace_back("event", line.event.empty() ? "log" : line.event);
  fields.insert(fields.end(), logger.fields.begin(), logger.fields.end());
  fields.emplace_back("message", line.text);
  return fields;
}

std::string rfc3339(spdlog::log_clock::time_point time) {
  const std::time_t seconds = spdlog::log_clock::to_time_t(time);
  const auto since_epoch = time.time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count() % 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  const std::size_t date = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  std::string result{text.data(), date};
  const std::string fraction = std::to_string(1000 + milliseconds);
  const std::size_t zone = std::strftime(text.data(), text.size(), "%z", &local);
  std::string offset{text.data(), zone};
  if (offset.size() == 5) offset.insert(3, ":");
  return result + "." + fraction.substr(1) + offset;
}

class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(LogFormat format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    const spdlog::string_view_t level = spdlog::level::to_string_view(message.level);
    const LogLine line{.time = rfc3339(message.time),
                       .level = {level.data(), level.size()},
                       .logger = {message.logger_name.data(), message.logger_name.size()},
                       .event = message.source.funcname != nullptr ? message.source.funcname : "",
                       .text = {message.payload.data(), message.payload.size()}};
    const std::string text = (format_ == LogFormat::json ? json_line(line) : logfmt_line(line)) + "\n";
    to.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(format_);
  }

 private:
  LogFormat format_;
};

}  // namespace

LogFormat log_format_from_text(const std::string& name, std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  if (text == "logfmt") return LogFormat::logfmt;
  throw InvalidInput(name + ": " + in_quotes(text) + " is not a format of the log" +
                     suggestion(text, {"text", "json", "logfmt"}) + "; write text, json or logfmt");
}

std::string json_line(const LogLine& line) {
  nlohmann::ordered_json object{{"time", line.time}, {"level", line.level}};
  for (const auto& [key, value] : fields_of_line(line)) {
    if (is_number(key, value)) {
      object[key] = std::stoll(value);
    } else {
      object[key] = value;
    }
  }
  return escaped_json(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string logfmt_line(const LogLine& line) {
  LogfmtLine text;
  text.with("time", line.time).with("level", line.level);
  for (const auto& [key, value] : fields_of_line(line)) text.with(key, value);
  return text.text();
}

std::unique_ptr<spdlog::formatter> formatter_of(LogFormat format) {
  if (format != LogFormat::text) return std::make_unique<LineFormatter>(format);
  return std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ [%n] %v");
}

}  // namespace dogged
