// Handlers ask the queue's database through this session. All handlers of a worker share one connection. The first
// question opens the connection, so a worker whose handlers ask nothing has none.
#pragma once

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
#include "step/core/turns.hpp"

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
    Turn turn{*this, stop};
    while (true) {
      try {
        auto answer = talk(session_->connection());
        session_->succeeded();
        turn.is_away = false;
        return answer;
      } catch (const std::exception& error) {
        turn.is_away = failure_of(error) == Turns::Failure::connection_lost;
        switch (Turns::after(failure_of(error), stop.stop_requested())) {
          case Turns::Sequel::try_again:
            session_->recover_from(error, stop);
            continue;
          case Turns::Sequel::end_worker:
            end_worker(std::current_exception(), stop);
            break;
          case Turns::Sequel::fail:
            break;
        }
        throw;
      }
    }
  }

  /// Breaks the connection if an answer has taken longer than `patience` at `now`. Gives when to call this again.
  [[nodiscard]] TimePoint break_if_stuck(milliseconds patience, TimePoint now) noexcept {
    return session_->abort_if_busy_for(patience, now);
  }

 private:
  static Turns::Failure failure_of(const std::exception& error) {
    if (db::is_defect(error)) return Turns::Failure::defect;
    if (dynamic_cast<const ConnectionError*>(&error) != nullptr) return Turns::Failure::connection_lost;
    return is_passing(error) ? Turns::Failure::passes : Turns::Failure::lasts;
  }

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
      for (auto entry = of_.turns_.next(stop.stop_requested()); entry != Turns::Entry::take;
           entry = of_.turns_.next(stop.stop_requested())) {
        if (entry == Turns::Entry::leave) throw_stopped();
        of_.changed_.wait(lock);
      }
      of_.turns_.on_taken();
    }
    ~Turn() {
      const detail::Lock lock{of_.mutex_};
      of_.turns_.on_ended(is_away);
      of_.changed_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    bool is_away = false;  // the last try found no connection

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
  detail::Mutex mutex_;
  detail::Condition changed_;
  Turns turns_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
