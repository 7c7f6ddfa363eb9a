// A row of the table circuits, as it was read. Pure; shared_circuit.hpp reads and changes the rows.
#pragma once

#include <cstdint>
#include <string>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/detail/circuit.hpp>

namespace dogged::circuit {

struct SharedCircuit {
  std::string name;
  CircuitBreakerSettings settings;
  detail::Circuit circuit;
  std::int64_t now_ms = 0;  ///< the database's clock when it was read
};

}  // namespace dogged::circuit
