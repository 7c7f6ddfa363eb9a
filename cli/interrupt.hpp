// Ctrl-C in commands that end in order: between batches, or in the middle of a wait.
#pragma once

#include <chrono>

namespace dogged::cli {

/// From now on Ctrl-C makes was_interrupted() true and ends what waits (LineReader::next, pause). A second one ends the
/// program.
void stop_on_interrupt();

[[nodiscard]] bool was_interrupted() noexcept;

/// Waits for so long, or until Ctrl-C.
void pause(std::chrono::milliseconds duration);

}  // namespace dogged::cli
