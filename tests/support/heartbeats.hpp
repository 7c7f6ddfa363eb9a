// Heartbeats of a worker as events: what a test counts meanwhile is compared with them, and not with a time.
#pragma once

#include <cstdint>
#include <string>

#include "support/test_database.hpp"

namespace dogged::test {

/// Waits until the worker has renewed its lease `times` times. False if a heartbeat stays away.
[[nodiscard]] inline bool beats(TestDatabase& database, std::int64_t worker_id, int times) {
  const auto last_beat = [&] {
    return database.value("select heartbeat_at as value from dogged.workers where id = $1::bigint",
                          db::Params{}.add(worker_id));
  };
  for (int beat = 0; beat < times; ++beat) {
    if (!eventually([&, before = last_beat()] { return last_beat() != before; })) return false;
  }
  return true;
}

}  // namespace dogged::test
