// What a database URL says, for libpq; and messages about it, none of which shows a password.
#pragma once

#include <string>
#include <string_view>

#include <dogged/error.hpp>

#include "db/connection.hpp"

namespace dogged::db {

/// The database URL is wrong by itself: no server was asked. No message quotes the URL, for a password may stand
/// anywhere in one that is wrong.
class InvalidConninfo : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

struct Conninfo {
  std::string text;  ///< key='value' for libpq, with dogged's defaults for what the URL leaves open
  /// Whether libpq may have taken a part of a password for something else, such as a host, which its messages quote.
  bool is_ambiguous = false;
};

/// Throws InvalidConninfo.
[[nodiscard]] Conninfo parse_conninfo(const Settings& settings);

/// Throws the error for what libpq says of a connection that could not be made: InvalidConninfo where libpq does not
/// take the value of an option, else ConnectionError.
[[noreturn]] void throw_connect_error(const Conninfo& conninfo, const std::string& libpq_message);

/// `text`, a part of a command line, for messages. Cut after the scheme of a database URL in it, after the word
/// `password` and a `=`, and after an option and a `=` if the option is unknown or a `@` or a `=` follows.
[[nodiscard]] std::string without_passwords(std::string text);

}  // namespace dogged::db
