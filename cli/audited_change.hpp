// Changes that people make: dogged.audit is told who it is.
#pragma once

#include <string>

#include "db/connection.hpp"

namespace dogged::cli {

/// Who acts: the user and the host of this process, as ann@desk.
[[nodiscard]] std::string user_at_host();

/// Runs a statement that changes something, in a transaction that says who does it: for that transaction alone, for
/// behind a transaction pooler the session is somebody else's afterwards.
db::Rows run_audited(db::Connection& connection, const db::Statement& statement, const db::Params& params);

}  // namespace dogged::cli
