// The view of `dogged tasks watch` and `dogged stats --watch` on a terminal: one picture after another, until Ctrl-C.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace dogged::cli {

inline constexpr std::chrono::milliseconds usual_interval{1000};
inline constexpr std::chrono::milliseconds longest_interval = std::chrono::hours{1};

/// The time between two pictures: a duration, or usual_interval if `text` is empty. Throws InvalidInput for another
/// text, or for a time out of 100 ms to 1 h.
[[nodiscard]] std::chrono::milliseconds interval_from_text(const std::string& text);

/// Whether people watch: stdout is a terminal.
[[nodiscard]] bool is_terminal();

/// Lines of the terminal; 24 where it does not say.
[[nodiscard]] std::size_t terminal_height();

/// Calls `step` at once and then every `interval`, until Ctrl-C or until stdout cannot be written.
void repeat_until_interrupted(std::chrono::milliseconds interval, const std::function<void()>& step);

/// Clears the terminal and shows the text, as many of its lines as fit.
void show_picture(const std::string& text);

}  // namespace dogged::cli
