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

void SortingOut::on_admitted(std::string_view circuit, const CircuitLedger::Admission& admission, bool is_open,
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
  if (has_more_ && is_open && asked > admission.let_through) sorted_.in_place.push_back(circuit);
  require_invariant(admission.let_through <= asked, "a circuit lets no more tasks through than it was asked for");
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
