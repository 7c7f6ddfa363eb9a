// The services of one incarnation, and their messages to one another.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/service.hpp"
#include "claim/claimer.hpp"
#include "db/clock_offset.hpp"
#include "lease/lease_keeper.hpp"
#include "report/completer.hpp"
#include "run/executors.hpp"
#include "runtime/common.hpp"
#include "runtime/watchdog.hpp"
#include "upkeep/chores.hpp"
#include "upkeep/upkeep.hpp"

namespace dogged::runtime {

class Circuits;
class ClaimInbox;
class HandlerSession;
class KeeperInbox;
class Steps;

/// A member for each part of an incarnation. The services run from the constructor to the destructor. The members are
/// destroyed from last to first, so a service stops before the parts that it uses are gone.
class Services final : public Executor::Listener, public LeaseKeeper::Listener {
 public:
  /// `is_again`: an earlier incarnation of this process has run.
  Services(std::shared_ptr<Common> common, std::shared_ptr<SharedLease> lease, const db::ClockOffset& clock_offset,
           bool is_again);
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  [[nodiscard]] const std::shared_ptr<Executors>& executors() const noexcept { return executors_; }

  // The steps of a shutdown, for one thread.

  void stop_claiming();
  struct GivenBack {
    std::size_t tasks = 0;
    bool was_written = false;
  };
  /// Gives back the claimed tasks that have not begun.
  [[nodiscard]] GivenBack give_back(TimePoint until);
  /// Adds to the reports that the completer writes.
  void report(Report&& report) { on_report(std::move(report)); }
  /// False if some are not written by then.
  [[nodiscard]] bool write_reports(TimePoint until);
  /// Ends the completer. Gives how many reports could not be written.
  [[nodiscard]] std::size_t finish_reports(TimePoint until);

 private:
  [[nodiscard]] Service::Settings service(Part part);
  [[nodiscard]] std::function<void(std::exception_ptr)> defect_of(std::string_view name);
  [[nodiscard]] std::shared_ptr<Executors> make_executors();
  [[nodiscard]] AttemptLog attempt_log() const;
  [[nodiscard]] TimePoint watch(TimePoint now);
  void log(Lease::Turn turn) const;

  // Executor::Listener
  void on_report(Report&& report) override;
  void on_deadline(TimePoint deadline) override;
  void on_expired() override;
  void on_defect(std::exception_ptr error) override;

  // LeaseKeeper::Listener
  void on_connected() override;
  void on_worker() override;
  void on_schedules() override;
  [[nodiscard]] bool holds_tasks() const override;
  void on_cancel(TaskId id, int attempt) override;
  void on_waiting(TaskId id) override;
  void on_progress_refused(const Error& error) override;
  void on_lease(Lease::Turn turn) override;

  const std::shared_ptr<Common> common_;
  const std::shared_ptr<SharedLease> lease_;
  const std::shared_ptr<Circuits> circuits_;
  const std::shared_ptr<ClaimInbox> inbox_;
  const std::shared_ptr<Completer> completer_;
  Watchdog watchdog_;
  const std::shared_ptr<HandlerSession> handlers_;
  const std::shared_ptr<Steps> steps_;
  const std::shared_ptr<KeeperInbox> keeper_inbox_;
  const std::shared_ptr<Executors> executors_;
  Claimer claimer_;
  Upkeep upkeep_;
  Chores chores_;
  LeaseKeeper keeper_;
};

}  // namespace dogged::runtime
