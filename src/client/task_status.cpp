// See task_status.hpp.
#include "client/task_status.hpp"

#include <string>

#include <dogged/error.hpp>

#include "lifecycle/lifecycle.hpp"

namespace dogged {
namespace {

template <class Value>
Value known_here(const std::optional<Value>& value, std::string_view text) {
  if (value) return *value;
  throw SchemaMismatch("the database says \"" + std::string{text} + "\", which this program does not know");
}

static_assert(to_text(TaskStatus::expired) == "expired" &&
              static_cast<int>(TaskStatus::expired) == static_cast<int>(lifecycle::Status::expired));

}  // namespace

TaskStatus task_status_of(std::string_view text) {
  return static_cast<TaskStatus>(known_here(lifecycle::status_from_text(text), text));
}

AttemptOutcome attempt_outcome_of(std::string_view text) {
  return known_here(lifecycle::outcome_from_text(text), text);
}

}  // namespace dogged
