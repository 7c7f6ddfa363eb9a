// The exceptions that dogged throws at its callers: "your mistake" and "the world's" kept apart.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace dogged {

/// Base of everything that dogged throws at producers and tools. `what()` names the thing, the value and the limit;
/// where there is a next step it ends with a line "hint: …".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {})
      : std::runtime_error(hint.empty() ? message : message + "\nhint: " + hint),
        message_(message),
        hint_(std::move(hint)) {}

  /// what() without the hint.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// What to do next; empty if there is nothing to say.
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  std::string message_;
  std::string hint_;
};

/// The caller's mistake: a name, a policy, args or an option out of its limits. Trying again does not help.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// The database said no, or could not be asked. `sqlstate()` is PostgreSQL's five-character code, empty where there was
/// no answer from a server (https://www.postgresql.org/docs/current/errcodes-appendix.html).
class DatabaseError : public Error {
 public:
  DatabaseError(const std::string& message, std::string hint, std::string sqlstate)
      : Error(message, std::move(hint)), sqlstate_(std::move(sqlstate)) {}

  [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }

 private:
  std::string sqlstate_;
};

/// There is no usable connection: refused, lost, wrong password, no such database. Whether the last COMMIT took effect
/// is unknown if one was under way.
class ConnectionError : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

/// The attempt is not this worker's any more: its lease was ended and the task given to another, or the attempt was
/// ended without its handler (a timeout, a cancellation). Nothing that was written in the same transaction is kept.
class LeaseLost : public Error {
 public:
  using Error::Error;
};

/// A mistake of dogged itself, or a schema that does not fit this program. A statement names a column or a function
/// that is not there, or an answer breaks an invariant. A worker first gives back the tasks that it has not begun, then
/// ends.
class Defect : public Error {
 public:
  using Error::Error;
};

/// The database's dogged schema is missing, older or newer than this program. `hint()` is the command that mends it.
class SchemaMismatch : public Error {
 public:
  using Error::Error;
};

}  // namespace dogged
