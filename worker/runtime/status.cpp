// See status.hpp.
#include "runtime/status.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "text/duration.hpp"

namespace dogged::runtime {
namespace {

WorkerStatus::LeaseStatus status_of(const Lease& lease, TimePoint now) {
  const auto in_ms = [](auto duration) { return std::chrono::duration_cast<milliseconds>(duration); };
  return {.id = lease.id(),
          .state = lease.state(),
          .length = lease.length(),
          .left = std::max(in_ms(lease.held_until() - now), milliseconds{0}),
          .since_renewal = in_ms(now - lease.renewed_at())};
}

std::optional<std::string> why_it_does_not_work(const WorkerStatus& status) {
  const WorkerStatus::LeaseStatus& lease = *status.lease;
  const std::string silence = duration_to_text(lease.since_renewal);
  if (lease.state == Lease::State::ended) return "another worker has ended its lease";
  if (lease.state == Lease::State::lapsed || lease.left == milliseconds{0}) {
    return "its lease has lapsed: PostgreSQL has answered no heartbeat for " + silence;
  }
  if (!status.failures.empty()) {
    const auto& [service, why] = *status.failures.begin();
    return service + ": " + why;
  }
  // A network that loses everything gives no error. Without tasks every other heartbeat is left out.
  if (lease.since_renewal > 3 * status.heartbeat) {
    return "PostgreSQL has answered no heartbeat for " + silence + "; the lease lapses in " +
           duration_to_text(lease.left);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_text(WorkerStatus::State state) noexcept {
  switch (state) {
    case WorkerStatus::State::starting:
      return "starting";
    case WorkerStatus::State::running:
      return "running";
    case WorkerStatus::State::stopping:
      return "stopping";
    case WorkerStatus::State::beginning:
      return "beginning";
    case WorkerStatus::State::ended:
      return "ended";
  }
  return "unknown";
}

std::optional<std::string> why_not_ready(const WorkerStatus& status) {
  switch (status.state) {
    case WorkerStatus::State::starting:
      return "it is not registered yet: it connects to PostgreSQL";
    case WorkerStatus::State::stopping:
      return "it stops, and claims no more";
    case WorkerStatus::State::beginning:
      return "its lease was lost, and it registers itself again";
    case WorkerStatus::State::ended:
      return "it has ended";
    case WorkerStatus::State::running:
      break;
  }
  return why_it_does_not_work(status);
}

void StatusBoard::note(WorkerStatus::State state) {
  const detail::Lock lock{mutex_};
  state_ = state;
}

void StatusBoard::serves(std::shared_ptr<const SharedLease> lease, std::shared_ptr<const Executors> executors) {
  const detail::Lock lock{mutex_};
  state_ = WorkerStatus::State::running;
  lease_ = std::move(lease);
  executors_ = std::move(executors);
}

void StatusBoard::rests() {
  const detail::Lock lock{mutex_};
  executors_.reset();
}

/// Keeps the lock while it reads, and no reference to the executors, which would then outlive their services.
WorkerStatus StatusBoard::read(TimePoint now) const {
  WorkerStatus status{.name = name_, .heartbeat = heartbeat_};
  status.fenced = tally_->fenced;
  status.abandoned_threads = tally_->abandoned_threads;
  status.failures = failures_->read();
  const detail::Lock lock{mutex_};
  status.state = state_;
  if (lease_) status.lease = status_of(lease_->get(), now);
  if (!executors_) return status;
  for (const auto& executor : executors_->all()) status.queues.push_back({executor->queue(), executor->load()});
  return status;
}

}  // namespace dogged::runtime
