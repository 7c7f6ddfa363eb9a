// Decides when a statement has waited too long for its answer. The session then breaks the connection: if the peer has
// vanished, the thread would wait for ever. Pure: `now` is a parameter.
//
//   patient --an answer takes too long--> gave up --a success--> patient
#pragma once

#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class AnswerPatience {
 public:
  enum class State {
    patient,
    gave_up,  ///< an answer, since the last success
  };
  enum class Step {
    wait,           ///< there is nothing to do
    give_up,        ///< break the connection, and tell that
    give_up_again,  ///< break the connection: its thread has not noticed yet, or another answer does not come either
  };
  struct Action {
    Step step = Step::wait;
    TimePoint look_again_at = {};

    friend bool operator==(const Action&, const Action&) = default;
  };

  /// `busy_since`: when the statement was sent that awaits its answer; nothing: no statement does. When the action says
  /// to look again, a statement that begins now has waited for its `patience` at most. A patience below 10 ms counts as
  /// 10 ms.
  [[nodiscard]] Action look(std::optional<TimePoint> busy_since, milliseconds patience, TimePoint now) noexcept;
  /// The session tells only of a success that ends an outage.
  void on_success() noexcept { state_ = State::patient; }

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  State state_ = State::patient;
};

[[nodiscard]] std::string_view to_text(AnswerPatience::State state) noexcept;
[[nodiscard]] std::string_view to_text(AnswerPatience::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, AnswerPatience::State state);
std::ostream& operator<<(std::ostream& out, AnswerPatience::Step step);
std::ostream& operator<<(std::ostream& out, const AnswerPatience::Action& action);

}  // namespace dogged::runtime
