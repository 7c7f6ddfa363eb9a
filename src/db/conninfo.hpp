// Reads a database URL for libpq, and makes messages about it. No message shows a password.
#pragma once

#include <string>
#include <string_view>

#include <dogged/error.hpp>

#include "db/settings.hpp"

namespace dogged::db {

/// The database URL itself is wrong: no server was asked. No message quotes the URL, because a wrong URL may have its
/// password anywhere.
class InvalidConninfo : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

struct Conninfo {
  std::string text;  ///< key='value' for libpq, with dogged's defaults for options that the URL does not set
  /// Whether libpq may have taken a part of a password for something else, such as a host, which its messages quote.
  bool is_ambiguous = false;
};

/// Throws InvalidConninfo.
[[nodiscard]] Conninfo parse_conninfo(const Settings& settings);

/// Throws the error for libpq's message about a failed connection: InvalidConninfo if libpq refuses the value of an
/// option, else ConnectionError.
[[noreturn]] void throw_connect_error(const Conninfo& conninfo, const std::string& libpq_message);

/// `text`, a part of a command line, for messages. The text is cut after the scheme of a database URL, the `:` of
/// `user:password@`, or the word `password` and a `=`. The text is also cut after an option and a `=` if the option is
/// unknown or if a `@` or a `=` follows.
[[nodiscard]] std::string without_passwords(std::string text);

}  // namespace dogged::db
