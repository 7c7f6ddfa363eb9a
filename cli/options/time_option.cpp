// Options that name a time.
#include "cli/options/time_option.hpp"

#include "cli/input/choices.hpp"
#include "cli/input/new_tasks.hpp"
#include "cli/io/task_rows.hpp"
#include "client/enqueue_statement.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

bool is_duration_text(std::string text) { return is_duration()(text).empty(); }

}  // namespace

Time now_of(db::Connection& connection) { return time_from_microseconds(db::one(connection.run(sql::Clock{})).now_us); }

CLI::Validator is_time() {
  return CLI::Validator{[](std::string& text) {
                          try {
                            static_cast<void>(time_point_from_text(text, Zone::utc));
                            return std::string{};
                          } catch (const Error& error) {
                            return is_duration_text(text)
                                       ? in_quotes(text) + " is a duration; write a time, as 2026-11-24T14:02"
                                       : error.message();
                          }
                        },
                        ""};
}

CLI::Validator is_time_or_duration() {
  return CLI::Validator{[](std::string& text) {
                          std::string as_time = text;
                          if (is_duration_text(text) || is_time()(as_time).empty()) return std::string{};
                          return in_quotes(text) + " is neither a time, as 2026-11-24 or 2026-11-24T14:02Z, nor a " +
                                 "duration, as 90s, 2h or 7d for so long ago";
                        },
                        ""};
}

std::pair<CLI::Option*, CLI::Option*> add_due_options(CLI::App& command, DueTime& due, const std::string& what) {
  CLI::Option* at =
      command.add_option("--at", due.at, what + " this time: 2026-11-24, 2026-11-24T14:00 or 2026-11-24T14:00:00Z")
          ->type_name("TIME")
          ->check(is_time());
  CLI::Option* in = command.add_option("--in", due.in, what + " so long from now: 30s, 1h30m, 7d")
                        ->type_name("DURATION")
                        ->check(is_duration())
                        ->excludes(at);
  return {at, in};
}

Time time_of(db::Connection& connection, const DueTime& due, Zone zone) {
  return due.at.empty() ? now_of(connection) + duration_from_text(due.in) : time_from_iso8601(due.at, zone);
}

std::optional<Time> past_time_of(const std::string& text, Time now, Zone zone) {
  if (text.empty()) return std::nullopt;
  return is_duration_text(text) ? now - duration_from_text(text) : time_from_iso8601(text, zone);
}

std::optional<Time> past_time_of(db::Connection& connection, const std::string& text, Zone zone) {
  return past_time_of(text, is_duration_text(text) ? now_of(connection) : Time{}, zone);
}

std::optional<std::string> as_parameter(const std::optional<Time>& time) {
  return time ? std::optional{to_iso8601(*time)} : std::nullopt;
}

}  // namespace dogged::cli
