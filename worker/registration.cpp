// The list behind TASK_REGISTER, and the description of args that do not fit.
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

void append_registration(std::string_view name, const TaskOptions& options, ErasedHandler run) noexcept {
  try {
    tasks().push_back({std::string{name}, options, std::move(run)});
  } catch (...) {
    failed = true;
  }
}

bool registration_failed() noexcept { return failed; }

InvalidArgs describe_invalid_args(std::string_view what) {
  if (const auto end_of_id = what.find("] "); what.starts_with("[json.exception.") && end_of_id != what.npos) {
    what.remove_prefix(end_of_id + 2);
  }
  std::string pointer;
  if (what.starts_with("(/")) {
    const auto end_of_pointer = what.find(") ");
    if (end_of_pointer != what.npos) {
      pointer = what.substr(1, end_of_pointer - 1);
      what.remove_prefix(end_of_pointer + 2);
    }
  }
  constexpr std::string_view missing_key = "key '";
  if (what.starts_with(missing_key)) {
    const auto key = what.substr(missing_key.size(), what.rfind('\'') - missing_key.size());
    pointer += "/" + pointer_token(key);
  }
  return {pointer, "the args do not fit at " + (pointer.empty() ? "their top" : pointer) + ": " + std::string{what}};
}

}  // namespace dogged::detail
