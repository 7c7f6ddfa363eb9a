// The list that TASK_REGISTER leaves for worker_main: tasks whose handlers take args as JSON text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/task_options.hpp>

namespace dogged {

class Context;

namespace detail {

/// Args as they stand in the database.
struct StoredArgs {
  StoredArgs(const std::string& text, int of_version = 0) : json(text), version(of_version) {}

  const std::string& json;
  int version;  ///< 0: that of the key
};

/// Runs the handler on args as JSON text; gives the result as JSON text, empty for void.
using ErasedHandler = std::function<std::string(Context&, const StoredArgs&)>;

struct RegisteredTask {
  std::string name;
  TaskOptions options;
  ErasedHandler run;
  std::optional<std::string_view> key_queue = {};  ///< KeyOptions::queue
  int args_version = 1;                            ///< KeyOptions::version

  /// Where it goes unless an enqueue says otherwise.
  [[nodiscard]] std::string_view queue() const { return options.queue.value_or(key_queue.value_or("default")); }
};

/// Every registration of this program so far, in the order of static initialisation.
[[nodiscard]] const std::vector<RegisteredTask>& registered_tasks() noexcept;
/// Appends; never throws (out of memory before main is reported by registration_failed()).
void append_registration(std::string_view name, std::optional<std::string_view> key_queue, const TaskOptions& options,
                         ErasedHandler run, int args_version) noexcept;
[[nodiscard]] bool registration_failed() noexcept;

}  // namespace detail
}  // namespace dogged
