// See sorting_out.hpp.
#include "claim/core/sorting_out.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tasks/definition.hpp"

namespace dogged::runtime {

std::set<std::string_view> SortedOut::circuits() const {
  std::set<std::string_view> circuits;
  for (const Deferral& deferral : by_circuit) circuits.insert(deferral.task.definition->circuit);
  return circuits;
}

SortingOut::SortingOut(std::vector<ClaimedTask> claimed, TimePoint now) {
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

void SortingOut::on_admitted(std::string_view circuit, const CircuitLedger::Admission& admission,
                             const std::function<milliseconds()>& next_wait) {
  std::size_t asked = 0;
  std::vector<ClaimedTask> kept;
  kept.reserve(sorted_.begin.size());
  for (ClaimedTask& task : sorted_.begin) {
    if (task.definition->circuit != circuit) {
      kept.push_back(std::move(task));
    } else if (asked++ < admission.let_through) {
      task.circuit_generation = admission.generation;
      kept.push_back(std::move(task));
    } else {
      sorted_.by_circuit.push_back({std::move(task), next_wait()});
    }
  }
  sorted_.begin = std::move(kept);
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

}  // namespace dogged::runtime
