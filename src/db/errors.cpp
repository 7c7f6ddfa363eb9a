// See errors.hpp.
#include "db/errors.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <system_error>
#include <utility>

namespace dogged::db {
namespace {

constexpr std::string_view blanks = " \n\t";

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return std::string{text.substr(first, text.find_last_not_of(blanks) - first + 1)};
}

/// Hints for a refused connection, by words of libpq's message.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> connect_hints{{
    {"password authentication failed", "check the user and the password in the database URL"},
    {"no password supplied", "put the password into the database URL, PGPASSWORD or ~/.pgpass"},
    {"no pg_hba.conf entry", "the server's pg_hba.conf does not let this host, user or database in"},
    {"too many clients", "the server's max_connections is used up: a worker needs four to six, a client one"},
    {"database \"", "create the database (createdb NAME) or name another one in the database URL"},
    {"role \"", "create the role (createuser NAME) or name another one in the database URL"},
    {"could not translate host name", "check the host in the database URL"},
}};

/// The statement can never succeed with the present schema: class 42 (a wrong name, type or syntax), and 3F000 (no such
/// schema). Class 42 has two exceptions. An operator can grant a missing right. An object that already exists (42P07,
/// 42710) was made by another session meanwhile.
bool fits_no_schema(std::string_view sqlstate) noexcept {
  if (sqlstate == insufficient_privilege || sqlstate == "42P07" || sqlstate == "42710") return false;
  return sqlstate == "3F000" || sqlstate.starts_with("42");
}

/// PostgreSQL's error names the refused object, and no role that has the right.
std::string_view hint_for_missing_right(std::string_view message) {
  if (message.starts_with("must be owner"))
    return "run it as the owner of the schema: the role that ran `dogged migrate` first";
  return "this login lacks one of dogged's roles: producers enqueue, workers run tasks, viewers look, operators "
         "change; "
         "see `dogged migrate --roles` and docs/roles.md";
}

}  // namespace

ServerMessage parse_server_message(std::string_view text) {
  // The server's lc_messages translates the severity; the message begins after a colon and two spaces.
  if (const auto colon = text.find(":  "); colon != std::string_view::npos && colon < 20) text.remove_prefix(colon + 3);
  ServerMessage parts;
  if (const auto hint = text.find("\nHINT:  "); hint != std::string_view::npos) {
    const std::string_view after = text.substr(hint + 8);
    parts.hint = one_line(trimmed(after.substr(0, after.find("\nCONTEXT:  "))));
  }
  std::size_t end = text.size();
  // Leaves out the row that broke a constraint, and pieces of invalid JSON: args and results must not get into logs.
  for (std::string_view label :
       {"\nDETAIL:  Failing row contains", "\nDETAIL:  Token ", "\nHINT:  ", "\nCONTEXT:  ", "\nLINE ", "\nQUERY:  "}) {
    end = std::min(end, text.find(label));
  }
  parts.message = one_line(trimmed(text.substr(0, end)));
  return parts;
}

std::string one_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, text.find_first_not_of(blanks, at) - at, "; ");
  }
  return text;
}

bool is_callers_mistake(std::string_view sqlstate) noexcept {
  return sqlstate.starts_with("22") || sqlstate.starts_with("23") || sqlstate.starts_with("54");
}

bool is_connection_gone(std::string_view sqlstate) noexcept {
  return sqlstate.starts_with("08") || sqlstate == "57P01" || sqlstate == "57P02" || sqlstate == "57P03" ||
         sqlstate == "25006";
}

bool is_defect(const std::exception& error) noexcept {
  if (const auto* refused = dynamic_cast<const DatabaseError*>(&error)) return fits_no_schema(refused->sqlstate());
  // A refusal of values may pass too: an operator's trigger or constraint may have made it.
  const bool may_pass = dynamic_cast<const Error*>(&error) != nullptr ||
                        dynamic_cast<const std::system_error*>(&error) != nullptr ||
                        dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return !may_pass;
}

bool is_refusal(const std::exception& error) noexcept {
  return dynamic_cast<const Error*>(&error) != nullptr && dynamic_cast<const ConnectionError*>(&error) == nullptr &&
         !is_defect(error);
}

ConnectionError connect_error(const std::string& libpq_message) {
  std::string_view hint = "is the server running and reachable? `dogged dev up` starts a private one";
  for (const auto& [words, remedy] : connect_hints) {
    if (libpq_message.find(words) != std::string::npos) {
      hint = remedy;
      break;
    }
  }
  return {"cannot connect to PostgreSQL: " + one_line(trimmed(libpq_message)), std::string{hint}, ""};
}

void throw_statement_error(std::string_view doing, const std::string& text, const std::string& sqlstate,
                           bool connection_is_open) {
  ServerMessage parts = parse_server_message(text);
  if (sqlstate == "25006") {
    throw ConnectionError("the server is read-only (" + std::string{doing} + ": " + parts.message + ")",
                          "name all hosts in the database URL and add target_session_attrs=read-write: then the one "
                          "that can be written is found",
                          sqlstate);
  }
  if (is_connection_gone(sqlstate) || !connection_is_open) {
    throw ConnectionError("the connection to PostgreSQL was lost in " + std::string{doing} + ": " + parts.message, "",
                          sqlstate);
  }
  if (sqlstate == "22021" && parts.hint.empty()) {
    parts.hint = "one of the names or texts that were given has these bytes: write it in UTF-8";
  }
  if (sqlstate == unknown_queue) throw UnknownQueue(parts.message, parts.hint);
  if (is_callers_mistake(sqlstate)) throw InvalidInput(parts.message, parts.hint);
  if (sqlstate == queue_full) throw DatabaseError(parts.message, parts.hint, sqlstate);
  if (sqlstate == "53100" && parts.hint.empty()) {
    parts.hint = "the server's disk is full: make room there; what was committed before is safe";
  }
  if (sqlstate == insufficient_privilege && parts.hint.empty()) parts.hint = hint_for_missing_right(parts.message);
  throw DatabaseError(std::string{doing} + ": " + parts.message + " (SQLSTATE " + sqlstate + ")", parts.hint, sqlstate);
}

}  // namespace dogged::db
