// One picture after another.
#include "cli/io/live_view.hpp"

#include <iostream>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <dogged/error.hpp>

#include "cli/io/interrupt.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t usual_height = 24;
// Cursor to the first line, and everything from there cleared: https://en.wikipedia.org/wiki/ANSI_escape_code#CSI
constexpr const char* clear_screen = "\033[H\033[J";

/// The first `lines` lines of the text.
std::string cut(const std::string& text, std::size_t lines) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < lines && end != std::string::npos; ++i) {
    end = text.find('\n', end);
    if (end != std::string::npos) ++end;
  }
  return text.substr(0, end);
}

/// Waits, until nobody reads stdout any more: `| grep -m1` must not have to wait for the next change.
bool has_reader_after(std::chrono::milliseconds interval) {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, static_cast<int>(interval.count())) <= 0;
}

}  // namespace

std::chrono::milliseconds interval_from_text(const std::string& text) {
  if (text.empty()) return usual_interval;
  const auto interval = duration_from_text(text);
  if (interval >= std::chrono::milliseconds{100} && interval <= longest_interval) return interval;
  throw InvalidInput("the interval is " + in_quotes(text) + ", and must be 100ms to 1h",
                     "each look is a question to the database");
}

bool is_terminal() { return isatty(STDOUT_FILENO) == 1; }

std::size_t terminal_height() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : usual_height;
}

void repeat_until_interrupted(std::chrono::milliseconds interval, const std::function<void()>& step) {
  stop_on_interrupt();
  while (!was_interrupted()) {
    step();
    if (!std::cout.flush() || !has_reader_after(interval)) return;
  }
}

void show_picture(const std::string& text) {
  // The last line stays free, or the terminal would scroll.
  std::cout << clear_screen << cut(text, terminal_height() - 1);
}

}  // namespace dogged::cli
