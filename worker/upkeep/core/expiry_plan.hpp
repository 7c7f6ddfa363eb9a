// The plan decides which expired tasks upkeep ends, and how far back a look goes for them. Pure.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class ExpiryPlan {
 public:
  enum class State {
    idle,
    ending,  ///< a look has found expired tasks: they are ended in batches, until a batch finds none
  };

  [[nodiscard]] State state() const noexcept { return state_; }
  /// How far a look at `asked_at` goes back for them; nothing: for ever.
  [[nodiscard]] std::optional<milliseconds> look_back(TimePoint asked_at) const noexcept;
  /// How far a batch at `now` goes back: to where the look went whose tasks are ended, however long ago that was.
  [[nodiscard]] std::optional<milliseconds> looked_back(TimePoint now) const noexcept;

  /// The answer to a look that was asked at `asked_at` and went back as far as look_back() gave.
  void on_looked(bool has_expired, TimePoint asked_at) noexcept;
  /// A batch has ended `count` tasks.
  void on_expired(std::size_t count) noexcept;
  /// The next look finds the tasks that are left.
  void on_failure() noexcept { state_ = State::idle; }

 private:
  void finish() noexcept;

  State state_ = State::idle;
  TimePoint asked_at_{};  // the look whose tasks are ended
  std::optional<milliseconds> looked_back_ = {};
  TimePoint expired_at_{};     // up to then every task was ended that had expired
  TimePoint expire_all_at_{};  // from then on a look goes back for ever
};

[[nodiscard]] std::string_view to_text(ExpiryPlan::State state) noexcept;
std::ostream& operator<<(std::ostream& out, ExpiryPlan::State state);

}  // namespace dogged::runtime
