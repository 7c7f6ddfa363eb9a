// See forced_circuits.hpp.
#include "cli/changes/forced_circuits.hpp"

#include <string>

#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>

#include "circuit/shared_circuit.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

using circuit::SharedCircuit;

[[noreturn]] void refuse_unknown(std::string_view name) {
  throw InvalidInput("there is no circuit \"" + std::string{name.substr(0, limits::name_bytes)} + "\"",
                     "workers make those that their tasks name (.circuit) when they start: dogged circuits list");
}

SharedCircuit change(db::Connection& connection, std::string_view name, std::string_view actor, std::string_view action,
                     detail::CircuitEvent::Kind kind) {
  SharedCircuit shared;
  connection.transaction([&] {
    const auto locked = connection.run(sql::LockCircuit{.name = std::string{name}});
    if (locked.empty()) refuse_unknown(name);
    shared = circuit::shared_circuit_of(locked.front());
    connection.run(sql::SetActor{.actor = std::string{actor}});
    connection.run(sql::AuditCircuit{.action = std::string{action},
                                     .name = std::string{name},
                                     .state_before = std::string{to_text(shared.circuit.state)}});
    circuit::apply_change(connection, shared, [&](const SharedCircuit& as_read) {
      return detail::step(as_read.circuit, as_read.settings, {kind}, as_read.now_ms).circuit;
    });
  });
  return shared;
}

}  // namespace

SharedCircuit open_circuit(db::Connection& connection, std::string_view name, std::string_view actor) {
  return change(connection, name, actor, "open_circuit", detail::CircuitEvent::Kind::force_open);
}

SharedCircuit close_circuit(db::Connection& connection, std::string_view name, std::string_view actor) {
  return change(connection, name, actor, "close_circuit", detail::CircuitEvent::Kind::reset);
}

}  // namespace dogged::cli
