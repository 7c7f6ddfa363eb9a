// Options that name a time. All commands use the same words: --at TIME and --in DURATION for a time to come. A past
// time is given as a time or as its age.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/render/moment.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::cli {

/// The database's clock.
[[nodiscard]] Time now_of(db::Connection& connection);

/// 2026-11-24, 2026-11-24T14:00, 2026-11-24T14:00:00Z: what time_from_iso8601 reads.
[[nodiscard]] CLI::Validator is_time();
/// The same, or a duration as is_duration takes it.
[[nodiscard]] CLI::Validator is_time_or_duration();

/// As it was written: when tasks fall due.
struct DueTime {
  std::string at, in;

  [[nodiscard]] bool is_given() const { return !at.empty() || !in.empty(); }
};

/// --at and --in, one of them at most. `what` begins their descriptions: `Not before`.
std::pair<CLI::Option*, CLI::Option*> add_due_options(CLI::App& command, DueTime& due, const std::string& what);

/// The time that `due` names, --in by the database's clock. Requires due.is_given().
[[nodiscard]] Time time_of(db::Connection& connection, const DueTime& due, Zone zone);

/// The time that `text` names. A duration means so long before `now`; an empty text gives nothing.
[[nodiscard]] std::optional<Time> past_time_of(const std::string& text, Time now, Zone zone);
/// The same by the database's clock, which is only asked for a duration.
[[nodiscard]] std::optional<Time> past_time_of(db::Connection& connection, const std::string& text, Zone zone);

/// As a parameter of a statement.
[[nodiscard]] std::optional<std::string> as_parameter(const std::optional<Time>& time);

}  // namespace dogged::cli
