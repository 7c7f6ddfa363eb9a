// A worker's status: whether it works, its lease, and how busy its queues are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/failures.hpp"
#include "base/tally.hpp"
#include "lease/shared_lease.hpp"
#include "run/executors.hpp"

namespace dogged::runtime {

struct WorkerStatus {
  enum class State {
    starting,   ///< the worker connects, and registers itself
    running,    ///< the worker claims tasks
    stopping,   ///< the worker claims no more, and lets running attempts finish
    beginning,  ///< the worker's lease was lost, and the worker registers itself again
    ended,
  };
  struct LeaseStatus {
    std::int64_t id = 0;  ///< workers.id
    Lease::State state = Lease::State::held;
    milliseconds length{0};
    milliseconds left{0};           ///< until it lapses; 0 if it has
    milliseconds since_renewal{0};  ///< since the last renewal that PostgreSQL answered was asked for
  };
  struct Queue {
    std::string name;
    Executor::Load load;
  };

  std::string name;
  State state = State::starting;
  milliseconds heartbeat{0};
  std::optional<LeaseStatus> lease = {};  ///< none before it is registered
  std::vector<Queue> queues = {};         ///< while it runs or stops
  /// The last errors of services that fail now, by their names.
  std::map<std::string, std::string> failures = {};
  std::int64_t fenced = 0;
  int abandoned_threads = 0;
};

[[nodiscard]] std::string_view to_text(WorkerStatus::State state) noexcept;

/// Why the worker claims no tasks now, or is about to lose them; nothing if it works.
[[nodiscard]] std::optional<std::string> why_not_ready(const WorkerStatus& status);

/// Where the parts of a worker note how it stands, and other threads read it. Thread-safe.
class StatusBoard {
 public:
  StatusBoard(std::string name, milliseconds heartbeat) : name_(std::move(name)), heartbeat_(heartbeat) {}

  void note(WorkerStatus::State state);
  /// The worker runs with this lease and these executors, which are read until rests() is called.
  void serves(std::shared_ptr<const SharedLease> lease, std::shared_ptr<const Executors> executors);
  void rests();

  [[nodiscard]] WorkerStatus read(TimePoint now) const;
  [[nodiscard]] const std::shared_ptr<Tally>& tally() const noexcept { return tally_; }
  /// Of the services without which the worker claims nothing, or loses its lease.
  [[nodiscard]] const std::shared_ptr<Failures>& failures() const noexcept { return failures_; }

 private:
  const std::string name_;
  const milliseconds heartbeat_;
  const std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
  mutable detail::Mutex mutex_;
  WorkerStatus::State state_ DOGGED_GUARDED_BY(mutex_) = WorkerStatus::State::starting;
  std::shared_ptr<const SharedLease> lease_ DOGGED_GUARDED_BY(mutex_);
  std::shared_ptr<const Executors> executors_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
