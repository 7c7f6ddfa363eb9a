// Work for all workers that is not urgent and may take long. Chores make the partitions of the coming days, drop days
// that are no longer kept, and delete rows of no further use.
#pragma once

#include <memory>

#include <spdlog/logger.h>

#include "base/service.hpp"
#include "base/time.hpp"
#include "retention/retention.hpp"

namespace dogged::runtime {

/// Chores have a thread of their own: a statement of retention may take two minutes, and rescues and ticks cannot wait
/// for it. The thread has a connection only during a round. Any worker does chores; two workers share them.
/// Thread-safe.
class Chores {
 public:
  struct Settings {
    milliseconds first{60'000};          ///< after the start
    milliseconds interval{3'600'000};    ///< after a round that left nothing to do
    milliseconds again_if_left{60'000};  ///< after a round that left something to do
  };

  Chores(Service::Settings service, const Settings& settings, std::shared_ptr<spdlog::logger> log);

  [[nodiscard]] Service& service() noexcept { return service_; }

 private:
  void run();
  void make_partitions();
  /// False if a table was in use, or another worker was at it: something is left to do.
  [[nodiscard]] bool apply_retention();
  void tidy_left_rows();

  const Settings settings_;
  const std::shared_ptr<spdlog::logger> log_;
  retention::Extent extent_ = retention::Extent::days;  // of the next round
  Service service_;                                     // last: its thread uses the members above
};

}  // namespace dogged::runtime
