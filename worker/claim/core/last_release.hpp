// How the claimer gives back claimed tasks that have not begun, once it claims nothing more. Pure: claimer.cpp carries
// this out at the end of an incarnation.
//
// If the answer to a claim was lost, a new session comes first, so that a claim that arrives late changes nothing.
// Tasks that the worker does not know are given back last.
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"
#include "claim/core/certainty.hpp"

namespace dogged::runtime {

class LastRelease {
 public:
  enum class Step {
    begin_session,      ///< begin_claim_session.sql
    release,            ///< the tasks that have not begun
    give_back_unknown,  ///< tasks that run under this worker, but are unknown to it
    wait,               ///< until `until`: another session has locked the rows of some tasks
    given_back,         ///< nothing is left
    given_up,           ///< the time is over: other workers rescue the rest when the lease has lapsed
  };
  struct Action {
    Step step = Step::given_up;
    TimePoint until = {};

    friend bool operator==(const Action&, const Action&) = default;
  };

  /// `has_tasks`: some tasks have not begun. `until`: when the claimer gives up.
  LastRelease(bool has_tasks, TimePoint until) noexcept : is_released_(!has_tasks), until_(until) {}

  [[nodiscard]] Action next(const Certainty& certainty, TimePoint now) const noexcept;
  /// The tasks were released, except those that Certainty knows to be locked. The claimer does not release them again:
  /// other workers may hold them by then.
  void on_released() noexcept { is_released_ = true; }

 private:
  bool is_released_;
  TimePoint until_;
};

[[nodiscard]] std::string_view to_text(LastRelease::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, LastRelease::Step step);
std::ostream& operator<<(std::ostream& out, const LastRelease::Action& action);

}  // namespace dogged::runtime
