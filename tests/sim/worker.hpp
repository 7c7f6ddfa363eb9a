// A worker process of the simulation: the real cores (ClaimPlan, ReportBatch, Lease, Agenda, Incarnation) against the
// model instead of PostgreSQL. The network between them loses requests and answers, and delivers statements late.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "claim/plan.hpp"
#include "database.hpp"
#include "lease/lease.hpp"
#include "report/batch.hpp"
#include "runtime/incarnation.hpp"
#include "scheduler.hpp"
#include "upkeep/agenda.hpp"

namespace dogged::sim {

inline constexpr milliseconds lease_length{3'000};

/// In the calm after faults: later than it is due no task begins. Less than half of the workers' poll interval.
inline constexpr milliseconds latest_begin{900};

/// How much goes wrong. All zero once faults have stopped.
struct Faults {
  int lost_request = 0;  // percent of statements
  int lost_answer = 0;
  int late_statement = 0;
  int failing_attempts = 0;  // percent of attempts
  int long_attempts = 0;
  int failures_for_good = 0;  // percent of attempts that fail
  int late_wake_ups = 0;      // percent of those statements, also in the calm
};

/// Shared by all workers of a run.
struct World {
  Scheduler& scheduler;
  Database& database;
  Mutant mutant = Mutant::none;
  Faults faults = {};
  TimePoint server_is_back_at = {};
  std::map<std::pair<TaskId, int>, TimePoint> begun = {};         // attempts, and when their handlers began
  bool retries_are_timely = false;                                // from here on
  std::map<std::pair<TaskId, int>, TimePoint> begins_until = {};  // such retries
  std::set<TaskId> half_lost = {};  // tasks of which a failover has lost something: an attempt may begin again
  TimePoint lost_renewals_until{};  // a failover has lost renewals: workers hold leases that others may end
  bool traces_steps = false;        // of claimers as well
  std::function<void(const std::string&)> trace = [](const std::string&) {};
};

class Worker {
 public:
  Worker(World& world, int number, std::vector<std::string> queues);

  /// kill -9: all knowledge is gone, and statements under way may still arrive. The worker starts anew after `delay`.
  void crash(Duration delay);
  /// The worker stands still for `time`: statements' answers and notifications wait.
  void freeze(Duration time);
  /// All its connections are lost, and so are the notifications under way.
  void lose_server();
  /// The claimer's connection breaks, if the claimer waits on it.
  void break_connection();
  /// Notifications that are under way to it are lost.
  void lose_notifications() { heard_.clear(); }
  [[nodiscard]] bool holds_any() const {
    return life_.has_value() && (!waiting_.empty() || !running_.empty() || !reports_.empty());
  }
  void notify(std::int64_t lease, const std::string& queue);
  /// The settings of queues have changed.
  void tell_queues_changed();

 private:
  struct Held {
    std::size_t queue = 0;  // its index
    TaskId id = 0;
    int attempt = 0;
    int retry_count = 0;
    TimePoint claimed_at{};
  };
  /// The services under one lease. Events for an earlier life are not delivered.
  struct Life {
    Life(std::int64_t id, bool is_again, TimePoint now);
    runtime::Lease lease;
    runtime::Incarnation incarnation;
    runtime::Agenda agenda;
    std::vector<runtime::Attempt> unstarted = {};  // taken from the executor, to be given back
    TimePoint drains_until = runtime::never;       // tasks and reports that are left then are rescued
  };

  void start(std::optional<std::int64_t> previous = std::nullopt);
  void end_life();
  void later(Duration delay, std::function<void()> what);
  /// Asks the database: `execute` runs there, and gives what the worker does with the answer. `fails` runs in the
  /// worker where no answer comes.
  void ask(std::function<std::function<void()>()> execute, std::function<void()> fails);
  [[nodiscard]] std::int64_t lease_id() const { return life_->lease.id(); }
  [[nodiscard]] TimePoint now() const { return world_.scheduler.now(); }

  void claimer_step();
  void claimer_continue() {
    later(std::chrono::microseconds{world_.scheduler.pick(1, 50)}, [this] { claimer_step(); });
  }
  void ask_claimer(std::function<std::function<void()>()> execute);
  void claimer_failed();
  void carry_out(const runtime::ClaimPlan::Action& action);
  void hear(const runtime::ClaimPlan::Action& action);
  void claim(const std::vector<runtime::QueueClaim>& claims);
  void settle(const runtime::Settling::Question& question);
  void give_back_stale();
  [[nodiscard]] std::vector<TaskId> release(std::int64_t lease, const std::vector<runtime::Attempt>& attempts,
                                            std::int64_t session) const;
  [[nodiscard]] std::vector<runtime::Attempt> held() const;
  [[nodiscard]] runtime::ClaimPlan::Capacity capacity() const;
  void wake_claimer();

  void begin_tasks();
  void end_task(const Held& task);
  void take_report(runtime::Report report);
  [[nodiscard]] runtime::Report report_of(const Held& task, lifecycle::Outcome outcome) const;

  void completer_step();
  void send();
  void explain();
  void batch_goes_on();

  void keeper_step();
  void watch_lease();
  void look_at_lease();

  void give_back();
  void interrupt();
  void begin_again_when_written();

  void upkeep_step();
  void upkeep_goes_on(const runtime::Outlook& found, bool left_tasks);
  void upkeep_waits();
  void ask_upkeep(std::function<std::function<void()>()> execute);

  [[nodiscard]] Queues queue_set() const { return {queues_.begin(), queues_.end()}; }

  World& world_;
  const int number_;
  const std::vector<std::string> queues_;
  TimePoint frozen_until_{};
  std::int64_t lives_ = 0;
  std::int64_t connections_ = 0;        // an answer on an earlier one is lost
  bool claimer_has_connection_ = true;  // false: it is lost, and the claimer has not noticed
  std::optional<Life> life_;

  std::unique_ptr<runtime::ClaimPlan> plan_;
  runtime::ClaimInbox::Told told_;
  bool claimer_waits_ = false;
  bool claimer_has_ended_ = false;
  bool waits_for_room_ = false;
  std::uint64_t waits_ = 0;
  std::vector<std::string> heard_;  // notifications, by queue
  bool queues_told_ = false;

  std::deque<Held> waiting_;
  std::vector<Held> running_;
  std::vector<runtime::Report> reports_;  // that wait
  std::vector<runtime::Attempt> in_flight_;
  std::optional<runtime::ReportBatch> batch_;
};

}  // namespace dogged::sim
