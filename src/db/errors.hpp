// Turns exceptions of pqxx into dogged's. Only this place decides whose mistake an error is, and whether the connection
// is gone.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <dogged/error.hpp>

namespace dogged::db {

/// The error of `unknown_queue`.
class UnknownQueue : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// The parts of a server's error text ("ERROR:  …\nHINT:  …\nCONTEXT:  …").
struct ServerMessage {
  std::string message;
  std::string hint;
};
[[nodiscard]] ServerMessage parse_server_message(std::string_view text);

/// A message of libpq, or one with a hint, as one line of a log.
[[nodiscard]] std::string one_line(std::string text);

/// The login has no right to do this.
inline constexpr std::string_view insufficient_privilege = "42501";
/// A queue has no room for the tasks of a call (dogged.refuse_for_depth). Class 53: the server is short of a resource.
inline constexpr std::string_view queue_full = "53Q01";
/// A queue that a call names does not exist. Class 22, as any wrong value.
inline constexpr std::string_view unknown_queue = "22Q01";
/// A task holds the unique key of an enqueue with on_conflict refuse (schema/unique.sql).
inline constexpr std::string_view unique_conflict = "UN001";

/// Classes 22 (data), 23 (constraints) and 54 (limits) are about the caller's values.
[[nodiscard]] bool is_callers_mistake(std::string_view sqlstate) noexcept;
/// Class 08 and 57P01 to 57P03 (shutdown): the connection is of no further use. A connection to a server that has
/// become read-only (25006) is of no use either. After a failover another host of the URL may be writable.
[[nodiscard]] bool is_connection_gone(std::string_view sqlstate) noexcept;

/// Whether the error of a worker's own statement is a mistake of dogged, or of a schema that does not fit this program.
/// Examples: a missing column or function, a broken invariant. A retry does not help. Every error is a defect, except a
/// lost connection and a refusal that may pass (locks, limits, rights, an operator's trigger). A system without memory
/// or other resources is no defect either.
[[nodiscard]] bool is_defect(const std::exception& error) noexcept;
/// Whether PostgreSQL refused a worker's own statement for a reason that may pass. The connection is as good as before.
[[nodiscard]] bool is_refusal(const std::exception& error) noexcept;

/// Why a connection could not be made, and what to check.
[[nodiscard]] ConnectionError connect_error(const std::string& libpq_message);

/// Throws the dogged error for an error of a statement. `doing` names it, for example `claim`.
[[noreturn]] void throw_statement_error(std::string_view doing, const std::string& text, const std::string& sqlstate,
                                        bool connection_is_open);

}  // namespace dogged::db
