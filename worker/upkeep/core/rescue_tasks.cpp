// See rescue_tasks.hpp.
#include "upkeep/core/rescue_tasks.hpp"

#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {

RescueTasks::Action RescueTasks::next() const {
  if (workers_.empty() || step_ == Step::done) return {.step = step_};
  if (step_ == Step::rescue_batch) return {.step = step_, .worker = workers_.front(), .claims = gathered_};
  return {.step = step_, .worker = workers_.front()};
}

void RescueTasks::on_workers(const std::vector<std::int64_t>& workers) {
  require_invariant(step_ == Step::list_workers || step_ == Step::list_left, "a rescue has asked whose tasks are lost");
  workers_ = workers;
  if (step_ == Step::list_left) {
    step_ = Step::done;
  } else {
    step_ = workers_.empty() ? Step::list_left : Step::list_claims;
  }
}

void RescueTasks::on_claims(const std::vector<Claim>& claims) {
  require_invariant(step_ == Step::list_claims, "a rescue has asked for the claims of a lost worker");
  claims_ = claims;
  next_claims();
}

void RescueTasks::on_batch(std::size_t tasks) {
  require_invariant(step_ == Step::rescue_batch, "a rescue has asked for a batch of lost tasks");
  if (tasks == 0) next_claims();
}

void RescueTasks::on_marked() {
  require_invariant(step_ == Step::mark_rescued, "a worker is marked as rescued after the last batch of its tasks");
  next_worker();
}

void RescueTasks::on_locked() {
  require_invariant(step_ == Step::rescue_batch || step_ == Step::mark_rescued,
                    "a rescue meets another one where it locks the lost worker");
  next_worker();
}

void RescueTasks::on_refused() {
  require_invariant(next().worker != 0, "a rescue goes on after a refusal in the turn of one worker");
  next_worker();
}

bool RescueTasks::has_rescued_all() const {
  require_invariant(step_ == Step::done, "a rescue tells at its end whether tasks are left");
  return workers_.empty();
}

void RescueTasks::next_worker() noexcept {
  workers_.erase(workers_.begin());
  step_ = workers_.empty() ? Step::list_left : Step::list_claims;
}

void RescueTasks::next_claims() {
  gathered_.clear();
  auto claim = claims_.begin();
  for (std::int64_t tasks = 0; claim != claims_.end() && tasks < tasks_at_once_; ++claim) {
    gathered_.push_back(claim->id);
    tasks += claim->tasks;
  }
  claims_.erase(claims_.begin(), claim);
  step_ = gathered_.empty() ? Step::mark_rescued : Step::rescue_batch;
}

std::string_view to_text(RescueTasks::Step step) noexcept {
  using Step = RescueTasks::Step;
  switch (step) {
    case Step::list_workers:
      return "list workers";
    case Step::list_claims:
      return "list claims";
    case Step::rescue_batch:
      return "rescue batch";
    case Step::mark_rescued:
      return "mark rescued";
    case Step::list_left:
      return "list left";
    case Step::done:
      break;
  }
  return "done";
}

std::ostream& operator<<(std::ostream& out, RescueTasks::Step step) { return out << to_text(step); }

std::ostream& operator<<(std::ostream& out, const RescueTasks::Action& action) {
  out << to_text(action.step);
  if (action.worker != 0) out << " of worker " << action.worker;
  for (const std::int64_t claim : action.claims) out << (claim == action.claims.front() ? ", claims " : " ") << claim;
  return out;
}

}  // namespace dogged::runtime
