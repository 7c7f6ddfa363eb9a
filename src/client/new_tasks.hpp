// The tasks of one enqueue.
#pragma once

#include <span>

#include <dogged/client.hpp>

namespace dogged {

/// Most calls are for tasks that differ in their args alone. The client then looks at the first task for all of them. A
/// task has 650 bytes, so a thousand tasks do not stay in the processor's first cache between two passes.
class NewTasks {
 public:
  /// Refers to `tasks`, at least one.
  explicit NewTasks(std::span<const NewTask> tasks);

  [[nodiscard]] std::span<const NewTask> all() const noexcept { return all_; }
  /// The first task alone if the others differ from the first in nothing but their args; else all.
  [[nodiscard]] std::span<const NewTask> kinds() const noexcept { return kinds_; }

 private:
  std::span<const NewTask> all_;
  std::span<const NewTask> kinds_;
};

}  // namespace dogged
