// The urgent work that every worker does for all workers. Upkeep ends lapsed leases and rescues the tasks held under
// them. Upkeep fires the ticks of schedules, and ends expired tasks. Upkeep logs when another worker declares a task or
// a schedule differently. plan.hpp decides when. chores.hpp has the work that may take long.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/logger.h>

#include "base/core/told_once.hpp"
#include "base/service.hpp"
#include "base/session.hpp"
#include "claim/inbox.hpp"
#include "lease/shared_lease.hpp"
#include "report/recorded.hpp"
#include "tasks/definition_fwd.hpp"
#include "upkeep/adopted_declarations.hpp"
#include "upkeep/core/plan.hpp"
#include "upkeep/declared_schedules.hpp"
#include "upkeep/inbox.hpp"
#include "upkeep/rescue.hpp"

namespace dogged::runtime {

/// Thread-safe. The class has 14 members. Five are parts of the worker that upkeep uses, and one is a setting. Three
/// are the plan, its inbox and its service. Five are notes that one turn leaves for the next.
class Upkeep {
 public:
  /// `lease` is the worker's own. Upkeep tells the claimer, by its inbox, that rescued tasks are ready.
  Upkeep(Service::Settings service, const UpkeepPlan::Settings& settings, std::shared_ptr<const SharedLease> lease,
         std::shared_ptr<const Definitions> definitions, std::shared_ptr<ClaimInbox> claimer,
         std::shared_ptr<DeclaredSchedules> schedules, AttemptLog log);

  /// A worker has registered. The new lease may lapse before any other, and the new worker's declarations may differ.
  void look() noexcept;
  /// A schedule was set, and may be due before any other.
  void note_schedules() noexcept;

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  [[nodiscard]] db::Connection& connection() { return service_.session().connection(); }
  void run();
  [[nodiscard]] UpkeepPlan::Action next_action();
  void carry_out(const UpkeepPlan::Action& action);
  void fire_ticks();
  void ask(std::optional<milliseconds> look_back);
  void rescue();
  void expire(std::optional<milliseconds> look_back);
  void compare();
  /// Runs `work`, which PostgreSQL may refuse while the connection is as good as before. False if PostgreSQL has
  /// refused it. Each reason is logged once, as the event `refused`, until `work` succeeds. `told`: these reasons.
  template <class Work>
  [[nodiscard]] bool try_to(spdlog::source_loc refused, std::string_view what, ToldOnce& told, Work work);
  /// Logs each reason once for each worker, until all are rescued: every worker tries again four times a second. Logs
  /// no further ones after ToldOnce::most.
  void tell_of_refusals(const Rescued& rescued);
  void tell_of_expired();

  const std::shared_ptr<const SharedLease> lease_;
  const std::shared_ptr<ClaimInbox> claimer_;
  const std::shared_ptr<spdlog::logger> log_;
  const AttemptLog attempt_log_;
  const milliseconds heartbeat_;
  UpkeepInbox inbox_;
  UpkeepPlan plan_;
  ToldOnce told_of_ticks_;
  ToldOnce told_of_comparisons_;
  ToldOnce told_of_rescues_;                                             // workers and reasons
  std::map<std::pair<std::string, std::string>, std::int64_t> expired_;  // by task and queue: ended, and not yet logged
  AdoptedDeclarations declarations_;
  const std::shared_ptr<DeclaredSchedules> schedules_;
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
