// How a promise is found broken: what promises*.cpp have in common.
#pragma once

#include <chrono>
#include <string>

#include "database.hpp"

namespace dogged::sim::promises {

inline std::string named(TaskId id) { return "task " + std::to_string(id); }
inline std::string named(TaskId id, int attempt) { return named(id) + " attempt " + std::to_string(attempt); }
inline std::string in_ms(Duration time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
}

/// Names the guarantee, what it promises, and what was seen instead.
inline void require(bool holds, const char* guarantee, const char* promise, const std::string& seen) {
  if (!holds) throw Broken{std::string{guarantee} + ": " + promise + ": " + seen};
}

}  // namespace dogged::sim::promises
