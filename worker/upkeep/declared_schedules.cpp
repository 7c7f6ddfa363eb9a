// See declared_schedules.hpp.
#include "upkeep/declared_schedules.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <dogged/error.hpp>

#include "client/log_event.hpp"
#include "db/connection.hpp"

namespace dogged::runtime {
namespace {

constexpr std::string_view lock_not_available = "55P03";

}  // namespace

DeclaredSchedules::DeclaredSchedules(std::string declarations, std::shared_ptr<spdlog::logger> log)
    : declarations_(std::move(declarations)), log_(std::move(log)) {}

bool DeclaredSchedules::declare(db::Connection& connection, std::int64_t worker_id) {
  if (declarations_.empty()) return true;
  std::vector<sql::DeclareSchedules::Row> declared;
  try {
    declared = connection.run(sql::DeclareSchedules{.worker_id = worker_id, .declarations = declarations_});
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != lock_not_available) throw;
    if (std::exchange(is_told_of_lock_, true)) return false;
    log_->log(event("schedules_locked"), spdlog::level::warn,
              "the schedules of this worker's program are not declared yet: another transaction has locked a schedule, "
              "or other workers are declaring theirs");
    return false;
  }
  is_told_of_lock_ = false;
  for (const auto& schedule : declared) {
    if (schedule.outcome == "created" || schedule.outcome == "changed") {
      log_->log(event("schedule_declared"), spdlog::level::info,
                "schedule {}: {}, as this worker's program declares it: {}", schedule.name, schedule.outcome,
                schedule.in_force);
    }
    tell_of_others(schedule);
  }
  return true;
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
