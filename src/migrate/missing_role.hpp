// The hint after "permission denied": which of dogged's roles is missing.
#pragma once

#include <optional>
#include <string>

#include "db/connection_fwd.hpp"

namespace dogged {
class Error;
}

namespace dogged::migrate {

/// Whether the database refused for want of a right.
[[nodiscard]] bool is_missing_right(const Error& error);

/// The roles that give access to the table, view, sequence or function, and how to grant one, if this login has none of
/// them. The owner, if no role gives access. Nothing if the database does not tell.
[[nodiscard]] std::optional<std::string> hint_for_missing_role(db::Connection& connection, const std::string& object);

}  // namespace dogged::migrate
