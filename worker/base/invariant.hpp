// An invariant holds on both sides of a boundary, unless dogged has a mistake.
#pragma once

#include <stdexcept>
#include <string>

namespace dogged::runtime {

/// Throws std::logic_error if the invariant does not hold, also in release builds. The thread on which it is broken
/// then ends the worker (db::is_defect), instead of going on in a state that nobody has thought of.
inline void require_invariant(bool holds, const char* invariant) {
  if (!holds) throw std::logic_error(std::string{"broken invariant: "} + invariant);
}

}  // namespace dogged::runtime
