// See holder.hpp.
#include "lease/core/holder.hpp"

#include "base/invariant.hpp"

namespace dogged::runtime {

std::string whose_it_is(const Holder& holder) {
  require_invariant(!holder.is_mine, "the log names the holder of an attempt that the worker does not hold");
  std::string text;
  if (holder.outcome) {
    text.append("the attempt is on record as ").append(to_text(*holder.outcome)).append("; ");
  }
  if (!holder.task_attempt) return text + "there is no such task";
  const std::string attempt = std::to_string(*holder.task_attempt);
  if (holder.status == lifecycle::Status::running) {
    const std::string& name = holder.worker_name;
    return text + "worker " + std::to_string(holder.worker) + " (" + (name.empty() ? "unknown" : name) +
           ") runs attempt " + attempt;
  }
  text.append("the task is ");
  text.append(holder.status ? to_text(*holder.status) : "in a status that this version does not know");
  return text + " after attempt " + attempt;
}

}  // namespace dogged::runtime
