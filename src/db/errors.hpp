// From what pqxx throws to what dogged throws; one place decides whose mistake an error is and whether the connection
// is gone.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <dogged/error.hpp>

namespace dogged::db {

/// A server's error text ("ERROR:  …\nHINT:  …\nCONTEXT:  …") in its parts.
struct ServerMessage {
  std::string message;
  std::string hint;
};
[[nodiscard]] ServerMessage parse_server_message(std::string_view text);

/// A message of libpq, or one with a hint, as one record of a log.
[[nodiscard]] std::string one_line(std::string text);

/// The login has no right to do this.
inline constexpr std::string_view insufficient_privilege = "42501";

/// Classes 22 (data), 23 (constraints) and 54 (limits) complain of what the caller gave.
[[nodiscard]] bool is_callers_mistake(std::string_view sqlstate) noexcept;
/// A queue has no room for what was to be enqueued (dogged.refuse_for_depth). The server has that code for limits of
/// its own as well.
[[nodiscard]] bool is_queue_full(std::string_view sqlstate, std::string_view message) noexcept;

/// Class 08 and 57P01 to 57P03 (shutdown): nothing more will come through this connection. Nor is it of use where the
/// server has become read-only (25006): after a failover another host of the URL may be writable.
[[nodiscard]] bool is_connection_gone(std::string_view sqlstate) noexcept;

/// Whether the error is a mistake of dogged itself, or comes from a schema that this program does not fit: a column or
/// a function that is not there, a type that does not fit, a broken invariant. To try again does not help.
[[nodiscard]] bool is_defect(const std::exception& error) noexcept;

/// Why a connection could not be made, with what to check.
[[nodiscard]] ConnectionError connect_error(const std::string& libpq_message);

/// Throws the dogged error for an error of a statement. `doing` names it, for example `claim`.
[[noreturn]] void throw_statement_error(std::string_view doing, const std::string& text, const std::string& sqlstate,
                                        bool connection_is_open);

}  // namespace dogged::db
