// Circuits that an operator opens and closes by hand. dogged.audit records the operator.
#pragma once

#include <string_view>

#include "circuit/circuit_as_read.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::cli {

/// Opens the circuit `name` until it is closed by hand, in a transaction of its own. If `actor` is empty, dogged.audit
/// names the database's user. Throws InvalidInput if there is no such circuit.
circuit::SharedCircuit open_circuit(db::Connection& connection, std::string_view name, std::string_view actor = {});
/// As open_circuit, but closes the circuit, with nothing counted.
circuit::SharedCircuit close_circuit(db::Connection& connection, std::string_view name, std::string_view actor = {});

}  // namespace dogged::cli
