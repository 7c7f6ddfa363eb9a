// The upkeep of a worker without tasks, by itself.
#pragma once

#include <memory>
#include <utility>

#include "base/session.hpp"
#include "support/test_database.hpp"
#include "upkeep/declared_schedules.hpp"
#include "upkeep/upkeep.hpp"

namespace dogged::test {

[[nodiscard]] inline std::unique_ptr<runtime::Upkeep> start_upkeep(const TestDatabase& database,
                                                                   const runtime::UpkeepPlan::Settings& settings,
                                                                   std::shared_ptr<const runtime::SharedLease> lease,
                                                                   const std::shared_ptr<spdlog::logger>& log) {
  return std::make_unique<runtime::Upkeep>(
      runtime::Service::Settings{.session = std::make_shared<runtime::Session>(database.settings(), "upkeep", log)},
      settings, std::move(lease), std::make_shared<const runtime::Definitions>(),
      std::make_shared<runtime::ClaimInbox>(), std::make_shared<runtime::DeclaredSchedules>("", log),
      runtime::AttemptLog{log});
}

}  // namespace dogged::test
