// Handlers ask the queue's database through this session. All handlers of a worker share one connection. The first
// question opens the connection, so a worker whose handlers ask nothing has none.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include <dogged/detail/mutex.hpp>
#include <dogged/error.hpp>

#include "base/first_defect.hpp"
#include "base/session.hpp"
#include "client/passing_error.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"

namespace dogged::runtime {

/// Thread-safe: one question at a time is asked. A handler that is asked to stop leaves the session, whether
/// other handlers ask or the database is away. A handler that stays longer than the stop grace is given up with its
/// thread.
class HandlerSession {
 public:
  HandlerSession(std::shared_ptr<Session> session, std::shared_ptr<FirstDefect> defect)
      : session_(std::move(session)), defect_(std::move(defect)) {}

  /// Runs the statement that `make` gives, made anew for each try: a statement may say how long ago something began.
  /// While the database is away it waits, until `stop` is requested; then it throws the database's error, or
  /// ConnectionError. A mistake of dogged ends the worker: the handler waits for its stop, so that its attempt ends as
  /// interrupted and not as failed.
  template <class MakeStatement>
  auto ask(MakeStatement make, const std::stop_token& stop) {
    return converse([&](db::Connection& connection) { return connection.run(make()); }, stop);
  }

  /// The same for `talk`, which may run several statements. A try whose answer was lost may have taken effect.
  template <class Talk>
  auto converse(Talk talk, const std::stop_token& stop) {
    const Turn turn{*this, stop};
    while (true) {
      try {
        auto answer = talk(session_->connection());
        session_->succeeded();
        is_away_ = false;
        return answer;
      } catch (const std::exception& error) {
        is_away_ = dynamic_cast<const ConnectionError*>(&error) != nullptr;
        if (db::is_defect(error)) end_worker(std::current_exception(), stop);
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
  /// Holds the session. The constructor throws ConnectionError if a stop is requested while it waits for another turn
  /// to end, or while the database is away.
  class Turn {
   public:
    Turn(HandlerSession& of, const std::stop_token& stop) : of_(of) {
      const std::stop_callback wakes{stop, [&of] {
                                       const detail::Lock lock{of.mutex_};
                                       of.changed_.notify_all();
                                     }};
      detail::Lock lock{of_.mutex_};
      while (of_.is_taken_) {
        if (stop.stop_requested()) throw_stopped();
        of_.changed_.wait(lock);
      }
      if (of_.is_away_ && stop.stop_requested()) throw_stopped();
      of_.is_taken_ = true;
    }
    ~Turn() {
      const detail::Lock lock{of_.mutex_};
      of_.is_taken_ = false;
      of_.changed_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    [[noreturn]] static void throw_stopped() {
      throw ConnectionError("the handler was asked to stop while it waited for the queue's database",
                            "let the handler end", "");
    }

    HandlerSession& of_;
  };

  void end_worker(std::exception_ptr mistake, const std::stop_token& stop) {
    defect_->note("handlers", std::move(mistake));
    while (!stop.stop_requested()) session_->pause(std::chrono::hours{1}, stop);
  }

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<FirstDefect> defect_;
  std::atomic<bool> is_away_ = false;  // the last try found no connection
  detail::Mutex mutex_;
  detail::Condition changed_;
  bool is_taken_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
