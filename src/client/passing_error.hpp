// Errors of a call to the database that pass: the same call may succeed later.
#pragma once

#include <exception>

namespace dogged {

/// No connection, or a passing state of the server: it restarts, is full, or gave up a transaction.
[[nodiscard]] bool is_passing(const std::exception& error);

}  // namespace dogged
