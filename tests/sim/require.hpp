// How a promise is found broken: what promises*.cpp have in common.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>

#include "database.hpp"

namespace dogged::sim::promises {

/// A task, or one of its attempts.
struct Named {
  TaskId id = 0;
  std::optional<int> attempt = {};
};
inline std::ostream& operator<<(std::ostream& out, const Named& named) {
  out << "task " << named.id;
  return named.attempt ? out << " attempt " << *named.attempt : out;
}

struct InMs {
  Duration time;
};
inline std::ostream& operator<<(std::ostream& out, const InMs& in_ms) {
  return out << std::chrono::duration_cast<milliseconds>(in_ms.time).count() << " ms";
}

template <class... Parts>
std::string worded(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}
inline std::string named(TaskId id) { return worded(Named{id}); }
inline std::string named(TaskId id, int attempt) { return worded(Named{id, attempt}); }
inline std::string in_ms(Duration time) { return worded(InMs{time}); }

/// Throws Broken with the guarantee, its promise and what was seen instead. A run makes thousands of checks, so the
/// text is made only where the promise is broken.
template <class... Parts>
void require(bool holds, const char* guarantee, const char* promise, const Parts&... seen) {
  if (!holds) throw Broken{worded(guarantee, ": ", promise, ": ", seen...)};
}

}  // namespace dogged::sim::promises
