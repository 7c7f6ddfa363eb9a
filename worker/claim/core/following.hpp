// When the claimer reads what operators have set for its queues. Pure.
#pragma once

#include <algorithm>

#include "base/time.hpp"

namespace dogged::runtime {

class Following {
 public:
  /// While claims go on, the settings that they go by are not older: a notification may have been lost.
  static constexpr milliseconds oldest{1000};

  /// Settings may have changed since they were read.
  void on_changed() noexcept { is_unknown_ = true; }
  /// The settings of all queues were asked for at `now`. on_pause() follows for each pause that ends by itself.
  void on_asked(TimePoint now) noexcept {
    is_unknown_ = false;
    asked_at_ = now;
    resumes_at_ = never;
  }
  void on_pause(milliseconds resumes_in, TimePoint now) noexcept {
    resumes_at_ = std::min(resumes_at_, now + std::clamp(resumes_in, milliseconds{1}, longest_ahead));
  }

  /// Settings have changed, or the first pause is over.
  [[nodiscard]] bool is_due(TimePoint now) const noexcept { return is_unknown_ || now >= resumes_at_; }
  [[nodiscard]] bool is_old(TimePoint now) const noexcept { return now >= old_at(); }
  [[nodiscard]] TimePoint old_at() const noexcept { return asked_at_ + oldest; }
  [[nodiscard]] TimePoint resumes_at() const noexcept { return resumes_at_; }

 private:
  bool is_unknown_ = true;
  TimePoint asked_at_{};
  TimePoint resumes_at_ = never;  // when the first pause ends by itself
};

}  // namespace dogged::runtime
