// See new_tasks.hpp.
#include "client/new_tasks.hpp"

#include <algorithm>

namespace dogged {
namespace {

bool differ_in_args_alone(const NewTask& a, const NewTask& b) {
  return a.name == b.name && a.options == b.options && a.key_queue == b.key_queue && a.args_version == b.args_version;
}

}  // namespace

NewTasks::NewTasks(std::span<const NewTask> tasks) : all_(tasks), kinds_(tasks) {
  const auto is_like_first = [&](const NewTask& task) { return differ_in_args_alone(tasks.front(), task); };
  if (std::all_of(tasks.begin() + 1, tasks.end(), is_like_first)) kinds_ = tasks.first(1);
}

}  // namespace dogged
