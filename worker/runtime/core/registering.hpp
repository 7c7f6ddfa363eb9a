// Decides how a worker registers itself under its name. Pure: registrar.cpp carries the steps out.
//
//   prepare --> ask --registered--> declare --> registered
//   ask --another worker has the name--> find_holder --found--> wait --> ask
//   find_holder --the holder has gone--> ask
//   find_holder --the holder has renewed its lease--> refuse
//   any --failure--> prepare, and at a program's start fail
//   prepare, ask, find_holder, wait --stop--> stop
//
// A worker that has lost its lease prepared and declared under the earlier one. So the worker begins with ask, and does
// not declare again.
// The holder of the name may be dead, and then its lease lapses. A renewed lease shows that the holder lives.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class Registering {
 public:
  static constexpr milliseconds between_tries{100};

  enum class Occasion {
    start,       ///< of the program: a failure of the database ends it
    restart,     ///< of the process by itself: the worker waits for a database that is away
    lease_lost,  ///< the worker goes on as a new incarnation, and waits for a database that is away
  };
  enum class Step {
    prepare,      ///< check the schema and the queues, and read the limits of attempts
    ask,          ///< end the lease of the name's holder if it has lapsed, and register under the name
    find_holder,  ///< of the name
    wait,         ///< until `until`
    declare,      ///< publish the tasks and schedules of the program
    registered,
    refuse,  ///< the name is in use
    fail,    ///< with the database's error
    stop,    ///< the worker was told to stop before it could register
  };
  struct Action {
    Step step = Step::stop;
    TimePoint until = {};

    friend bool operator==(const Action&, const Action&) = default;
  };
  /// The worker that has the name, and when it renewed its lease last.
  struct Holder {
    std::int64_t id = 0;
    std::int64_t heartbeat_at_us = 0;

    friend bool operator==(const Holder&, const Holder&) = default;
  };

  explicit Registering(Occasion occasion) noexcept : occasion_(occasion), step_(first_step()) {}

  /// A start that is told to stop asks once all the same, to say what keeps the worker from starting.
  [[nodiscard]] Action next(TimePoint now, bool stop_requested) const noexcept;

  // Events.

  void on_prepared();
  void on_registered();
  /// Another worker that may be alive has the name.
  void on_name_taken();
  /// Nothing: the holder has gone. True if the worker begins to wait, so that this is told once.
  [[nodiscard]] bool on_holder(const std::optional<Holder>& holder, TimePoint now);
  void on_declared();
  /// The database failed, at any step. The next one may be another server, so what was seen of the holder is forgotten.
  void on_failure() noexcept;

 private:
  [[nodiscard]] Step first_step() const noexcept {
    return occasion_ == Occasion::lease_lost ? Step::ask : Step::prepare;
  }
  void note_answer(Step step);
  void note(Step step) noexcept;

  Occasion occasion_;
  Step step_;
  bool has_asked_ = false;
  TimePoint waits_until_ = {};
  std::optional<Holder> seen_ = {};
};

[[nodiscard]] std::string_view to_text(Registering::Occasion occasion) noexcept;
[[nodiscard]] std::string_view to_text(Registering::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, Registering::Occasion occasion);
std::ostream& operator<<(std::ostream& out, Registering::Step step);
std::ostream& operator<<(std::ostream& out, const Registering::Action& action);

}  // namespace dogged::runtime
