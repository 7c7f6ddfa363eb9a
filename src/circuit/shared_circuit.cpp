// See shared_circuit.hpp.
#include "circuit/shared_circuit.hpp"

#include <stdexcept>

#include "db/connection.hpp"
#include "sql/circuit.hpp"

namespace dogged::circuit {

CircuitState state_from_text(std::string_view text) {
  for (const CircuitState state : {CircuitState::closed, CircuitState::open, CircuitState::half_open}) {
    if (to_text(state) == text) return state;
  }
  throw std::logic_error("a circuit's state that is none");
}

std::vector<SharedCircuit> read_circuits(db::Connection& connection) {
  std::vector<SharedCircuit> circuits;
  for (const auto& row : connection.run(sql::Circuits{})) circuits.push_back(shared_circuit_of(row));
  return circuits;
}

void apply_change(db::Connection& connection, SharedCircuit& shared, const Change& change) {
  const detail::Circuit after = change(shared);
  if (after == shared.circuit) return;
  shared.circuit = after;
  connection.run(sql::SaveCircuit{.state = std::string{to_text(after.state)},
                                  .failures = after.failures,
                                  .successes = after.successes,
                                  .probes = after.probes,
                                  .is_forced = after.is_forced,
                                  .since_ms = after.since_ms,
                                  .generation = after.generation,
                                  .name = shared.name});
}

TriedChange try_change_circuit(db::Connection& connection, std::string_view name, const Change& change) {
  TriedChange tried;
  connection.transaction([&] {
    const auto locked = connection.run(sql::TryLockCircuit{.name = std::string{name}});
    if (locked.empty()) {
      const bool exists = db::one(connection.run(sql::CircuitExists{.name = std::string{name}})).found;
      tried = {exists ? TriedChange::Outcome::locked : TriedChange::Outcome::missing};
      return;
    }
    tried = {TriedChange::Outcome::changed, shared_circuit_of(locked.front())};
    apply_change(connection, tried.changed, change);
  });
  return tried;
}

}  // namespace dogged::circuit
