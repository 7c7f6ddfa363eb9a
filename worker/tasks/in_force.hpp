// The declaration of a task that counts. Upkeep replaces it while other threads apply it, so the cores get the
// declaration itself.
#pragma once

#include <atomic>
#include <deque>
#include <utility>

#include <dogged/detail/mutex.hpp>

#include "tasks/definition.hpp"

namespace dogged::runtime {

/// The declaration that counts: this program's, or that of a worker that started later and declares the task
/// differently. Thread-safe. The declaration that current() gave stays valid.
class InForce {
 public:
  explicit InForce(Declaration declared) { replace_by(std::move(declared)); }

  [[nodiscard]] const Declaration& current() const noexcept { return *current_; }
  void replace_by(Declaration declaration) {
    const detail::Lock lock{mutex_};
    current_ = &all_.emplace_back(std::move(declaration));
  }

 private:
  detail::Mutex mutex_;
  std::deque<Declaration> all_
      DOGGED_GUARDED_BY(mutex_);  // few: one for each deployment that changes a policy while this process runs
  std::atomic<const Declaration*> current_{nullptr};
};

}  // namespace dogged::runtime
