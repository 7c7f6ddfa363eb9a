// Writes how attempts ended, in batches, on a connection and a thread of its own. No timer: while one batch is being
// written the next one gathers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include <spdlog/logger.h>

#include "claimed_task.hpp"
#include "service_thread.hpp"
#include "session.hpp"

namespace dogged::runtime {

/// Thread-safe. A report that was given is written, however often the connection breaks, until finish() gives up.
class Completer {
 public:
  /// `on_retry` is told the delay of each scheduled retry, so that this worker wakes when it is due; it and `on_room`,
  /// called after each batch, run on the completer's thread.
  struct Callbacks {
    std::function<void(milliseconds)> on_retry;
    std::function<void()> on_room;
  };

  Completer(Session session, std::int64_t worker_id, Callbacks callbacks, std::shared_ptr<spdlog::logger> log);
  ~Completer();

  void add(Report report);
  /// Reports that are not written yet.
  [[nodiscard]] std::size_t backlog() const;
  /// Ids of the reports that are not written yet.
  [[nodiscard]] std::vector<TaskId> held() const;
  /// Waits until all is written, or the time has come; true if all is.
  bool wait_written(SteadyClock::time_point until);
  /// The same, and ends the thread, giving up the statement under way if need be; gives how many reports could not be
  /// written.
  std::size_t finish(SteadyClock::time_point until);

 private:
  void run();
  bool write(const std::vector<Report>& reports);
  bool write_apart(const std::vector<Report>& reports, const InvalidInput& reason);
  void send(const std::vector<Report>& reports);

  Session session_;
  const std::int64_t worker_id_;
  const Callbacks callbacks_;
  const std::shared_ptr<spdlog::logger> log_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Report> waiting_;
  std::vector<Report> in_flight_;
  bool finishing_ = false;
  bool outcome_in_doubt_ = false;  // the last send may have taken effect before the connection broke
  std::stop_source stop_;
  ServiceThread thread_;  // last: it uses all of the above
};

}  // namespace dogged::runtime
