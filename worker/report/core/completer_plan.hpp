// Decides the completer's next action. Pure: completer.cpp carries it out, and batch.hpp decides how one batch gets on
// record.
//
//   unproven --the proof is written--> ready --the worker finishes--> finishing --the circuits had their turn--> ended
//   unproven --the worker finishes--> ended
//   ready --a batch is given up--> ended
//
// Reports and events of circuits take turns: neither waits for more than one action of the other.
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"
#include "report/core/batches.hpp"

namespace dogged::runtime {

class CompleterPlan {
 public:
  enum class State {
    unproven,   ///< nothing shows yet that ends can be recorded
    ready,      ///< batches are sent
    finishing,  ///< no more batch is sent; the circuits have one more turn
    ended,
  };
  enum class Step {
    prove,           ///< write an empty batch
    send,            ///< take a batch, and write it
    write_circuits,  ///< write the events of circuits that are due
    wait,            ///< until `until`, or until a fact has changed
    end,
  };
  struct Action {
    Step step = Step::end;
    TimePoint until = {};

    friend bool operator==(const Action&, const Action&) = default;
  };
  /// The state of the rest of the worker at the moment of a decision.
  struct Facts {
    bool has_reports = false;       ///< some report waits for its batch
    bool is_lease_lapsed = false;   ///< while it is, no batch is sent
    TimePoint circuits_at = never;  ///< when the completer writes events of circuits; never: there are none
  };

  [[nodiscard]] Action next(const Facts& facts, TimePoint now) noexcept;
  [[nodiscard]] State state() const noexcept { return state_; }

  // Events. If an action's statement throws, no event follows.

  void on_proved();
  /// A batch is written. If its rest goes with the next batch, the rows of that rest are locked, and sending pauses.
  void on_written(ReportBatches::Resend resend, TimePoint now);
  /// The worker finishes: it has no more patience for reports.
  void on_finish() noexcept;
  /// The worker finished before a batch could be written.
  void on_given_up();

 private:
  State state_ = State::unproven;
  bool is_turn_of_circuits_ = false;
  TimePoint send_at_ = TimePoint::min();
};

[[nodiscard]] std::string_view to_text(CompleterPlan::State state) noexcept;
[[nodiscard]] std::string_view to_text(CompleterPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, CompleterPlan::State state);
std::ostream& operator<<(std::ostream& out, CompleterPlan::Step step);
std::ostream& operator<<(std::ostream& out, const CompleterPlan::Action& action);

}  // namespace dogged::runtime
