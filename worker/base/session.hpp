// A connection that is made again when it was lost. Each service of the worker talks to PostgreSQL through one.
// core/outage.hpp decides what the log says of failures, and core/answer_patience.hpp when a connection is broken.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <spdlog/logger.h>

#include <dogged/detail/mutex.hpp>

#include "base/core/answer_patience.hpp"
#include "base/core/outage.hpp"
#include "base/failures.hpp"
#include "base/time.hpp"
#include "db/connection.hpp"
#include "db/reconnect_backoff.hpp"

namespace dogged::runtime {

/// For the thread of one service, except abort() and abort_if_busy_for(), which are thread-safe.
class Session {
 public:
  /// `service` stands in log lines and in pg_stat_activity. `longest_backoff`: the longest wait between two tries.
  /// `failures`: the worker is not ready while the service fails; null: the worker is ready all the same.
  Session(db::Settings settings, std::string service, std::shared_ptr<spdlog::logger> log,
          milliseconds longest_backoff = std::chrono::seconds{5}, std::shared_ptr<Failures> failures = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The connection; connects if there is none. Throws ConnectionError.
  [[nodiscard]] db::Connection& connection();

  /// After an error: drops the connection if it is gone, and waits. The wait is a backoff with jitter (100 ms, doubling
  /// to `longest_backoff`), and ends when `stop` is requested. Logs "lost" and "back" once each, and in between each
  /// further reason once: often another reason keeps the connection from being made again. Throws the error again if it
  /// is a defect (db::is_defect), because waiting does not help. Call it in the handler of the error.
  void recover_from(const std::exception& error, const std::stop_token& stop);

  /// After work was done: forgets earlier errors.
  void succeeded();

  /// Ends the connection. The next use makes another one.
  void close() noexcept;

  [[nodiscard]] bool is_connected() const noexcept { return connection_.has_value(); }

  /// Waits for `time`, or until `stop` is requested.
  void pause(milliseconds time, const std::stop_token& stop) const;

  /// Breaks the connection, so that the statement under way throws. Thread-safe.
  void abort() noexcept;
  /// Breaks the connection if its statement has waited for an answer for `patience` at `now`. Gives when to call this
  /// again. Thread-safe.
  SteadyClock::time_point abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept;

 private:
  void let_break(db::Connection* connection) noexcept;

  db::Settings settings_;
  std::string service_;
  std::shared_ptr<spdlog::logger> log_;
  db::ReconnectBackoff backoff_;
  const std::shared_ptr<Failures> failures_;
  Outage outage_;
  std::optional<db::Connection> connection_;
  detail::Mutex mutex_;
  db::Connection* breakable_ DOGGED_GUARDED_BY(mutex_) = nullptr;  // connection_, while other threads may break it
  AnswerPatience patience_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
