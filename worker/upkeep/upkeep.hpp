// The urgent work that every worker does for all workers. Upkeep ends lapsed leases and rescues the tasks held under
// them. Upkeep fires the ticks of schedules, and ends expired tasks. Upkeep logs when another worker declares a task or
// a schedule differently. agenda.hpp decides when. chores.hpp has the work that may take long.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <spdlog/logger.h>

#include "claim/inbox.hpp"
#include "lease/lease.hpp"
#include "report/recorded.hpp"
#include "runtime/service.hpp"
#include "runtime/session.hpp"
#include "tasks/definition_fwd.hpp"
#include "upkeep/adopted_declarations.hpp"
#include "upkeep/agenda.hpp"
#include "upkeep/declared_schedules.hpp"
#include "upkeep/rescue.hpp"
#include "upkeep/tick_agenda.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Upkeep {
 public:
  /// `lease` is the worker's own. Upkeep tells the claimer, by its inbox, that rescued tasks are ready.
  Upkeep(Service::Settings service, const Agenda::Settings& settings, std::shared_ptr<const Lease> lease,
         std::shared_ptr<const Definitions> definitions, std::shared_ptr<ClaimInbox> claimer,
         std::shared_ptr<DeclaredSchedules> schedules, AttemptLog log);

  /// A worker has registered. The new lease may lapse before any other, and the new worker's declarations may differ.
  void look() noexcept;
  /// A schedule was set, and may be due before any other.
  void note_schedules() noexcept;

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  struct Look {
    TimePoint asked_at;
    std::optional<milliseconds> looked_back;  ///< for expired tasks
    Outlook found;
  };

  [[nodiscard]] db::Connection& connection() { return service_.session().connection(); }
  void run();
  /// False if it has not asked the server.
  bool step();
  void look_after_all();
  /// Runs `work`, a failure of which must not keep dead workers' tasks from being rescued. False if it has failed. Each
  /// reason is logged once, as the event `failed`, until `work` succeeds.
  template <class Work>
  [[nodiscard]] bool try_to(spdlog::source_loc failed, std::string_view what, Work work);
  [[nodiscard]] Look look_and_rescue();
  /// Logs each reason once for each worker, until all are rescued: every worker tries again four times a second.
  void tell_of_refusals(const Rescued& rescued);
  void fire_ticks();
  /// During long work: looks if a look is due. False if the work must end.
  bool goes_on();
  [[nodiscard]] Look ask();
  void expire(const Look& look);
  /// False while other transactions keep the schedules locked.
  [[nodiscard]] bool compare();

  const std::shared_ptr<const Lease> lease_;
  const std::shared_ptr<ClaimInbox> claimer_;
  const std::shared_ptr<spdlog::logger> log_;
  const AttemptLog attempt_log_;
  Agenda agenda_;
  TickAgenda ticks_{{}};
  std::map<std::string, std::string> told_;                       // of works that fail, by their event: the last reason
  std::set<std::pair<std::int64_t, std::string>> told_refusals_;  // worker and reason without digits
  std::atomic<bool> must_look_{false};
  std::atomic<bool> schedules_changed_{false};
  AdoptedDeclarations declarations_;
  const std::shared_ptr<DeclaredSchedules> schedules_;
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
