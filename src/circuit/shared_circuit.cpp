// See shared_circuit.hpp.
#include "circuit/shared_circuit.hpp"

#include <stdexcept>

#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>

#include "db/connection.hpp"
#include "sql/circuit.hpp"

namespace dogged::circuit {
namespace {

using Change = std::function<detail::Circuit(const SharedCircuit&)>;

[[noreturn]] void refuse_unknown(std::string_view name) {
  throw InvalidInput("there is no circuit \"" + std::string{name.substr(0, limits::name_bytes)} + "\"",
                     "workers make those that their tasks name (.circuit) when they start: dogged circuits list");
}

/// In the transaction that has locked the circuit.
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

SharedCircuit apply(db::Connection& connection, std::string_view name, std::string_view actor, std::string_view action,
                    detail::CircuitEvent::Kind kind) {
  return change_circuit(connection, name, [&](const SharedCircuit& shared) {
    connection.run(sql::SetActor{.actor = std::string{actor}});
    connection.run(sql::AuditCircuit{.action = std::string{action},
                                     .name = std::string{name},
                                     .state_before = std::string{to_text(shared.circuit.state)}});
    return detail::step(shared.circuit, shared.settings, {kind}, shared.now_ms).circuit;
  });
}

}  // namespace

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

SharedCircuit change_circuit(db::Connection& connection, std::string_view name, const Change& change) {
  SharedCircuit shared;
  connection.transaction([&] {
    const auto locked = connection.run(sql::LockCircuit{.name = std::string{name}});
    if (locked.empty()) refuse_unknown(name);
    shared = shared_circuit_of(locked.front());
    apply_change(connection, shared, change);
  });
  return shared;
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

SharedCircuit force_open(db::Connection& connection, std::string_view name, std::string_view actor) {
  return apply(connection, name, actor, "open_circuit", detail::CircuitEvent::Kind::force_open);
}

SharedCircuit reset(db::Connection& connection, std::string_view name, std::string_view actor) {
  return apply(connection, name, actor, "close_circuit", detail::CircuitEvent::Kind::reset);
}

}  // namespace dogged::circuit
