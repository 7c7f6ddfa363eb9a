// See declared_schedules.hpp.
#include "upkeep/declared_schedules.hpp"

#include <utility>

#include "client/log_event.hpp"
#include "db/connection.hpp"

namespace dogged::runtime {

DeclaredSchedules::DeclaredSchedules(std::string declarations, std::shared_ptr<spdlog::logger> log)
    : declarations_(std::move(declarations)), log_(std::move(log)) {}

void DeclaredSchedules::declare(db::Connection& connection, std::int64_t worker_id) {
  if (declarations_.empty()) return;
  for (const auto& schedule :
       connection.run(sql::DeclareSchedules{.worker_id = worker_id, .declarations = declarations_})) {
    if (schedule.outcome == "created" || schedule.outcome == "changed") {
      log_->log(event("schedule_declared"), spdlog::level::info,
                "schedule {}: {}, as this worker's program declares it: {}", schedule.name, schedule.outcome,
                schedule.in_force);
    }
    tell_of_others(schedule);
  }
}

void DeclaredSchedules::tell_of_others(const sql::DeclareSchedules::Row& schedule) {
  const bool is_outvoted = schedule.outcome == "outvoted";
  if (!is_outvoted && schedule.others == 0) {
    told_.erase(schedule.name);
    return;
  }
  std::string message =
      is_outvoted
          ? "a program that was first seen later declares it otherwise; that declaration counts: "
          : "workers of an older program declare it otherwise; the declaration of this worker's program counts: ";
  message += schedule.in_force;
  if (std::exchange(told_[schedule.name], message) == message) return;
  if (is_outvoted) {
    log_->log(event("schedule_outvoted"), spdlog::level::warn, "schedule {}: {}", schedule.name, message);
  } else {
    log_->log(event("schedule_outvotes"), spdlog::level::warn, "schedule {}: {}", schedule.name, message);
  }
}

}  // namespace dogged::runtime
