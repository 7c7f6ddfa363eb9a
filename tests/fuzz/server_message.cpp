// The server's message of an error: taken apart, and turned into the error that callers see. The first two lines of the
// input are an SQLSTATE and whether the connection is open; the rest is the server's text.
#include "db/errors.hpp"
#include "fuzz.hpp"

using namespace dogged;

namespace {

void require_part(std::string_view whole, const std::string& part) {
  fuzz::require(whole.find(part) != std::string_view::npos, "a part stands in the text", part);
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
  const bool trimmed = part.empty() || (!is_blank(part.front()) && !is_blank(part.back()));
  fuzz::require(trimmed, "a part has no blanks around it", part);
}

/// Texts of the form that servers send come apart as they were put together.
void require_round_trip(const std::string& message, const std::string& hint) {
  const db::ServerMessage parts =
      db::parse_server_message("FEHLER:  " + message + "\nLINE 1: select\nHINT:  " + hint + "\nCONTEXT:  PL/pgSQL");
  fuzz::require(parts.message == message, "the message comes out as the server put it in", parts.message);
  fuzz::require(parts.hint == hint, "the hint comes out as the server put it in", parts.hint);
}

/// The SQLSTATE and the connection alone decide whose mistake it is.
void require_right_error(const std::string& text, const std::string& sqlstate, bool is_open) {
  const bool gone = !is_open || db::is_connection_gone(sqlstate);
  try {
    db::throw_statement_error("claim", text, sqlstate, is_open);
  } catch (const ConnectionError& error) {
    fuzz::require(gone, "a connection that is there is not given up", error.message());
    fuzz::require(error.sqlstate() == sqlstate, "an error carries its SQLSTATE");
  } catch (const InvalidInput& error) {
    fuzz::require(!gone && db::is_callers_mistake(sqlstate), "only the caller's mistake is InvalidInput", sqlstate);
  } catch (const DatabaseError& error) {
    fuzz::require(!gone && !db::is_callers_mistake(sqlstate), "the caller's mistake is InvalidInput", sqlstate);
    fuzz::require(error.sqlstate() == sqlstate, "an error carries its SQLSTATE");
  }
}

}  // namespace

FUZZ_TARGET(server_message, input) {
  Lines lines{input};
  const std::string sqlstate = lines.text();
  const bool is_open = lines.flag();
  const std::string text{lines.rest()};

  const db::ServerMessage parts = db::parse_server_message(text);
  require_part(db::one_line(text), parts.message);
  require_part(db::one_line(text), parts.hint);
  require(parts.message.find("\nHINT:  ") == std::string::npos, "the hint is not in the message", parts.message);
  require_right_error(text, sqlstate, is_open);
  require(db::connect_error(text).message().starts_with("cannot connect"), "an error says what could not be done");

  const auto one_line = [&lines] {
    const std::string line = lines.text();
    const auto first = line.find_first_not_of(" \t");
    return first == std::string::npos ? "x" : line.substr(first, line.find_last_not_of(" \t") - first + 1);
  };
  const std::string message = one_line();
  require_round_trip(message, one_line());
}
