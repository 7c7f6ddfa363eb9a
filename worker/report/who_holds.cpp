// See who_holds.hpp.
#include "report/who_holds.hpp"

namespace dogged::runtime {

std::string whose_it_is(const sql::WhoHolds::Row& task) {
  const std::string recorded = task.outcome ? "the attempt is on record as " + *task.outcome + "; " : "";
  if (!task.status) return recorded + "there is no such task";
  const std::string attempt = std::to_string(task.task_attempt.value());
  if (task.status != "running") return recorded + "the task is " + *task.status + " after attempt " + attempt;
  return recorded + "worker " + std::to_string(task.worker_id.value()) + " (" + task.worker.value_or("unknown") +
         ") runs attempt " + attempt;
}

}  // namespace dogged::runtime
