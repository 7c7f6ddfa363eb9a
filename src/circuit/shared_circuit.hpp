// A circuit breaker that all workers share: a row of the table circuits, which the state machine of
// <dogged/detail/circuit.hpp> changes under its lock, by the database's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/circuit_breaker.hpp>

#include "db/connection.hpp"

namespace dogged::circuit {

struct SharedCircuit {
  std::string name;
  CircuitBreakerSettings settings;
  detail::Circuit circuit;
  std::int64_t now_ms = 0;  ///< the database's clock when it was read
};

/// By a row of circuits.sql, lock_circuit.sql or try_lock_circuit.sql.
[[nodiscard]] SharedCircuit shared_circuit_of(const db::Row& row);

[[nodiscard]] std::vector<SharedCircuit> read_circuits(db::Connection& connection);

/// Makes of the circuit `name` what `change` makes of it, in a transaction of its own, and tells workers of another
/// state. Gives it as it is then. `change` may be called again if the transaction is. Throws InvalidInput where there
/// is no such circuit.
SharedCircuit change_circuit(db::Connection& connection, std::string_view name,
                             const std::function<detail::Circuit(const SharedCircuit&)>& change);

/// As change_circuit, for workers, which do not wait: gives nothing, and changes nothing, if another session has locked
/// the circuit's row.
[[nodiscard]] std::optional<SharedCircuit> try_change_circuit(
    db::Connection& connection, std::string_view name,
    const std::function<detail::Circuit(const SharedCircuit&)>& change);

/// For operators: open until it is closed; closed, with nothing counted. dogged.audit says that it was `actor`; if that
/// is empty, the database's user.
SharedCircuit force_open(db::Connection& connection, std::string_view name, std::string_view actor = {});
SharedCircuit reset(db::Connection& connection, std::string_view name, std::string_view actor = {});

}  // namespace dogged::circuit
