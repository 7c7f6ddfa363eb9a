// A circuit breaker that all workers share: a row of the table circuits. The state machine of
// <dogged/detail/circuit.hpp> changes the row under its lock, by the database's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "circuit/circuit_as_read.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::circuit {

/// Throws std::logic_error for a text that is no state.
[[nodiscard]] CircuitState state_from_text(std::string_view text);

/// From a row of circuits.sql, lock_circuit.sql or try_lock_circuit.sql.
template <class Row>
[[nodiscard]] SharedCircuit shared_circuit_of(const Row& row) {
  return {.name = row.name,
          .settings = {.failure_threshold = row.failure_threshold,
                       .recovery_timeout = milliseconds{row.recovery_timeout_ms},
                       .success_threshold = row.success_threshold},
          .circuit = {.state = state_from_text(row.state),
                      .failures = row.failures,
                      .successes = row.successes,
                      .probes = row.probes,
                      .is_forced = row.is_forced,
                      .since_ms = row.since_ms,
                      .generation = row.generation},
          .now_ms = row.now_ms};
}

[[nodiscard]] std::vector<SharedCircuit> read_circuits(db::Connection& connection);

using Change = std::function<detail::Circuit(const SharedCircuit&)>;

/// Saves what `change` makes of the circuit, and notifies workers of a new state. The open transaction has locked the
/// circuit's row. If the transaction is repeated, `change` is called again.
void apply_change(db::Connection& connection, SharedCircuit& shared, const Change& change);

struct TriedChange {
  enum class Outcome {
    changed,
    locked,   ///< nothing has changed: another session has locked the circuit's row
    missing,  ///< somebody has deleted the circuit's row
  };
  Outcome outcome = Outcome::changed;
  SharedCircuit changed = {};  ///< set if the outcome is `changed`
};

/// Changes the circuit `name` in a transaction of its own, which waits for no lock.
[[nodiscard]] TriedChange try_change_circuit(db::Connection& connection, std::string_view name, const Change& change);

}  // namespace dogged::circuit
