// The list behind TASK_REGISTER.
#include <utility>

#include <dogged/detail/registration.hpp>

namespace dogged::detail {
namespace {

std::vector<RegisteredTask>& tasks() noexcept {
  static std::vector<RegisteredTask> list;  // made by the first registration, whatever order the linker chose
  return list;
}

bool failed = false;

}  // namespace

const std::vector<RegisteredTask>& registered_tasks() noexcept { return tasks(); }

void append_registration(std::string_view name, std::optional<std::string_view> key_queue, const TaskOptions& options,
                         ErasedHandler run, int args_version) noexcept {
  try {
    tasks().push_back({std::string{name}, options, std::move(run), key_queue, args_version});
  } catch (...) {
    failed = true;
  }
}

bool registration_failed() noexcept { return failed; }

}  // namespace dogged::detail
