// Keeps the worker's lease: renews it with a heartbeat, hears what concerns the tasks that the worker holds, and writes
// how far these have come. The keeper's statements look up a few rows by key. The watchdog breaks a statement that is
// held up, in time for another heartbeat.
//
// keeper_plan.hpp decides what the keeper does next. The keeper carries that out.
#pragma once

#include <memory>

#include <dogged/error.hpp>
#include <dogged/task_id.hpp>

#include "base/service.hpp"
#include "base/session.hpp"
#include "base/tally.hpp"
#include "db/clock_offset.hpp"
#include "lease/core/keeper_plan.hpp"
#include "lease/keeper_inbox.hpp"
#include "lease/shared_lease.hpp"

namespace dogged::runtime {

class LeaseKeeper {
 public:
  struct Settings {
    milliseconds heartbeat{5'000};  ///< as in Lease::until_next_renewal
    KeeperPlan::Settings plan = {};
    db::HostClock clock = std::chrono::system_clock::now;
    db::ClockOffset clock_offset = {};  ///< as last measured; each heartbeat sends it, and measures anew
  };

  /// Hears on the keeper's thread what the keeper has found out.
  class Listener {
   public:
    /// The keeper has connected. Notifications from before may have been missed.
    virtual void on_connected() = 0;
    /// A worker has registered.
    virtual void on_worker() = 0;
    /// A schedule was set.
    virtual void on_schedules() = 0;
    /// Whether this worker holds tasks. Only then does the keeper ask for cancellations, and it renews the lease more
    /// often.
    [[nodiscard]] virtual bool holds_tasks() const = 0;
    /// Cancellation was requested of an attempt that this worker runs. Told again until the attempt has ended.
    virtual void on_cancel(TaskId id, int attempt) = 0;
    /// A client waits for the end of a task.
    virtual void on_waiting(TaskId id) = 0;
    /// PostgreSQL refuses to write progress. Told again only after a write has succeeded.
    virtual void on_progress_refused(const Error& error) = 0;
    /// PostgreSQL has answered a renewal.
    virtual void on_lease(Lease::Turn turn) = 0;

   protected:
    ~Listener() = default;
  };

  LeaseKeeper(Service::Settings service, Settings settings, std::shared_ptr<SharedLease> lease, Listener& listener,
              std::shared_ptr<KeeperInbox> inbox, std::shared_ptr<const Tally> tally);

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  [[nodiscard]] db::Connection& connection() { return service_.session().connection(); }
  void run();
  /// Tells the plan what other threads have said meanwhile.
  [[nodiscard]] KeeperPlan::Action next_action();
  void carry_out(const KeeperPlan::Action& action);
  void beat();
  void listen();
  void look_for_cancellations();
  void write_progress();
  void write_last();
  void wait_until(TimePoint until);
  void hear(const db::Notification& notification);

  const Settings settings_;
  const std::shared_ptr<SharedLease> lease_;
  Listener& listener_;
  const std::shared_ptr<KeeperInbox> inbox_;
  const std::shared_ptr<const Tally> tally_;
  KeeperPlan plan_;
  db::ClockOffset clock_offset_;
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
