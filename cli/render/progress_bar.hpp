// How far long work has come: as text, and as a bar on stderr, in a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/render/style.hpp"

namespace dogged::cli {

/// 0.4 is `40 %`. Rounded down: 100 % means that all is done.
[[nodiscard]] std::string percent_text(double fraction);
/// `####......`
[[nodiscard]] std::string bar_text(double fraction, std::size_t width, const Style& style);

/// `replayed 12000 of 100000  [####......]  12 %`, and how long the rest takes at this pace, if `elapsed` tells.
[[nodiscard]] std::string progress_text(const std::string& verb, std::size_t done, std::size_t total,
                                        std::chrono::milliseconds elapsed, const Style& style);

class ProgressBar {
 public:
  ProgressBar(std::string verb, std::size_t total, bool is_watched, Style style);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws it, a few times a second at most.
  void show(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string verb_;
  std::size_t total_;
  bool is_watched_;
  Style style_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_{};
  bool was_shown_ = false;
};

}  // namespace dogged::cli
