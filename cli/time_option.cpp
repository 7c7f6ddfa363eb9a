// Options that name a time.
#include "cli/time_option.hpp"

#include "cli/choices.hpp"
#include "cli/task_rows.hpp"
#include "retry/duration.hpp"
#include "retry/message.hpp"
#include "sql_statements.hpp"

namespace dogged::cli {
namespace {

bool is_duration_text(std::string text) { return is_duration()(text).empty(); }

Time now_of(db::Connection& connection) { return time_of(connection.run(sql::clock).one(), "now_us"); }

}  // namespace

CLI::Validator is_time_or_duration() {
  return CLI::Validator{[](std::string& text) {
                          if (is_duration_text(text)) return std::string{};
                          try {
                            static_cast<void>(time_from_iso8601(text));
                            return std::string{};
                          } catch (const Error&) {
                            return in_quotes(text) +
                                   " is neither a time, as 2026-11-21T14:02:11Z, nor a duration, as 90s, 2h or 7d";
                          }
                        },
                        ""};
}

std::optional<Time> past_time_of(db::Connection& connection, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (is_duration_text(text)) return now_of(connection) - duration_from_text(text);
  return time_from_iso8601(text);
}

Time time_after(db::Connection& connection, std::chrono::milliseconds duration) {
  return now_of(connection) + duration;
}

std::optional<std::string> as_parameter(const std::optional<Time>& time) {
  return time ? std::optional{to_iso8601(*time)} : std::nullopt;
}

}  // namespace dogged::cli
