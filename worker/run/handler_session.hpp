// What handlers ask of the queue's database. All handlers of a worker share one connection, which the first question
// opens: a worker whose handlers ask nothing has none.
#pragma once

#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include <dogged/detail/mutex.hpp>

#include "client/passing_error.hpp"
#include "db/connection.hpp"
#include "runtime/session.hpp"

namespace dogged::runtime {

/// Thread-safe: one question at a time is asked.
class HandlerSession {
 public:
  explicit HandlerSession(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  /// Runs the statement that `make` gives, made anew for each try: a statement may say how long ago something began.
  /// While the database is away it waits, until `stop` is requested; then it throws the database's error.
  template <class MakeStatement>
  auto ask(MakeStatement make, const std::stop_token& stop) {
    return converse([&](db::Connection& connection) { return connection.run(make()); }, stop);
  }

  /// The same for `talk`, which may run several statements. A try whose answer was lost may have taken effect.
  template <class Talk>
  auto converse(Talk talk, const std::stop_token& stop) {
    const detail::Lock lock{mutex_};
    while (true) {
      try {
        auto answer = talk(session_->connection());
        session_->succeeded();
        return answer;
      } catch (const std::exception& error) {
        if (stop.stop_requested() || !is_passing(error)) throw;
        session_->recover_from(error, stop);
      }
    }
  }

  /// Breaks the connection if an answer has taken longer than `patience` at `now`. Gives when to call this again.
  [[nodiscard]] TimePoint break_if_stuck(milliseconds patience, TimePoint now) noexcept {
    return session_->abort_if_busy_for(patience, now);
  }

 private:
  const std::shared_ptr<Session> session_;
  detail::Mutex mutex_;  // of the session
};

}  // namespace dogged::runtime
