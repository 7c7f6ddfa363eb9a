// See keeper_inbox.hpp.
#include "lease/keeper_inbox.hpp"

#include <utility>

#include "base/core/storable_text.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t max_message_bytes = 1000;  // the check of task_progress
constexpr std::size_t most_kept = 1000;

}  // namespace

void KeeperInbox::note(Attempt attempt, std::optional<double> fraction, std::string_view message, TimePoint now) {
  std::string kept = storable_text(message, max_message_bytes);  // before the lock: other handlers wait for it
  const detail::Lock lock{mutex_};
  if (unwritten_.empty()) wake_.wake();
  ReportedProgress& latest = unwritten_[{attempt.id, attempt.number}];
  latest.attempt = attempt;
  latest.fraction = fraction;
  latest.message = std::move(kept);
  latest.reported_at = now;
}

void KeeperInbox::note_draining() noexcept {
  is_draining_ = true;
  wake_.wake();
}

bool KeeperInbox::has_unwritten() const {
  const detail::Lock lock{mutex_};
  return !unwritten_.empty();
}

std::vector<ReportedProgress> KeeperInbox::take() {
  std::map<std::pair<TaskId, int>, ReportedProgress> taken;
  {
    const detail::Lock lock{mutex_};
    taken.swap(unwritten_);
  }
  std::vector<ReportedProgress> reports;
  reports.reserve(taken.size());
  for (auto& [attempt, report] : taken) reports.push_back(std::move(report));
  return reports;
}

void KeeperInbox::put_back(std::vector<ReportedProgress> taken) {
  const detail::Lock lock{mutex_};
  for (ReportedProgress& report : taken) {
    if (unwritten_.size() >= most_kept) return;
    unwritten_.try_emplace({report.attempt.id, report.attempt.number}, std::move(report));
  }
}

}  // namespace dogged::runtime
