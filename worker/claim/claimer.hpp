// Claims tasks for the executors, on a thread and a connection of its own. The claimer listens on the same connection,
// so that no other thread or session has to be woken between a notification and the claim.
//
// core/plan.hpp decides the claimer's next action. core/last_release.hpp decides how the claimer gives tasks back after
// its last action. The claimer carries both out. core/sleep.hpp explains how the claimer sleeps, and why no wake-up is
// missed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "base/service.hpp"
#include "base/session.hpp"
#include "base/tally.hpp"
#include "circuits/circuits.hpp"
#include "claim/core/last_release.hpp"
#include "claim/core/plan.hpp"
#include "claim/giving_back.hpp"
#include "claim/handing_out.hpp"
#include "claim/inbox.hpp"
#include "claim/queue_settings.hpp"
#include "lease/shared_lease.hpp"
#include "report/completer.hpp"
#include "run/executors.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Claimer {
 public:
  using Settings = ClaimPlan::Settings;

  struct Surroundings {
    std::shared_ptr<const SharedLease> lease;
    std::shared_ptr<const Definitions> definitions;
    std::shared_ptr<Circuits> circuits;
    std::shared_ptr<ClaimInbox> inbox;
    std::shared_ptr<Completer> completer;
    std::shared_ptr<Executors> executors;
  };

  /// Starts the thread, which claims while the lease is held.
  Claimer(Service::Settings service, const Settings& settings, Surroundings around, const std::shared_ptr<Tally>& tally,
          std::shared_ptr<spdlog::logger> log);

  /// Claims nothing more, and waits for the claim under way.
  void stop() { service_.stop(); }

  /// After stop(): gives back tasks that were not started, and wakes other workers for them. Tries until `until`, when
  /// the watchdog breaks off a statement that still waits, for example for a locked table; false if it failed.
  bool give_back(const std::vector<ClaimedTask>& tasks, TimePoint until);
  /// After give_back(): closes the connection, because nothing reads its notifications any more.
  void disconnect() noexcept { session().close(); }

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  using Action = ClaimPlan::Action;

  [[nodiscard]] Session& session() const noexcept { return service_.session(); }
  [[nodiscard]] db::Connection& connection() const { return session().connection(); }
  void run();
  [[nodiscard]] Action next_action();
  void fail(const std::exception& error);
  [[nodiscard]] ClaimPlan::Capacity capacity() const;
  [[nodiscard]] std::vector<Attempt> held() const;
  void hand_over_circuit_events() const;
  void carry_out(const Action& action);
  void begin_session();
  void listen();
  void hear(const Action& action);
  void give_back_paused(const std::vector<std::size_t>& paused);
  void give_back_stale();
  void look_for_missed(const std::vector<QueueClaim>& drained);
  void ask_due_time();
  void follow_queues();
  void follow(std::size_t index, const QueueSettings& settings, TimePoint now);
  void change_concurrency(Executor& executor, std::size_t concurrency, const QueueSettings& settings);
  void change_retry_budget(Outlet& outlet, const QueueSettings& settings);
  void note_end_of_throttling();
  void claim(const std::vector<QueueClaim>& claims);
  void settle(const Settling::Question& question);
  void sum_up();
  void fall_asleep();
  void carry_out(const LastRelease::Action& action, LastRelease& last, const std::vector<ClaimedTask>& tasks);

  const Surroundings around_;
  const std::shared_ptr<spdlog::logger> log_;
  const std::vector<std::string> names_;  // the tasks that this worker knows
  const std::vector<int> args_versions_;  // for each of names_, the latest that this worker knows
  const std::vector<std::string> queue_names_;
  std::vector<Outlet> outlets_;  // in the order of queue_names_
  ClaimPlan plan_;
  GivingBack giving_back_;
  HandingOut handing_out_;
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
