// Writes how attempts ended, in batches, on a thread and a connection of its own. There is no timer: the next batch
// gathers while one is being written. Between the batches the completer writes the news that attempts and given back
// tasks have of their circuits.
//
// completer_plan.hpp decides what is done next, batches.hpp what is sent together, and batch.hpp how a batch gets on
// record. circuits/ledger.hpp decides when events of circuits are written. The completer carries that out.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <spdlog/logger.h>

#include "base/service.hpp"
#include "base/tally.hpp"
#include "circuits/circuits.hpp"
#include "lease/shared_lease.hpp"
#include "report/awaited.hpp"
#include "report/core/batch.hpp"
#include "report/core/completer_plan.hpp"
#include "report/listener.hpp"
#include "report/queue.hpp"
#include "report/recorded.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged {
class InvalidInput;
}

namespace dogged::runtime {

/// Thread-safe. A report is written, however often the connection breaks, until finish() gives up. While the server is
/// away the completer keeps the reports, which are never more than the worker holds. A report on a task that the worker
/// does not hold any more changes nothing; it is counted and logged.
class Completer {
 public:
  Completer(Service::Settings service, std::shared_ptr<const SharedLease> lease, std::shared_ptr<Circuits> circuits,
            std::shared_ptr<ReportListener> listener, std::shared_ptr<Tally> tally, AttemptLog log);
  ~Completer();

  void add(Report&& report) { queue_.add(std::move(report)); }
  /// Whether ends can be recorded. Before that nothing should be claimed.
  [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }
  /// Reports that are not written yet.
  [[nodiscard]] std::size_t backlog() const { return queue_.size(); }
  /// The attempts whose reports are not written yet.
  [[nodiscard]] std::vector<Attempt> held() const { return queue_.held(); }
  /// A client waits for the end of a task, and is notified if the task ends here.
  void note_awaited(TaskId id) { awaited_.note(id, SteadyClock::now()); }
  /// The lease is not lapsed any more. While the lease is lapsed, no report is sent.
  void note_lease_decided() { queue_.note_news(); }
  /// The claimer has noted events of circuits, which the completer writes.
  void note_circuit_events() { queue_.note_news(); }
  /// Waits until all reports are written, or until `until`. True if all are.
  bool wait_written(TimePoint until) { return queue_.wait_empty(until); }
  /// As wait_written(), then ends the thread, and gives up the statement under way if need be. Gives how many reports
  /// could not be written.
  std::size_t finish(TimePoint until);

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  /// The effects of a written batch.
  struct Effects {
    bool has_ready = false;          ///< some tasks run again at once
    std::vector<TaskId> ended = {};  ///< collected while a client waits for some task
  };

  [[nodiscard]] Session& session() const noexcept { return service_.session(); }
  void run();
  [[nodiscard]] CompleterPlan::Action next_action();
  void carry_out(const CompleterPlan::Action& action);
  void prove();
  void write_batch();
  [[nodiscard]] bool write(ReportBatch& batch, Effects& effects);
  void carry_out(ReportBatch& batch);
  void send(ReportBatch& batch);
  void explain(ReportBatch& batch);
  void note_refused(ReportBatch& batch, const InvalidInput& error);
  void clear_locks(const std::vector<TaskId>& ids);
  void note_taken(const ReportBatch::Taken& taken, Effects& effects);
  void write_circuits();
  void notify_awaiting(const std::vector<TaskId>& ended);

  const std::shared_ptr<const SharedLease> lease_;
  const std::shared_ptr<Circuits> circuits_;
  const std::shared_ptr<ReportListener> listener_;
  const std::shared_ptr<Tally> tally_;
  const std::shared_ptr<spdlog::logger> log_;
  const AttemptLog attempt_log_;
  std::atomic<bool> is_ready_{false};
  ReportQueue queue_;
  CompleterPlan plan_;
  Awaited awaited_;
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
