// Writes how attempts ended, in batches, on a connection and a thread of its own. No timer: while one batch is being
// written the next one gathers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include <spdlog/logger.h>

#include "awaited.hpp"
#include "circuits.hpp"
#include "claimed_task.hpp"
#include "lease.hpp"
#include "service_thread.hpp"
#include "session.hpp"
#include "tally.hpp"

namespace dogged::runtime {

/// Thread-safe. A report that was given is written, however often the connection breaks, until finish() gives up: what
/// is finished while the server is away is kept, and that is never more than the worker holds. A report on a task that
/// the worker does not hold any more changes nothing; it is counted and logged.
class Completer {
 public:
  /// Called on the completer's thread.
  struct Callbacks {
    std::function<void(SteadyClock::duration)> on_retry;  ///< how long it is until one that was scheduled is due
    std::function<void()> on_ready;                       ///< some tasks of the last batch are ready again
    std::function<void()> on_room;                        ///< when it has become ready, and after each batch
  };

  /// `lease` and `circuits` must outlive it.
  Completer(Session session, Lease& lease, Circuits& circuits, Callbacks callbacks, std::shared_ptr<Tally> tally,
            std::shared_ptr<spdlog::logger> log);
  ~Completer();

  void add(Report report);
  /// Whether ends can be recorded: before that nothing should be claimed.
  [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }
  /// Reports that are not written yet.
  [[nodiscard]] std::size_t backlog() const;
  /// The attempts whose reports are not written yet.
  [[nodiscard]] std::vector<Attempt> held() const;
  /// Somebody waits for the end of a task: he is notified if it ends here.
  void note_awaited(TaskId id) { awaited_.note(id, SteadyClock::now()); }
  /// The lease is not lapsed any more: while it is, nothing is sent.
  void look_again();
  /// Waits until all is written, or the time has come; true if all is.
  bool wait_written(SteadyClock::time_point until);
  /// The same, and ends the thread, giving up the statement under way if need be; gives how many reports could not be
  /// written.
  std::size_t finish(SteadyClock::time_point until);

  /// As Session::abort_if_busy_for.
  SteadyClock::time_point abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept {
    return session_.abort_if_busy_for(patience, now);
  }

 private:
  void run();
  bool get_ready();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  bool write(const std::vector<Report>& reports, std::vector<Report>& again);
  bool write_apart(const std::vector<Report>& reports, std::vector<Report>& again, const InvalidInput& reason);
  void send(const std::vector<Report>& reports, std::vector<Report>& again);
  void clear_locks(const std::vector<Report>& reports);
  void note_taken(const Report& report, SteadyClock::time_point sent_at);
  void tell_circuits();
  void notify_awaiting();
  void explain(const std::vector<Report>& not_taken, std::vector<Report>& again);
  [[nodiscard]] bool is_on_record(const Report& report, const db::Row& row) const;

  Session session_;
  Lease& lease_;
  Circuits& circuits_;
  const Callbacks callbacks_;
  const std::shared_ptr<Tally> tally_;
  const std::shared_ptr<spdlog::logger> log_;

  std::atomic<bool> is_ready_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Report> waiting_;
  std::vector<Report> in_flight_;
  bool finishing_ = false;
  SteadyClock::time_point tell_circuits_at_ = SteadyClock::time_point::max();  // of the completer's thread alone
  bool has_ready_ = false;  // of its thread alone: among what the last batch has scheduled
  bool has_failed_ =
      false;  // of its thread alone: a sending of the present batch, which may have left its name on rows
  std::vector<TaskId> ended_;  // of its thread alone: of the last batch, while somebody waits for some task
  Awaited awaited_;
  std::stop_source stop_;
  ServiceThread thread_;  // last: it uses all of the above
};

}  // namespace dogged::runtime
