// Whether the claimer sleeps. While it sleeps, the worker's row says `asleep`, and an enqueue notifies the worker.
// Pure.
//
// A sleeping worker costs its producers a notification, and commits with notifications wait for each other. So a worker
// that is notified often polls by itself for a while. A worker that has more tasks than it can take needs no
// notification at all.
//
// No wake-up is missed. A transaction that read the row before the flag was set does not notify. Such a transaction
// began before the flag was set, so the claimer looks again until all of those have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class Sleep {
 public:
  enum class State {
    busy,            ///< the row says awake: there is more than the worker can take, or nothing has to be heard
    self_polling,    ///< the row says awake, because the worker is notified often: the claimer looks every few ms
    falling_asleep,  ///< the row says asleep, but a transaction that has not seen the flag may still be open
    looked_again,    ///< as falling_asleep: the claimer has looked since, and asks whether such a transaction is left
    asleep,          ///< every open transaction notifies
  };
  /// The question for the database before the claimer waits.
  enum class Ask { nothing, wake_up, fall_asleep, oldest_transaction };
  /// Where to look although nothing was notified.
  enum class Look {
    nowhere,
    in_queues,   ///< while the claimer polls by itself: for ready tasks only
    everywhere,  ///< the poll interval is over: for ready and due tasks, and for settings of queues and circuits
    for_missed,  ///< as everywhere, while the claimer sleeps: by a statement that costs less than a claim (look.sql)
  };

  /// The transactions that were open when the flag was set: from `oldest` on, below `next`.
  struct Transactions {
    std::int64_t oldest = 0;
    std::int64_t next = 0;
  };

  /// `listens` false: the claimer does not LISTEN, and never sleeps. The claimer looks each poll interval.
  Sleep(bool listens, milliseconds poll_interval, TimePoint now);

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool row_says_asleep() const noexcept { return state_ >= State::falling_asleep; }
  /// When the claimer next looks by itself.
  [[nodiscard]] TimePoint looks_at() const noexcept;

  /// Where the claimer looks by itself at `now`. Each look is given once.
  [[nodiscard]] Look take_look(TimePoint now);
  /// The question to ask before a wait. `has_empty_queue`: in some queue nothing is left that the worker may take.
  [[nodiscard]] Ask before_wait(TimePoint now, bool has_empty_queue);

  void on_notified(std::size_t times, TimePoint now);
  /// A claim has brought tasks.
  void on_found(TimePoint now);
  /// The claimer is about to look at all queues.
  void on_look_everywhere(TimePoint now);
  /// The row says asleep since `now`.
  void on_asleep(const Transactions& open, TimePoint now);
  void on_awake();
  void on_oldest_transaction(std::int64_t oldest, TimePoint now);
  /// A statement failed: the next connection may be to another server, whose row may say anything.
  void on_failure() noexcept;

 private:
  [[nodiscard]] bool polls_itself(TimePoint now);
  [[nodiscard]] SteadyClock::duration until_ended(TimePoint now) const;

  bool listens_;
  milliseconds poll_interval_;
  State state_ = State::busy;
  TimePoint look_at_;
  TimePoint look_soon_at_ = never;
  milliseconds look_soon_wait_;
  TimePoint polls_itself_until_{};
  std::size_t notifications_ = 0;  // since counting_since_
  TimePoint counting_since_{};
  TimePoint asleep_at_{};
  std::int64_t first_that_notifies_ = 0;  // the first transaction that notifies
};

[[nodiscard]] std::string_view to_text(Sleep::State state) noexcept;
[[nodiscard]] std::string_view to_text(Sleep::Ask ask) noexcept;
[[nodiscard]] std::string_view to_text(Sleep::Look look) noexcept;
std::ostream& operator<<(std::ostream& out, Sleep::State state);
std::ostream& operator<<(std::ostream& out, Sleep::Ask ask);
std::ostream& operator<<(std::ostream& out, Sleep::Look look);

}  // namespace dogged::runtime
