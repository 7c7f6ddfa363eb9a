// Options that name a time: as a date and clock, or as how long ago or ahead it is by the database's clock.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/moment.hpp"
#include "db/connection.hpp"

namespace dogged::cli {

/// 2026-11-21T14:00:00Z, or a duration as is_duration takes it.
[[nodiscard]] CLI::Validator is_time_or_duration();

/// The time that `text` names, a duration as so long ago; nothing where it is empty. Asks the database for its time
/// only if it has to.
[[nodiscard]] std::optional<Time> past_time_of(db::Connection& connection, const std::string& text);

/// So long from now.
[[nodiscard]] Time time_after(db::Connection& connection, std::chrono::milliseconds duration);

/// As a parameter of a statement.
[[nodiscard]] std::optional<std::string> as_parameter(const std::optional<Time>& time);

}  // namespace dogged::cli
