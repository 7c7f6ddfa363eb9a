// The circuit breakers of this worker's tasks. The circuits say which claimed tasks may begin, and learn from attempts
// whether the service behind each circuit works. The ledger decides; Circuits reads and writes the rows. A closed
// circuit costs nothing: the worker goes by what it last knew, and writes only after failures. The worker never waits
// for the lock of a circuit's row. While an operator's transaction holds the lock, the worker goes by what it knows,
// and writes later.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include <dogged/detail/mutex.hpp>

#include "circuit/shared_circuit.hpp"
#include "circuits/core/ledger.hpp"
#include "db/connection_fwd.hpp"
#include "tasks/core/claimed_task.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// Thread-safe. Connections are the callers'.
class Circuits {
 public:
  /// `draw` is uniform in [0, 1); from any thread.
  Circuits(std::shared_ptr<const Definitions> definitions, std::function<double()> draw,
           std::shared_ptr<spdlog::logger> log);

  /// Whether a task of this worker has a circuit.
  [[nodiscard]] bool any() const noexcept { return any_; }

  /// Reads the state of the circuits.
  void refresh(db::Connection& connection);
  /// Forgets all circuits, because the next connection may be to another server.
  void forget();

  /// How many of `count` claimed tasks of the circuit may begin. Asks the database unless the circuit is known to be
  /// closed or open.
  [[nodiscard]] CircuitLedger::Answer ask(db::Connection& connection, std::string_view name, std::size_t count);
  /// This worker's tasks that have the circuit.
  [[nodiscard]] std::vector<std::string> tasks_of(std::string_view name) const;

  /// How an attempt ended that counts for its circuit.
  void note(const Report& report);
  /// A task that was let through is given back, so another task may take its place.
  void note_not_begun(const ClaimedTask& task);
  /// The time of the next write_noted(); never if nothing is noted.
  [[nodiscard]] TimePoint writes_at() const;
  /// Writes what was noted, if it changes anything. Waits for no lock: if another session has locked a circuit, the
  /// circuit's events stay noted. If a statement fails, all events stay noted that are not written. An event whose
  /// answer was lost may be written twice. If it were lost instead, a half-open circuit would wait for
  /// recovery_timeout.
  ///
  /// For the completer alone: of two threads that write, one finds the circuit locked by the other.
  void write_noted(db::Connection& connection);

 private:
  [[nodiscard]] CircuitLedger::Admission admit(db::Connection& connection, std::string_view name, std::size_t count);
  void tell_of(const circuit::SharedCircuit& now, CircuitLedger::Kept kept) const;
  circuit::TriedChange::Outcome try_change(db::Connection& connection, std::string_view name,
                                           const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how);
  [[nodiscard]] bool write(db::Connection& connection, std::string_view name, const CircuitLedger::Events& events);
  void note_event(std::string_view name, detail::CircuitEvent event);

  const std::shared_ptr<const Definitions> definitions_;
  const std::function<double()> draw_;
  const std::shared_ptr<spdlog::logger> log_;
  const bool any_;

  mutable detail::Mutex mutex_;
  CircuitLedger ledger_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
