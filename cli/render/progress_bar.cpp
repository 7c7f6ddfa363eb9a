// How far long work has come.
#include "cli/render/progress_bar.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/render/text.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t bar_width = 24;
constexpr std::chrono::milliseconds between_drawings{200};

std::size_t share_of(std::size_t whole, double fraction) {
  constexpr std::size_t million = 1'000'000;
  constexpr double inexact = 1e-3;  // 0.29 is a little less as a double
  return static_cast<std::size_t>(fraction * million + inexact) * whole / million;
}

}  // namespace

std::string percent_text(double fraction) { return std::to_string(share_of(100, fraction)) + " %"; }

std::string bar_text(double fraction, std::size_t width, const Style& style) {
  const std::size_t filled = share_of(width, fraction);
  return repeat(style.pick("█", "#"), filled) + repeat(style.pick("░", "."), width - filled);
}

std::string progress_text(const std::string& verb, std::size_t done, std::size_t total,
                          std::chrono::milliseconds elapsed, const Style& style) {
  const std::size_t most = std::max<std::size_t>(total, 1);
  const std::size_t now = std::min(done, most);
  const double fraction = static_cast<double>(now) / static_cast<double>(most);
  std::string text = verb + " " + std::to_string(done) + " of " + std::to_string(total) + "  " +
                     bar_text(fraction, bar_width, style) + "  " + percent_text(fraction);
  if (now > 0 && now < most && elapsed >= std::chrono::seconds{1}) {
    text += ", " + readable(elapsed * static_cast<long>(most - now) / static_cast<long>(now)) + " left";
  }
  return text;
}

ProgressBar::ProgressBar(std::string verb, std::size_t total, bool is_watched, Style style)
    : verb_(std::move(verb)), total_(total), is_watched_(is_watched), style_(style) {}

ProgressBar::~ProgressBar() {
  if (was_shown_) std::cerr << "\n";
}

void ProgressBar::show(std::size_t done) {
  const Clock::time_point now = Clock::now();
  if (!is_watched_ || (done < total_ && now - shown_ < between_drawings)) return;
  shown_ = now;
  was_shown_ = true;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
  std::cerr << "\r" << progress_text(verb_, done, total_, elapsed, style_) << "\x1b[K" << std::flush;
}

}  // namespace dogged::cli
