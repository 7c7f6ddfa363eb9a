// See who_holds.hpp.
#include "report/who_holds.hpp"

namespace dogged::runtime {

std::string whose_it_is(const db::Row& row) {
  const std::string recorded =
      row.is_null("outcome") ? "" : "the attempt is on record as " + std::string{row.text("outcome")} + "; ";
  if (row.is_null("status")) return recorded + "there is no such task";
  const std::string attempt = std::to_string(row.number("task_attempt"));
  if (row.text("status") != "running") {
    return recorded + "the task is " + std::string{row.text("status")} + " after attempt " + attempt;
  }
  return recorded + "worker " + std::to_string(row.number("worker_id")) + " (" +
         row.maybe_text("worker").value_or("unknown") + ") runs attempt " + attempt;
}

}  // namespace dogged::runtime
