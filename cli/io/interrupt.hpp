// Ctrl-C, SIGTERM and SIGHUP in commands that end in order: between batches, or in the middle of a wait.
#pragma once

#include <chrono>

namespace dogged::cli {

/// From now on Ctrl-C, SIGTERM and SIGHUP make was_interrupted() true and end what waits (LineReader::next, pause). The
/// same signal again ends the program.
void stop_on_interrupt();

[[nodiscard]] bool was_interrupted() noexcept;

/// Waits for so long, or until one of these signals.
void pause(std::chrono::milliseconds duration);

}  // namespace dogged::cli
