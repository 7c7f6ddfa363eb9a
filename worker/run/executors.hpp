// The executors of a worker, one for each queue that it serves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/executor.hpp"

namespace dogged::runtime {

/// Thread-safe. Each call does for all executors what Executor's call of that name does for one.
class Executors {
 public:
  /// Called before any other thread uses this.
  void add(std::unique_ptr<Executor> executor) { all_.push_back(std::move(executor)); }

  [[nodiscard]] const std::vector<std::unique_ptr<Executor>>& all() const noexcept { return all_; }
  [[nodiscard]] std::vector<std::string> queues() const;

  [[nodiscard]] bool holds_any() const;
  [[nodiscard]] std::vector<Attempt> held() const;
  [[nodiscard]] std::vector<ClaimedTask> take_expired();
  [[nodiscard]] std::vector<ClaimedTask> take_back();
  [[nodiscard]] std::vector<ClaimedTask> take_back_older_than(milliseconds age);
  bool wait_idle(TimePoint until);
  void stop_all(StopReason reason);
  void cancel(TaskId id, int attempt);
  TimePoint enforce_deadlines(TimePoint now);
  [[nodiscard]] std::vector<Report> give_up_all();

 private:
  /// The results of `give` for each executor, joined.
  template <class Give>
  [[nodiscard]] auto joined(Give give) const;

  std::vector<std::unique_ptr<Executor>> all_;
};

}  // namespace dogged::runtime
