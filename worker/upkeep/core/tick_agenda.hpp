// The agenda decides when this worker asks the database for due ticks of schedules. Pure.
#pragma once

#include <optional>

#include "base/time.hpp"

namespace dogged::runtime {

/// Any worker fires due ticks. The two that began first ask at the time of the next tick, and the others a little
/// later. The others only have something to do if both of the first are busy or gone.
class TickAgenda {
 public:
  struct Settings {
    milliseconds others_later{300};
    milliseconds again_while_locked{100};  ///< other workers have locked the schedules
    milliseconds again_after_refusal{1'000};
  };

  explicit TickAgenda(const Settings& settings) noexcept : settings_(settings) {}

  /// When to ask next; `never` as long as no schedule has a next tick.
  [[nodiscard]] TimePoint asks_at() const noexcept { return asks_at_; }

  /// A look has found that the next tick is due in `due_in`, below 0 if it is overdue; nothing: there is none.
  /// `comes_first`: as in Outlook.
  void on_due(std::optional<milliseconds> due_in, bool comes_first, TimePoint now) noexcept;
  /// Ticks of `schedules` schedules were fired, and the next tick is due in `due_in`.
  void on_fired(int schedules, std::optional<milliseconds> due_in, TimePoint now) noexcept;
  /// A schedule was set: it may be due before any other.
  void on_changed(TimePoint now) noexcept { asks_at_ = now; }
  void on_refused(TimePoint now) noexcept { asks_at_ = now + settings_.again_after_refusal; }

 private:
  const Settings settings_;
  TimePoint asks_at_ = never;
  bool comes_first_ = true;
};

}  // namespace dogged::runtime
