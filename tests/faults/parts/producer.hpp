// Enqueues the tasks of a run at a steady rate, and emits the events that they wait for, on a thread of its own. A call
// that is repeated until the server is back does not hold up the schedule.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <dogged/client.hpp>

#include "checker.hpp"

namespace dogged::faults {

class Producer {
 public:
  struct Settings {
    std::string url;
    std::uint64_t seed = 0;  ///< of the tasks
    int tasks_per_second = 40;
  };

  /// Begins at once.
  explicit Producer(Settings settings);

  /// Ends the producer after the present call. Throws the error that has ended it before. From now on the enqueued
  /// tasks are final.
  void stop();

  /// The acknowledged ids by key, the tasks that were met instead, and the keys of calls without an answer in the end.
  /// Only after stop().
  [[nodiscard]] const std::map<std::int64_t, TaskId>& enqueued() const noexcept { return enqueued_; }
  [[nodiscard]] const std::map<std::int64_t, Met>& met() const noexcept { return met_; }
  [[nodiscard]] const std::vector<std::int64_t>& in_doubt() const noexcept { return in_doubt_; }

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  void enqueue(std::int64_t first, std::int64_t last);
  void note(std::int64_t key, const NewTask& task, const Enqueued& enqueued);
  void emit_due_events();

  const Settings settings_;
  std::optional<Client> client_;
  std::map<std::int64_t, TaskId> enqueued_;
  std::map<std::int64_t, Met> met_;
  std::vector<std::int64_t> in_doubt_;
  std::multimap<Clock::time_point, std::string> events_;  ///< to come
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace dogged::faults
