// Changes by operators: dogged.audit records the operator.
#pragma once

#include <string>

#include "db/connection.hpp"

namespace dogged::cli {

/// The operator: the user and the host of this process, as ann@desk.
[[nodiscard]] std::string user_at_host();

/// Names the operator in the transaction that is open.
void set_actor(db::Connection& connection);

/// Runs a statement that changes something, in a transaction that names the operator. The name holds for that
/// transaction alone, because behind a transaction pooler the session serves another client afterwards.
template <class Typed>
auto run_audited(db::Connection& connection, const Typed& statement) {
  decltype(connection.run(statement)) result;
  connection.transaction([&] {
    set_actor(connection);
    result = connection.run(statement);
  });
  return result;
}
}  // namespace dogged::cli
