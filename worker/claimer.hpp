// Claims tasks for the executors, on a connection and a thread of its own, and decides when to look again. On that
// connection it listens as well: between hearing of a task and claiming it no other thread or session has to be woken.
//
// A queue is looked at until a claim gives less than was asked for; then it is "drained" until something may have
// changed: a notification, a waiting task that fell due, or the poll interval. While some queue is drained and the
// claimer waits, the worker's row says `asleep`, and enqueue notifies. A worker that finds more than it can take clears
// the flag, so that a busy system sends no notifications. So does one that is rung so often that its producers, whose
// commits wait for each other with every notification, would be held up: it looks every few milliseconds instead, until
// it has found nothing for a second.
//
// A claim does not look again where there can be nothing more (watermarks.hpp). While a queue has more than can be
// taken, that is also what the last claims have taken, for a second: then it looks for what was committed late.
//
// From a paused queue nothing is claimed, and it is neither drained nor rung for: a worker whose queues are all paused
// does not sleep in the sense of the row, and hears no more than what is said of queues. What people set for a queue
// (queue_settings.hpp) is read when it is told of, and by a worker that is not told, or claims on and on, each second.
//
// No wake-up is missed: an enqueue whose transaction looked before the flag was set did not notify. After setting it,
// the claimer therefore looks again until every transaction that was open then has ended (fall_asleep), and only then
// waits for long. In case a notification is lost all the same, it looks each poll interval whether there is something
// to claim, by a statement that costs less than a claim (look.sql).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include "circuits.hpp"
#include "claim_params.hpp"
#include "claimed_task.hpp"
#include "completer.hpp"
#include "executor.hpp"
#include "lease.hpp"
#include "queue_settings.hpp"
#include "retry_throttle.hpp"
#include "service_thread.hpp"
#include "session.hpp"
#include "tally.hpp"
#include "wake_fd.hpp"
#include "watermarks.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Claimer {
 public:
  struct Settings {
    milliseconds poll_interval{10000};  ///< the longest time without a look
    bool sleeps = true;                 ///< false: it hears no notifications, and asks for none
  };

  /// It claims while `lease` is held. `lease`, `definitions` and `circuits` must outlive it.
  Claimer(Session session, Settings settings, const Lease& lease, const Definitions& definitions, Circuits& circuits,
          std::shared_ptr<Tally> tally, std::shared_ptr<spdlog::logger> log);
  ~Claimer();

  /// Begins to claim. `executors` and `completer` must be there until stop() has returned.
  void start(const std::vector<std::unique_ptr<Executor>>& executors, const Completer& completer);

  /// Tasks have become ready: of `queue`, or of any if it is empty. What is enqueued it hears of by itself.
  void ring(std::string_view queue);
  /// The server was lost for a while, perhaps, and may be another one now.
  void look_again();
  /// A retry was scheduled that falls due after `delay`.
  void note_due(SteadyClock::duration delay);
  /// This worker has made tasks ready. The others are told as well: there may be more than it can take.
  void note_ready();
  /// A thread may be free again.
  void note_room();
  /// An executor holds a task that has expired before it could begin.
  void note_expired();

  /// Claims no more; waits for the claim under way.
  void stop();

  /// After stop(): gives back tasks that were not started, and wakes other workers for them. Tries until `until`; false
  /// if it could not.
  bool give_back(const std::vector<ClaimedTask>& tasks, SteadyClock::time_point until);
  /// After that: ends its connection, since nobody reads any more what is said to it.
  void disconnect() noexcept { session_.close(); }

  /// As Session::abort_if_busy_for.
  SteadyClock::time_point abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept {
    return session_.abort_if_busy_for(patience, now);
  }

 private:
  struct Queue {
    Executor* executor = nullptr;
    std::size_t own_concurrency = 1;  // with which the worker was started
    bool drained = false;
    bool paused = false;
    Watermarks watermarks = {};
    std::unique_ptr<RetryThrottle> retries = {};  // of the claimer's thread alone; null: not bounded

    [[nodiscard]] bool may_have_more() const noexcept { return !drained && !paused; }
    [[nodiscard]] bool is_empty() const noexcept { return drained && !paused; }

    void look_again() {
      drained = false;
      watermarks.forget_claimed();
    }
  };

  /// What a claim asks of one queue.
  struct Wanted {
    Queue* queue = nullptr;
    QueueClaim claim;
  };

  /// Positions up to `last` have been given out to transactions before `next`.
  struct Positions {
    std::int64_t last = 0;
    std::int64_t next_transaction = 0;
  };

  void run();
  void step();
  void listen();
  void hear(SteadyClock::duration patience);
  void begin_session();
  [[nodiscard]] std::vector<Attempt> held() const;
  void refresh_circuits();
  void follow_queues();
  [[nodiscard]] bool queues_may_have_changed(SteadyClock::time_point now);
  [[nodiscard]] bool more_is_claimed_by_old_settings(SteadyClock::time_point now) const;
  void follow(Queue& queue, const QueueSettings& settings);
  void pause_or_resume(Queue& queue, const QueueSettings& settings);
  void note_end_of_throttling();
  [[nodiscard]] bool keep_books();
  [[nodiscard]] bool sum_up_claims();
  [[nodiscard]] bool settle_watermarks();
  void forget_watermarks();
  void give_back_unknown();
  void give_back_stale();
  void end_expired();
  void expire(const std::vector<ClaimedTask>& tasks);
  void release(const std::vector<ClaimedTask>& tasks);
  [[nodiscard]] std::map<TaskId, int> give_up(const std::vector<ClaimedTask>& tasks);
  void note_released(const std::vector<ClaimedTask>& tasks, const std::map<TaskId, int>& not_released);
  void put_off_retries(Queue& queue, std::vector<ClaimedTask>& tasks);
  std::set<std::string_view> put_off_open(std::vector<ClaimedTask>& tasks);
  void put_off(std::vector<Circuits::PutOff> tasks);
  void put_off_ready(const std::string& queue, const std::set<std::string_view>& circuits, Place from);
  void cancel_released(const db::Rows& released);
  void explain_not_released(const std::map<TaskId, int>& attempts);
  [[nodiscard]] bool claim();
  [[nodiscard]] std::vector<Wanted> what_is_wanted();
  void hand_out(const std::vector<Wanted>& wanted, const db::Rows& rows, SteadyClock::time_point asked_at);
  [[nodiscard]] bool prepare_to_wait();
  void fall_asleep();
  [[nodiscard]] SteadyClock::duration until_settled() const;
  [[nodiscard]] bool stays_awake();
  void count_ring();
  template <class Change>
  void tell(Change change);
  [[nodiscard]] bool due_time_has_come() const;
  [[nodiscard]] bool due_is_unknown() const;
  [[nodiscard]] bool promote_due();
  [[nodiscard]] bool promote();
  void wake_others_if_told();
  void wait();
  [[nodiscard]] bool some_queue_is_drained() const;
  void look_everywhere();
  void look_for_missed();
  void look_soon();
  /// What look.sql says.
  struct Found {
    bool has_ready = false;
    std::optional<milliseconds> due_in = {};  ///< of the earliest waiting task
  };
  [[nodiscard]] Found look(const std::vector<QueueClaim>& for_ready);

  Session session_;
  const Settings settings_;
  const Lease& lease_;
  const Definitions& definitions_;
  Circuits& circuits_;
  const Completer* completer_ = nullptr;
  const std::shared_ptr<Tally> tally_;
  const std::shared_ptr<spdlog::logger> log_;
  std::vector<std::string> names_;
  std::vector<std::string> queue_names_;

  // Of the claimer's thread alone.
  bool listening_ = false;
  bool asleep_ = false;   // as the worker's row says
  bool settled_ = false;  // no transaction is left that could have missed it
  std::int64_t asleep_since_transaction_ = 0;
  SteadyClock::time_point awake_until_;  // while it is rung often
  SteadyClock::time_point look_soon_at_ = SteadyClock::time_point::max();
  milliseconds look_soon_wait_{0};
  SteadyClock::time_point asleep_at_;
  bool answer_lost_ = false;  // of a claim or a release: what runs here unknown is to be given back
  std::int64_t claim_session_ = 0;
  SteadyClock::time_point give_back_unknown_at_ = SteadyClock::time_point::max();
  bool knows_what_it_holds_ = true;      // but for `unreleased_`
  std::vector<TaskId> unreleased_ = {};  // given back in vain, since somebody has locked them
  std::size_t claimed_since_sum_ = 0;    // tasks, since its entries in dogged.claims were summed up
  SteadyClock::time_point sum_up_at_;
  std::int64_t last_sum_ = 0;  // the entry that says what was held then
  SteadyClock::time_point look_for_stale_at_;
  std::size_t claimed_since_settled_ = 0;  // tasks, since the watermarks were
  SteadyClock::time_point settle_at_;
  SteadyClock::time_point look_through_all_at_;
  std::optional<Positions> settling_;        // whose transactions are waited for
  std::int64_t settled_position_ = 0;        // for those up to here no more
  std::int64_t last_position_ = 0;           // the last that was given out when it was asked for last; 0: not known
  SteadyClock::time_point look_at_;          // when the poll interval is over
  SteadyClock::time_point ask_due_at_;       // when the earliest waiting task must be asked for again
  SteadyClock::time_point queues_asked_at_;  // what is set for them
  SteadyClock::time_point resume_at_ = SteadyClock::time_point::max();  // when the first pause ends by itself

  mutable std::mutex mutex_;
  std::vector<Queue> queues_;
  SteadyClock::time_point due_at_;  // of the earliest waiting task that is known
  bool due_unknown_ = true;         // an earlier one may have been enqueued
  bool others_to_wake_ = false;     // for what this worker has made ready
  bool circuits_unknown_ = true;    // they may have changed since they were read
  bool queues_unknown_ = true;      // as well
  bool some_expired_ = false;       // in the executors' hands
  bool woken_ = false;              // something changed since the last wait
  bool waits_ = false;              // for that: who changes something writes to wake_
  std::size_t rings_ = 0;           // since counting_since_
  SteadyClock::time_point counting_since_;
  WakeFd wake_;
  std::stop_source stop_;
  ServiceThread thread_;  // last: it uses all of the above
};

}  // namespace dogged::runtime
