// See sorting_out.hpp.
#include "claim/core/sorting_out.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"
#include "tasks/definition.hpp"

namespace dogged::runtime {

SortingOut::SortingOut(std::vector<ClaimedTask> claimed, bool has_more, TimePoint now) : has_more_(has_more) {
  const auto first_expired = std::stable_partition(claimed.begin(), claimed.end(),
                                                   [&](const ClaimedTask& task) { return task.expires_at > now; });
  sorted_.expired.assign(std::make_move_iterator(first_expired), std::make_move_iterator(claimed.end()));
  claimed.erase(first_expired, claimed.end());
  sorted_.begin = std::move(claimed);
}

std::map<std::string_view, std::size_t> SortingOut::asks() const {
  std::map<std::string_view, std::size_t> counts;
  for (const ClaimedTask& task : sorted_.begin) {
    if (!task.definition->circuit.empty()) ++counts[task.definition->circuit];
  }
  return counts;
}

void SortingOut::on_answer(std::string_view circuit, const CircuitLedger::Answer& answer) {
  std::size_t let_through = 0;
  auto wait = answer.waits.begin();
  std::vector<ClaimedTask> kept;
  kept.reserve(sorted_.begin.size());
  for (ClaimedTask& task : sorted_.begin) {
    if (task.definition->circuit != circuit) {
      kept.push_back(std::move(task));
    } else if (let_through < answer.let_through) {
      ++let_through;
      task.circuit_generation = answer.generation;
      kept.push_back(std::move(task));
    } else {
      require_invariant(wait != answer.waits.end(), "a circuit answers for each task that it was asked for");
      sorted_.by_circuit.push_back({std::move(task), *wait++});
    }
  }
  sorted_.begin = std::move(kept);
  if (has_more_ && answer.is_open && !answer.waits.empty()) sorted_.in_place.push_back(circuit);
}

SortedOut SortingOut::finish(RetryThrottle* retries, TimePoint now, const std::function<double()>& draw) && {
  if (retries != nullptr) ask_budget(*retries, now, draw);
  return std::move(sorted_);
}

void SortingOut::ask_budget(RetryThrottle& retries, TimePoint now, const std::function<double()>& draw) {
  const bool held_back_before = retries.holds_back();
  std::vector<ClaimedTask> within;
  within.reserve(sorted_.begin.size());
  for (ClaimedTask& task : sorted_.begin) {
    const auto wait = task.retry_count > 0 ? retries.ask(now, draw()) : std::nullopt;
    if (wait) {
      sorted_.over_budget.push_back({std::move(task), *wait});
    } else {
      within.push_back(std::move(task));
    }
  }
  sorted_.begin = std::move(within);
  sorted_.throttling_begins = !held_back_before && !sorted_.over_budget.empty();
  for (std::size_t i = 0; i < sorted_.begin.size(); ++i) retries.note_execution(now);
}

std::ostream& operator<<(std::ostream& out, const SortedOut& sorted) {
  const auto print_deferred = [&out](std::string_view fate, const std::vector<Deferral>& deferrals) {
    out << fate;
    for (const Deferral& deferral : deferrals)
      out << ' ' << deferral.task << " for " << deferral.wait.count() << " ms,";
  };
  out << "begin:";
  for (const ClaimedTask& task : sorted.begin) out << ' ' << task << ',';
  out << " expired:";
  for (const ClaimedTask& task : sorted.expired) out << ' ' << task << ',';
  print_deferred(" by circuit:", sorted.by_circuit);
  print_deferred(" over budget:", sorted.over_budget);
  for (const std::string_view circuit : sorted.in_place) out << " in place of " << circuit << ',';
  return sorted.throttling_begins ? out << " throttling begins" : out;
}

}  // namespace dogged::runtime
