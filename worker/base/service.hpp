// The thread of one part of the worker: claimer, completer, lease keeper, upkeep, chores, watchdog and the exporter of
// spans are services.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/time.hpp"
#include "base/wake_fd.hpp"

namespace dogged::runtime {

class Session;

/// Starts, wakes, stops and joins one thread. Neither another session's lock nor a dead network holds up the join: the
/// service breaks its own connection if an answer takes too long.
///
/// Declare the service as the last member of its part. The service's destructor joins the thread before the members
/// that the thread uses are destroyed.
class Service {
 public:
  struct Settings {
    /// The connection of the thread; null: the thread never talks to PostgreSQL.
    std::shared_ptr<Session> session = nullptr;
    /// How long a statement may wait for its answer before break_if_stuck() breaks the connection.
    milliseconds answer_within = std::chrono::minutes{1};
    /// Called on the thread, as its last act, if `work` has thrown. Null: the process ends (std::terminate).
    std::function<void(std::exception_ptr)> on_defect = nullptr;
    /// wake() and request_stop() wake the thread by this descriptor.
    WakeFd wake = {};

    /// These settings with the descriptor of an inbox. The notes in the inbox then wake the thread, as wake() does.
    [[nodiscard]] Settings woken_by(const WakeFd& other) && {
      wake = other;
      return std::move(*this);
    }
  };

  explicit Service(Settings settings);
  ~Service() { stop(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Runs `work` on the thread until `work` returns, soon after a stop was requested. Call it once.
  void start(std::function<void()> work);

  // Thread-safe.

  /// Ends the wait that the thread is in, or its next one.
  void wake() const noexcept { settings_.wake.wake(); }
  /// Also wakes the thread. A part that does not wait for the descriptor registers a std::stop_callback.
  void request_stop() noexcept;
  /// Replaces Settings::answer_within, for a thread whose time is short.
  void expect_answers_within(milliseconds patience) noexcept { answer_within_ = patience; }
  /// Breaks the connection if its statement has waited for too long at `now`. Gives when to call this again.
  TimePoint break_if_stuck(TimePoint now) noexcept;

  /// Requests a stop and waits for the thread. After `patience` the service breaks the connection, again and again,
  /// until the thread has ended. One thread at a time may call this. A second call does nothing.
  void stop(milliseconds patience = std::chrono::seconds{1});

  // For the service's thread, and after stop() for the thread that called it.

  [[nodiscard]] Session& session() const noexcept { return *settings_.session; }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  [[nodiscard]] bool is_stopping() const noexcept { return stop_.stop_requested(); }
  /// As if the service's own thread had thrown `error`. For the thread that called stop().
  void note_defect(std::exception_ptr error) const { settings_.on_defect(std::move(error)); }
  /// Carries out one action of a plan after another, until `next` gives the step `end`. If `next` or `carry_out`
  /// throws, `on_failure` tells the plan. Then the session recovers, and after that `next` is asked. Throws the error
  /// again if it is a defect, or if `on_failure` does. In a service without a session `on_failure` must do so.
  template <class Next, class CarryOut, class OnFailure>
  void run_plan(Next next, CarryOut carry_out, OnFailure on_failure) const;
  /// Session::recover_from, which a stop cuts short.
  void recover_from(const std::exception& error) const;
  /// For a thread that waits for its connection at the same time (db::Connection::wait).
  [[nodiscard]] int wake_fd() const noexcept { return settings_.wake.fd(); }
  /// Waits until `until`, or until wake() or request_stop(). True if it was woken.
  bool wait_until(TimePoint until) const noexcept;

 private:
  void run() noexcept;

  const Settings settings_;
  std::atomic<milliseconds> answer_within_{settings_.answer_within};
  std::stop_source stop_;
  std::function<void()> work_;
  std::promise<void> ended_;
  std::thread thread_;
};

template <class Next, class CarryOut, class OnFailure>
void Service::run_plan(Next next, CarryOut carry_out, OnFailure on_failure) const {
  for (;;) {
    try {
      const auto action = next();
      if (action.step == decltype(action.step)::end) return;
      carry_out(action);
    } catch (const std::exception& error) {
      on_failure(error);
      recover_from(error);
    }
  }
}

}  // namespace dogged::runtime
