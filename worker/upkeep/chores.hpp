// Work for all workers that is not urgent and may take long. Chores make the partitions of the coming days, drop days
// that are no longer kept, and delete rows of no further use.
#pragma once

#include <memory>

#include <spdlog/logger.h>

#include "base/service.hpp"
#include "retention/step.hpp"
#include "upkeep/core/chores_plan.hpp"

namespace dogged::runtime {

/// Chores have a thread of their own: a statement of retention may take two minutes, and rescues and ticks cannot wait
/// for it. The thread has a connection only during a round. Any worker does chores; two workers share them.
/// Thread-safe.
class Chores {
 public:
  Chores(Service::Settings service, const ChoresPlan::Settings& settings, std::shared_ptr<spdlog::logger> log);

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  void run();
  void carry_out(const ChoresPlan::Action& action);
  void make_partitions();
  void apply_retention(retention::Extent extent);
  void tidy();

  const std::shared_ptr<spdlog::logger> log_;
  ChoresPlan plan_;
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
