// See who_holds.hpp.
#include "lease/who_holds.hpp"

#include <map>
#include <utility>

#include "db/connection.hpp"

namespace dogged::runtime {

Holder holder_of(const sql::WhoHolds::Row& row) {
  return {.is_mine = row.is_mine,
          .cancel_requested = row.cancel_requested,
          .expires_in_us = row.expires_in_us,
          .expires_after_claim_us = row.expires_after_claim_us,
          .task_attempt = row.task_attempt,
          .status = row.status ? lifecycle::status_from_text(*row.status) : std::nullopt,
          .worker = row.worker_id.value_or(0),
          .worker_name = row.worker.value_or(""),
          .outcome = row.outcome ? lifecycle::outcome_from_text(*row.outcome) : std::nullopt,
          .recorded_for = row.recorded_for};
}

std::vector<Holder> read_holders(db::Connection& connection, std::int64_t worker_id,
                                 const std::vector<Attempt>& attempts) {
  sql::WhoHolds question{.worker_id = worker_id, .ids = {}, .attempts = {}};
  for (const Attempt& attempt : attempts) {
    question.ids.push_back(attempt.id);
    question.attempts.push_back(attempt.number);
  }
  std::map<std::pair<TaskId, int>, Holder> by_attempt;  // the rows come in any order
  for (const sql::WhoHolds::Row& row : connection.run(std::move(question))) {
    by_attempt.emplace(std::pair{row.id, row.attempt}, holder_of(row));
  }
  std::vector<Holder> holders;
  for (const Attempt& attempt : attempts) holders.push_back(by_attempt.at({attempt.id, attempt.number}));
  return holders;
}

}  // namespace dogged::runtime
