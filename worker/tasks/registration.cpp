// The lists behind TASK_REGISTER and TASK_SCHEDULE.
#include <utility>

#include <dogged/detail/registration.hpp>
#include <dogged/schedule.hpp>

namespace dogged::detail {
namespace {

std::vector<RegisteredTask>& tasks() noexcept {
  static std::vector<RegisteredTask> list;  // made by the first registration, whatever order the linker chose
  return list;
}

std::vector<DeclaredSchedule>& schedules() noexcept {
  static std::vector<DeclaredSchedule> list;
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

const std::vector<DeclaredSchedule>& declared_schedules() noexcept { return schedules(); }

void append_schedule(const DeclaredSchedule& schedule) noexcept {
  try {
    schedules().push_back(schedule);
  } catch (...) {
    failed = true;
  }
}

bool registration_failed() noexcept { return failed; }

}  // namespace dogged::detail
