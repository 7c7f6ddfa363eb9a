// The circuit breakers of this worker's tasks: which of the tasks that it has claimed may begin, and what attempts that
// have ended say of the other side. Closed, a circuit costs nothing: the worker goes by what it knew last, and writes
// after failures alone. It never waits for the lock of a circuit's row: while an operator's transaction has it, the
// circuit is as it was known last, and what is to be said of it is said later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include "circuit/shared_circuit.hpp"
#include "claimed_task.hpp"
#include "db/connection.hpp"
#include "definition.hpp"

namespace dogged::runtime {

/// Thread-safe. Connections are the callers'.
class Circuits {
 public:
  /// `draw` is uniform in [0, 1); from any thread. `definitions` must outlive it.
  Circuits(const Definitions& definitions, std::function<double()> draw, std::shared_ptr<spdlog::logger> log);

  /// Whether a task of this worker has one.
  [[nodiscard]] bool any() const noexcept { return any_; }

  /// Reads what has become of them.
  void refresh(db::Connection& connection);
  /// Nothing is known of them any more: the next connection may be to another server.
  void forget();

  /// A task that may not begin, and how long it waits.
  struct PutOff {
    ClaimedTask task;
    milliseconds wait;
  };

  /// Takes out of `tasks` those whose circuit is open: they wait until it may be half-open, and those that are too many
  /// to find that out with for a part of its recovery_timeout more, so that they do not come back at once.
  [[nodiscard]] std::vector<PutOff> take_put_off(db::Connection& connection, std::vector<ClaimedTask>& tasks);

  /// Whether the circuit was open when it was last looked at.
  [[nodiscard]] bool is_open(std::string_view name) const;
  /// This worker's tasks that have the circuit.
  [[nodiscard]] std::vector<std::string> tasks_of(std::string_view name) const;

  /// How an attempt ended that counted.
  void note(const Report& report);
  /// A task that was let through is given back: its place is for another.
  void note_not_begun(const ClaimedTask& task);
  /// Writes what was noted, where it changes anything. Nobody is waited for: false where somebody has locked a circuit,
  /// for which it stays noted. What cannot be written for another reason is not noted any more: a probe that is not
  /// reported is given up after recovery_timeout.
  [[nodiscard]] bool tell(db::Connection& connection);

 private:
  struct Known {
    circuit::SharedCircuit shared;
    SteadyClock::time_point read_at;
  };
  /// What may begin of some tasks of one circuit: the first `let_through`, with `generation`; the others wait.
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
  /// A circuit that somebody else has locked.
  struct Locked {
    SteadyClock::time_point since;
    bool is_told = false;
  };

  void keep(const Known& now, CircuitState before);
  [[nodiscard]] bool try_change(db::Connection& connection, std::string_view name,
                                const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how);
  void note_locked(std::string_view name);
  void note_event(std::string_view name, detail::CircuitEvent event);
  void note_again(const std::string& name, std::vector<detail::CircuitEvent> events);
  [[nodiscard]] Known known(std::string_view name) const;
  [[nodiscard]] static std::optional<milliseconds> closed_to_all_for(const Known& known);
  [[nodiscard]] Admission ask(db::Connection& connection, std::string_view name, std::size_t count);
  [[nodiscard]] bool comes_back_first(std::string_view name, const Admission& admission);

  const Definitions& definitions_;
  const std::function<double()> draw_;
  const std::shared_ptr<spdlog::logger> log_;
  bool any_ = false;

  mutable std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, std::vector<detail::CircuitEvent>, std::less<>> noted_;
  std::map<std::string, FirstBack, std::less<>> first_back_;  // how many were put off for no longer than it is open
  std::map<std::string, Locked, std::less<>> locked_;
};

}  // namespace dogged::runtime
