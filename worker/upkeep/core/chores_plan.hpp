// The plan decides the next action of chores. Pure.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "retention/step.hpp"

namespace dogged::runtime {

/// Chores work in rounds. A round makes the partitions of the coming days, applies retention, and then deletes left
/// rows in batches, until a batch finds none. The connection is closed after a round. A round that failed begins anew.
class ChoresPlan {
 public:
  struct Settings {
    milliseconds first{60'000};          ///< after the start
    milliseconds interval{3'600'000};    ///< after a round that left nothing to do
    milliseconds again_if_left{60'000};  ///< after a round that left something to do
  };

  enum class State {
    resting,    ///< until the next round is due
    making,     ///< partitions
    retaining,  ///< applying retention
    tidying,    ///< deleting left rows
    finished,   ///< the round has done its work
  };
  enum class Step {
    wait,  ///< until `until`
    make_partitions,
    apply_retention,  ///< to the extent `extent`
    tidy,             ///< a batch of left rows
    disconnect,
    end,
  };
  struct Action {
    Step step = Step::end;
    TimePoint until = {};
    retention::Extent extent = retention::Extent::days;

    friend bool operator==(const Action&, const Action&) = default;
  };

  ChoresPlan(const Settings& settings, TimePoint now) noexcept : settings_(settings), due_at_(now + settings.first) {}

  [[nodiscard]] Action next(TimePoint now) noexcept;

  // Events. If an action's statement throws, on_failure is called, and no other event for that action.

  void on_stopping() noexcept { is_stopping_ = true; }
  void on_partitions_made() noexcept { state_ = State::retaining; }
  void on_retention_applied(const std::vector<retention::Step>& steps) noexcept;
  /// A batch has deleted rows, or found none.
  void on_tidied(bool found_rows, TimePoint now) noexcept;
  void on_disconnected() noexcept { state_ = State::resting; }
  void on_failure() noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  const Settings settings_;
  State state_ = State::resting;
  TimePoint due_at_;                                    // the next round
  retention::Extent extent_ = retention::Extent::days;  // of the next retention
  bool has_left_days_ = false;                          // the retention of this round
  bool is_stopping_ = false;
};

[[nodiscard]] std::string_view to_text(ChoresPlan::State state) noexcept;
[[nodiscard]] std::string_view to_text(ChoresPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, ChoresPlan::State state);
std::ostream& operator<<(std::ostream& out, ChoresPlan::Step step);
std::ostream& operator<<(std::ostream& out, const ChoresPlan::Action& action);

}  // namespace dogged::runtime
