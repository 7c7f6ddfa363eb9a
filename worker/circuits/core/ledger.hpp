// The ledger decides which tasks of a circuit may begin, and keeps what attempts have said of their circuits. Pure:
// circuits.cpp reads and writes the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "circuit/circuit_as_read.hpp"

namespace dogged::runtime {

class CircuitLedger {
 public:
  using Events = std::vector<detail::CircuitEvent>;
  using EventsByCircuit = std::map<std::string, Events, std::less<>>;

  /// How many tasks of one circuit may begin: the first `let_through`, with `generation`. The others wait.
  struct Admission {
    std::size_t let_through = 0;
    std::int64_t generation = 0;
    milliseconds wait{0};
    int come_back_first = 0;  ///< so many of the others wait no longer than `wait`
    milliseconds spread{0};   ///< the rest of them waits for up to this longer

    friend bool operator==(const Admission&, const Admission&) = default;
  };
  /// A circuit's answer for the tasks of one claim.
  struct Answer {
    std::size_t let_through = 0;  ///< the first of the tasks
    std::int64_t generation = 0;
    std::vector<milliseconds> waits = {};  ///< of each other task
    bool is_open = false;                  ///< as far as the ledger knows

    friend bool operator==(const Answer&, const Answer&) = default;
  };
  /// How a read circuit compares with the ledger's state.
  enum class Kept {
    stale,      ///< the ledger knows a later state, because two threads may ask at once
    as_before,  ///< its state is the one that the ledger knew
    new_state,
  };

  // Events from the database.

  /// All circuits: a circuit that is not among them no longer exists. Gives the comparison for each.
  std::vector<Kept> on_read(const std::vector<circuit::SharedCircuit>& circuits, TimePoint asked_at);
  /// One circuit, which this worker has asked or told.
  Kept on_changed(const circuit::SharedCircuit& circuit, TimePoint asked_at);
  /// Another session has locked the circuit's row. True once, after 5 s: workers hold the lock for moments.
  [[nodiscard]] bool on_locked(std::string_view name, TimePoint now);
  /// The next connection may be to another server. Noted events stay.
  void forget() { known_.clear(); }

  [[nodiscard]] CircuitState state(std::string_view name) const { return known(name).circuit.circuit.state; }

  // Which tasks may begin.

  /// For `count` tasks, by what the ledger knows. Nothing: the database must be asked, by ask().
  [[nodiscard]] std::optional<Admission> admit(std::string_view name, std::size_t count, TimePoint now) const;
  /// For `count` tasks, by the circuit as it is under its lock; and the circuit afterwards.
  [[nodiscard]] static std::pair<Admission, detail::Circuit> ask(const circuit::SharedCircuit& now, std::size_t count);
  /// While another session has locked the circuit's row: nothing begins, and all tasks are back within 2 s. The tasks
  /// whose turn to probe it was are among them, and must not wait for a part of recovery_timeout.
  [[nodiscard]] Admission admit_while_locked(std::string_view name) const;
  /// The answer for `count` tasks, with the wait of each task that is not let through. The first of these come back
  /// when the circuit may be half-open, as many as probes are let through. The others wait for a part of
  /// Admission::spread longer, by `draw` in [0, 1), so that they do not all come back at once.
  [[nodiscard]] Answer answer(std::string_view name, const Admission& admission, std::size_t count,
                              const std::function<double()>& draw);

  // Events from attempts.

  void note(std::string_view name, detail::CircuitEvent event);
  /// The time of the next write: never if nothing was noted, and after a pause if the last try has left events.
  [[nodiscard]] TimePoint writes_at() const noexcept { return noted_.empty() ? never : tries_at_; }
  /// Takes the noted events, except those that leave a circuit as the ledger knows it.
  [[nodiscard]] EventsByCircuit take_noted();
  /// The events of take_noted() are written except `left`, which come before the events noted meanwhile.
  void on_written(EventsByCircuit left, TimePoint now);
  [[nodiscard]] static detail::Circuit after(const circuit::SharedCircuit& now, const Events& events);

 private:
  struct Known {
    circuit::SharedCircuit circuit;
    TimePoint asked_at{};
  };
  struct FirstBack {
    std::int64_t generation = 0;
    int count = 0;
  };
  struct Locked {
    TimePoint since;
    bool is_told = false;
  };

  [[nodiscard]] Known known(std::string_view name) const;
  [[nodiscard]] milliseconds wait_of_next(std::string_view name, const Admission& admission, double draw);
  [[nodiscard]] bool change_nothing(std::string_view name, const Events& events) const;

  std::map<std::string, Known, std::less<>> known_;
  EventsByCircuit noted_;
  TimePoint tries_at_{};                                      // to write noted_
  std::map<std::string, FirstBack, std::less<>> first_back_;  // tasks that wait no longer than their circuit is open
  std::map<std::string, Locked, std::less<>> locked_;
};

[[nodiscard]] std::string_view to_text(CircuitLedger::Kept kept) noexcept;
std::ostream& operator<<(std::ostream& out, CircuitLedger::Kept kept);
std::ostream& operator<<(std::ostream& out, const CircuitLedger::Admission& admission);
std::ostream& operator<<(std::ostream& out, const CircuitLedger::Answer& answer);

}  // namespace dogged::runtime
