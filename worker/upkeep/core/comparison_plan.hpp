// The plan decides when the worker compares its declarations of tasks and schedules with those of other workers. Pure.
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"
#include "upkeep/core/outlook.hpp"

namespace dogged::runtime {

class ComparisonPlan {
 public:
  enum class State {
    compared,  ///< nothing is due, as far as this worker knows
    awaited,   ///< a look must decide: workers may have begun
    due,
  };

  /// A comparison that was refused is tried again after `again_after_refusal`.
  ComparisonPlan(milliseconds heartbeat, milliseconds again_after_refusal) noexcept
      : heartbeat_(heartbeat), again_after_refusal_(again_after_refusal) {}

  [[nodiscard]] State state() const noexcept { return state_; }

  void on_worker_began() noexcept { state_ = State::awaited; }
  /// The answer to a look that was asked at `asked_at`.
  void on_looked(const Outlook& found, TimePoint asked_at, TimePoint now) noexcept;
  void on_compared() noexcept;
  /// PostgreSQL has refused the comparison, or other transactions keep the schedules locked.
  void on_refused(TimePoint now) noexcept;
  /// A statement failed: workers may have begun meanwhile.
  void on_failure() noexcept { state_ = State::awaited; }

 private:
  [[nodiscard]] bool must_compare(const Outlook& found, TimePoint now) const noexcept;

  milliseconds heartbeat_;
  milliseconds again_after_refusal_;
  State state_ = State::awaited;
  TimePoint asked_at_{};  // the look that has made the comparison due
  TimePoint compared_at_{};
  TimePoint compares_again_at_{};
};

[[nodiscard]] std::string_view to_text(ComparisonPlan::State state) noexcept;
std::ostream& operator<<(std::ostream& out, ComparisonPlan::State state);

}  // namespace dogged::runtime
