// Which errors of a call to the database are for now: the same call may succeed another time.
#pragma once

#include <exception>

namespace dogged {

/// No connection, or what the server says of itself for now: it restarts, is full, or gave up a transaction.
[[nodiscard]] bool is_passing(const std::exception& error);

}  // namespace dogged
