// The circuit breakers of this worker's tasks. The circuits say which claimed tasks may begin, and learn from attempts
// how the service behind them fares. A closed circuit costs nothing: the worker goes by what it last knew, and writes
// only after failures. The worker never waits for the lock of a circuit's row. While an operator's transaction holds
// the lock, the worker goes by what it knows, and writes later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include <dogged/detail/mutex.hpp>

#include "circuit/shared_circuit.hpp"
#include "db/connection.hpp"
#include "runtime/claimed_task.hpp"
#include "tasks/definition.hpp"

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

  /// A task that may not begin, and how long it waits.
  struct PutOff {
    ClaimedTask task;
    milliseconds wait;
  };

  /// Takes out of `tasks` those whose circuit is open. The tasks taken out are deferred until the circuit may be
  /// half-open. Tasks beyond the probes wait a part of recovery_timeout longer, so that they do not all come back at
  /// once.
  [[nodiscard]] std::vector<PutOff> take_put_off(db::Connection& connection, std::vector<ClaimedTask>& tasks);

  /// Whether the circuit was open when it was last read.
  [[nodiscard]] bool is_open(std::string_view name) const;
  /// This worker's tasks that have the circuit.
  [[nodiscard]] std::vector<std::string> tasks_of(std::string_view name) const;

  /// How an attempt ended that counts for its circuit.
  void note(const Report& report);
  /// A task that was let through is given back, so another task may take its place.
  void note_not_begun(const ClaimedTask& task);
  /// Writes what was noted, if it changes anything. Waits for no lock: false if another session has locked a circuit,
  /// whose events stay noted. Events that cannot be written for another reason are forgotten: a probe without a report
  /// is given up after recovery_timeout.
  [[nodiscard]] bool tell(db::Connection& connection);

 private:
  struct Known {
    circuit::SharedCircuit shared;
    SteadyClock::time_point read_at;
  };
  /// How many tasks of one circuit may begin: the first `let_through`, with `generation`. The others wait.
  struct Admission {
    std::size_t let_through = 0;
    std::int64_t generation = 0;
    milliseconds wait{0};
    CircuitBreakerSettings settings = {};
  };
  struct FirstBack {
    std::int64_t generation = 0;
    int count = 0;
  };
  /// A circuit that another session has locked.
  struct Locked {
    SteadyClock::time_point since;
    bool is_told = false;
  };

  void keep(const Known& now, CircuitState before) DOGGED_REQUIRES(mutex_);
  [[nodiscard]] bool try_change(db::Connection& connection, std::string_view name,
                                const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how);
  void note_locked(std::string_view name) DOGGED_REQUIRES(mutex_);
  void note_event(std::string_view name, detail::CircuitEvent event);
  void note_again(const std::string& name, std::vector<detail::CircuitEvent> events);
  [[nodiscard]] Known known(std::string_view name) const;
  [[nodiscard]] static std::optional<milliseconds> closed_to_all_for(const Known& known);
  [[nodiscard]] Admission ask(db::Connection& connection, std::string_view name, std::size_t count);
  [[nodiscard]] bool comes_back_first(std::string_view name, const Admission& admission);

  const std::shared_ptr<const Definitions> definitions_;
  const std::function<double()> draw_;
  const std::shared_ptr<spdlog::logger> log_;
  bool any_ = false;

  mutable detail::Mutex mutex_;
  std::map<std::string, Known, std::less<>> known_ DOGGED_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<detail::CircuitEvent>, std::less<>> noted_ DOGGED_GUARDED_BY(mutex_);
  // How many tasks were put off no longer than the circuit is open.
  std::map<std::string, FirstBack, std::less<>> first_back_ DOGGED_GUARDED_BY(mutex_);
  std::map<std::string, Locked, std::less<>> locked_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
