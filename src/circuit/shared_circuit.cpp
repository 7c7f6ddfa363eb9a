// See shared_circuit.hpp.
#include "circuit/shared_circuit.hpp"

#include <optional>
#include <stdexcept>

#include <dogged/detail/names.hpp>

#include "sql/circuit.hpp"

namespace dogged::circuit {
namespace {

CircuitState state_from_text(std::string_view text) {
  for (const CircuitState state : {CircuitState::closed, CircuitState::open, CircuitState::half_open}) {
    if (to_text(state) == text) return state;
  }
  throw std::logic_error("a circuit's state that is none");
}

void save(db::Connection& connection, const SharedCircuit& shared) {
  const detail::Circuit& circuit = shared.circuit;
  db::Params params;
  params.add(shared.name).add(to_text(circuit.state)).add(circuit.failures).add(circuit.successes).add(circuit.probes);
  params.add(circuit.is_forced).add(circuit.since_ms).add(circuit.generation);
  connection.run(sql::save_circuit, params);
}

/// Nothing if `lock` says that another session holds the lock.
std::optional<SharedCircuit> change_locked_by(const db::Statement& lock, db::Connection& connection,
                                              std::string_view name,
                                              const std::function<detail::Circuit(const SharedCircuit&)>& change) {
  std::optional<SharedCircuit> shared;
  connection.transaction([&] {
    const db::Rows rows = connection.run(lock, db::Params{}.add(name));
    if (rows.empty()) {
      throw InvalidInput("there is no circuit \"" + std::string{name.substr(0, limits::name_bytes)} + "\"",
                         "workers make those that their tasks name (.circuit) when they start: dogged circuits list");
    }
    if (rows.one().is_null("name")) return;
    shared = shared_circuit_of(rows.one());
    const detail::Circuit after = change(*shared);
    if (after == shared->circuit) return;
    shared->circuit = after;
    save(connection, *shared);
  });
  return shared;
}

SharedCircuit apply(db::Connection& connection, std::string_view name, std::string_view actor, std::string_view action,
                    detail::CircuitEvent::Kind kind) {
  return change_circuit(connection, name, [&](const SharedCircuit& shared) {
    connection.run(sql::set_actor, db::Params{}.add(actor));
    connection.run(sql::audit_circuit, db::Params{}.add(action).add(name).add(to_text(shared.circuit.state)));
    return detail::step(shared.circuit, shared.settings, {kind}, shared.now_ms).circuit;
  });
}

}  // namespace

SharedCircuit shared_circuit_of(const db::Row& row) {
  SharedCircuit shared;
  shared.name = row.text("name");
  shared.settings.failure_threshold = static_cast<int>(row.number("failure_threshold"));
  shared.settings.recovery_timeout = milliseconds{row.number("recovery_timeout_ms")};
  shared.settings.success_threshold = static_cast<int>(row.number("success_threshold"));
  shared.circuit.state = state_from_text(row.text("state"));
  shared.circuit.failures = static_cast<int>(row.number("failures"));
  shared.circuit.successes = static_cast<int>(row.number("successes"));
  shared.circuit.probes = static_cast<int>(row.number("probes"));
  shared.circuit.is_forced = row.boolean("is_forced");
  shared.circuit.since_ms = row.number("since_ms");
  shared.circuit.generation = row.number("generation");
  shared.now_ms = row.number("now_ms");
  return shared;
}

std::vector<SharedCircuit> read_circuits(db::Connection& connection) {
  std::vector<SharedCircuit> circuits;
  for (const db::Row& row : connection.run(sql::circuits)) circuits.push_back(shared_circuit_of(row));
  return circuits;
}

SharedCircuit change_circuit(db::Connection& connection, std::string_view name,
                             const std::function<detail::Circuit(const SharedCircuit&)>& change) {
  return change_locked_by(sql::lock_circuit, connection, name, change).value();
}

std::optional<SharedCircuit> try_change_circuit(db::Connection& connection, std::string_view name,
                                                const std::function<detail::Circuit(const SharedCircuit&)>& change) {
  return change_locked_by(sql::try_lock_circuit, connection, name, change);
}

SharedCircuit force_open(db::Connection& connection, std::string_view name, std::string_view actor) {
  return apply(connection, name, actor, "open_circuit", detail::CircuitEvent::Kind::force_open);
}

SharedCircuit reset(db::Connection& connection, std::string_view name, std::string_view actor) {
  return apply(connection, name, actor, "close_circuit", detail::CircuitEvent::Kind::reset);
}

}  // namespace dogged::circuit
