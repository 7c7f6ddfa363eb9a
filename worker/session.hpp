// A connection that comes back: what every service of the worker talks to PostgreSQL through.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include <spdlog/logger.h>

#include "claimed_task.hpp"
#include "db/connection.hpp"
#include "db/reconnect_backoff.hpp"

namespace dogged::runtime {

/// Not thread-safe, but for cancel(): it belongs to one service's thread.
class Session {
 public:
  /// `service` stands in log lines and in pg_stat_activity.
  /// `longest_backoff`: the most that it waits between two tries.
  Session(db::Settings settings, std::string service, std::shared_ptr<spdlog::logger> log,
          milliseconds longest_backoff = std::chrono::seconds{5});

  /// The connection; connects if there is none. Throws ConnectionError.
  [[nodiscard]] db::Connection& connection();

  /// After an error, of whatever kind: drops the connection if it is gone, and waits by backoff with jitter (100 ms,
  /// doubling to `longest_backoff`) until it is time to try again or `stop` is requested. Logs each change between
  /// "lost" and "back" once, and in between each further reason once: what keeps the connection from being made again
  /// is mostly another one than what has ended it.
  void recover_from(const std::exception& error, const std::stop_token& stop);

  /// After work was done: forgets earlier errors.
  void succeeded();

  /// Ends the connection. The next use would make another one.
  void close() noexcept;

  [[nodiscard]] bool is_connected() const noexcept { return connection_.has_value(); }

  /// Waits for `time`, or until `stop` is requested.
  void pause(milliseconds time, const std::stop_token& stop) const;

  /// From any thread: breaks the connection, so that the statement under way throws.
  void abort() noexcept;
  /// From any thread: the same if that statement has been waiting for its answer for `patience` at `now`. A peer that
  /// vanished without a word would be waited for otherwise. Gives when to call it again: none can have waited for that
  /// long before.
  SteadyClock::time_point abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept;

 private:
  db::Settings settings_;
  std::string service_;
  std::shared_ptr<spdlog::logger> log_;
  db::ReconnectBackoff backoff_;
  std::set<std::string> reasons_;  // of the failures since the last success, without their numbers
  std::unique_ptr<std::mutex> connection_mutex_ = std::make_unique<std::mutex>();  // guards its coming and going
  std::optional<db::Connection> connection_;
  bool gave_up_ = false;  // on an answer, since the last success; with the mutex held
};

}  // namespace dogged::runtime
