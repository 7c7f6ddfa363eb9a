// The settings of a worker: its name, its queues, and its times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "db/clock_offset.hpp"
#include "db/settings.hpp"

namespace dogged {

class Tracer;

}  // namespace dogged

namespace dogged::runtime {

/// A member for each setting that a user of a worker can give. Each part of the worker takes its own from here.
struct WorkerSettings {
  db::Settings database{};
  std::string name = {};                   ///< shown by `dogged workers`; no two live workers share a name
  std::map<std::string, int> queues = {};  ///< concurrency by queue name, 1 to 1000; empty: every queue of its tasks
  int default_concurrency = 10;            ///< of each queue if `queues` is empty
  bool create_queues = false;              ///< creates those of `queues` that neither exist nor belong to a task
  milliseconds heartbeat{5'000};           ///< how often the lease is renewed
  milliseconds lease{30'000};              ///< how long a renewal lasts; at least three heartbeats
  milliseconds grace{30'000};              ///< after a stop: how long running attempts may go on
  milliseconds stop_grace{5'000};          ///< how long a handler may go on after its stop token was set
  int max_abandoned_threads = 10;          ///< a worker with more of them restarts
  milliseconds poll_interval{10'000};      ///< how long the claimer waits at most without a notification
  bool log_retries = false;                ///< logs retries, and successes after retries, at info instead of debug
  bool poll_only = false;                  ///< no LISTEN and no session state, for a transaction pooler in between
  /// The lease that this process had before it restarted itself. The worker ends it, and waits for a database that is
  /// away.
  std::optional<std::int64_t> previous_lease = {};
  db::HostClock clock = std::chrono::system_clock::now;  ///< compared with the server's, for `dogged doctor`
  std::shared_ptr<Tracer> tracer = {};                   ///< null: none
  std::string schedules = {};  ///< the schedules that its program declares, as declarations_of() gives them
};

/// Throws InvalidInput that names the setting, the value and the rule.
void require_sound(const WorkerSettings& settings);

}  // namespace dogged::runtime
