// The exceptions that dogged throws. Mistakes of the caller and failures of the database are different classes.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace dogged {

/// Base of everything that dogged throws at producers and tools. `what()` names the thing, the value and the limit.
/// If there is a next step, it ends with a line "hint: …".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {})
      : std::runtime_error(hint.empty() ? message : message + "\nhint: " + hint),
        message_(message),
        hint_(std::move(hint)) {}

  /// what() without the hint.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// The advice on the next step; empty if there is none.
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  std::string message_;
  std::string hint_;
};

/// A mistake of the caller: a name, a policy, args or an option out of its limits. A retry does not help.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// A field of a policy is out of its limits. `what()`: the field, the value, the limit.
class InvalidPolicy : public InvalidInput {
 public:
  InvalidPolicy(std::string field, const std::string& message) : InvalidInput(message), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

 private:
  std::string field_;
};

/// The database refused a statement or could not be asked. `sqlstate()` is PostgreSQL's five-character code, empty
/// if no server answered (https://www.postgresql.org/docs/current/errcodes-appendix.html).
class DatabaseError : public Error {
 public:
  DatabaseError(const std::string& message, std::string hint, std::string sqlstate)
      : Error(message, std::move(hint)), sqlstate_(std::move(sqlstate)) {}

  [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }

 private:
  std::string sqlstate_;
};

/// There is no usable connection: refused, lost, wrong password, no such database. If a COMMIT was under way, its
/// outcome is unknown.
class ConnectionError : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

/// This worker does not hold the attempt any more. Either its lease was ended and the task given to another worker,
/// or the attempt was ended without its handler (a timeout, a cancellation). Nothing written in the same transaction is
/// kept.
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

/// The database's dogged schema is missing, older or newer than this program. `hint()` is the command that fixes
/// it.
class SchemaMismatch : public Error {
 public:
  using Error::Error;
};

}  // namespace dogged
