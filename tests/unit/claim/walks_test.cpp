// Walks through the small cores of the claimer: every sequence of events up to a length. Beside them a model of the
// database tells the truth. The promises are checked after each event.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "claim/core/certainty.hpp"
#include "claim/core/due.hpp"
#include "claim/core/queues.hpp"
#include "claim/core/settling.hpp"
#include "claim/core/sleep.hpp"
#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::TaskId;
using dogged::test::start;

namespace {

/// Goes through all sequences of up to `length` events from `world`. A world has event(number), which is false if the
/// event cannot happen, and check(). Gives how many sequences there were.
template <class World>
int walk(const World& world, int events, int length) {
  if (length == 0) return 0;
  int count = 0;
  for (int event = 0; event < events; ++event) {
    World next = world;
    if (!next.event(event)) continue;
    next.trace += static_cast<char>('a' + event);
    next.check();
    count += 1 + walk(next, events, length - 1);
  }
  return count;
}

// ---- certainty -----------------------------------------------------------------------------------------------------

struct CertaintyWorld {
  Certainty certainty = {};
  TimePoint now = start;
  std::string trace = {};
  bool may_run_unknown = false;     // a claim was lost, or arrives late
  bool old_claims_are_over = true;  // a session has begun since
  std::set<TaskId> locked = {};     // known to run, and not released
  std::int64_t last_session = 0;

  bool event(int number) {
    switch (number) {
      case 0:
        certainty.on_failure();
        may_run_unknown = true;
        old_claims_are_over = false;
        return true;
      case 1:
        if (certainty.next(now) != Certainty::Ask::begin_session) return false;
        begin_session();
        return true;
      case 2:
      case 3:
        if (certainty.next(now) != Certainty::Ask::give_back) return false;
        give_back(number == 2 ? std::set<TaskId>{} : std::set<TaskId>{1});
        return true;
      case 4:
        certainty.on_locked(2, now);
        locked.insert(2);
        return true;
      case 5:
        now += 250ms;
        return true;
      default:
        return false;
    }
  }

  void begin_session() {
    const std::int64_t session = certainty.next_session();
    REQUIRE(session > last_session);  // no number is used twice
    last_session = session;
    certainty.on_session_begun();
    old_claims_are_over = true;
  }

  /// Everything is given back that the worker does not know, except what somebody has locked.
  void give_back(const std::set<TaskId>& still_locked) {
    REQUIRE(old_claims_are_over);  // or a claim that arrives late would be unknown for ever
    locked = still_locked;
    may_run_unknown = false;
    certainty.on_given_back({still_locked.begin(), still_locked.end()}, now);
  }

  void check() const {
    INFO(trace);
    if (may_run_unknown) REQUIRE_FALSE(certainty.knows_what_it_holds());
    const std::vector<TaskId>& unreleased = certainty.unreleased();
    if (certainty.knows_what_it_holds()) {
      REQUIRE(std::set<TaskId>(unreleased.begin(), unreleased.end()) == locked);
      REQUIRE((certainty.state() == Certainty::State::sure) == locked.empty());
    }
    CertaintyWorld calm = *this;  // without further trouble the worker becomes sure
    for (int step = 0; calm.certainty.state() != Certainty::State::sure; ++step) {
      REQUIRE(step < 3);
      calm.now = std::max(calm.now, calm.certainty.asks_at());
      REQUIRE(calm.certainty.next(calm.now) != Certainty::Ask::nothing);
      if (!calm.event(1)) REQUIRE(calm.event(2));
    }
    REQUIRE(calm.locked.empty());
    REQUIRE_FALSE(calm.may_run_unknown);
  }
};

// ---- sleep ---------------------------------------------------------------------------------------------------------

struct SleepWorld {
  static constexpr milliseconds poll_interval{10'000};

  Sleep sleep{true, poll_interval, start};
  TimePoint now = start;
  std::string trace = {};
  bool row_says_asleep = false;
  bool is_known = true;          // false after a failure: the row may say either
  bool open = false;             // a transaction is open
  bool open_notifies = false;    // that has begun after the flag was set
  bool may_have_missed = false;  // one has ended that did not notify, and the claimer has not looked since

  bool event(int number) {
    switch (number) {
      case 0:
      case 1:
        wait(number == 0);
        return true;
      case 2:
        if (open) return false;
        open = true;
        open_notifies = row_says_asleep && is_known;
        return true;
      case 3:
        if (!open) return false;
        open = false;
        may_have_missed = may_have_missed || !open_notifies;
        return true;
      case 4:
        now = std::max(now, sleep.looks_at());
        return look();
      case 5:
        for (int i = 0; i < 20; ++i) sleep.on_notified(1, now);
        return true;
      case 6:
        sleep.on_failure();
        sleep.on_look_everywhere(now);
        may_have_missed = false;
        is_known = false;
        return true;
      case 7:
        now += 500ms;
        return true;
      default:
        return false;
    }
  }

  bool look() {
    switch (sleep.take_look(now)) {
      case Sleep::Look::nowhere:
        return false;
      case Sleep::Look::everywhere:
        sleep.on_look_everywhere(now);
        [[fallthrough]];
      case Sleep::Look::in_queues:
      case Sleep::Look::for_missed:
        may_have_missed = false;
        return true;
    }
    return false;
  }

  /// The claimer's question before a wait is carried out.
  void wait(bool has_empty_queue) {
    switch (sleep.before_wait(now, has_empty_queue)) {
      case Sleep::Ask::nothing:
        if (has_empty_queue && is_known && row_says_asleep) return;
        REQUIRE(!(is_known && row_says_asleep));  // it has more than it can take, and is not to be notified
        return;
      case Sleep::Ask::wake_up:
        row_says_asleep = false;
        is_known = true;
        return sleep.on_awake();
      case Sleep::Ask::fall_asleep:
        row_says_asleep = is_known = true;
        open_notifies = false;  // an open transaction has perhaps read the row before
        sleep.on_asleep({open ? 1 : 2, 2}, now);
        sleep.on_look_everywhere(now);
        may_have_missed = false;
        return;
      case Sleep::Ask::oldest_transaction:
        return sleep.on_oldest_transaction(open && !open_notifies ? 1 : 2, now);
    }
  }

  void check() const {
    INFO(trace);
    REQUIRE(sleep.row_says_asleep() == (row_says_asleep && is_known));
    REQUIRE(sleep.looks_at() <= now + poll_interval);
    if (sleep.state() != Sleep::State::asleep) return;
    REQUIRE_FALSE((open && !open_notifies));                // every open transaction notifies
    if (may_have_missed) REQUIRE(sleep.looks_at() <= now);  // one more look is due at once
  }
};

// ---- due times -----------------------------------------------------------------------------------------------------

struct DueWorld {
  static constexpr milliseconds again{1000};
  static constexpr milliseconds until_tried_again{50};

  DueTime due{start};
  TimePoint now = start;
  std::string trace = {};
  std::vector<TimePoint> waiting = {};  // due times of tasks that wait, of which the claimer was told
  bool locked = false;                  // by another session

  bool event(int number) {
    switch (number) {
      case 0:
      case 1:
        if (waiting.size() == 2) return false;
        waiting.push_back(now + (number == 0 ? 100ms : 3000ms));
        due.on_unknown();  // a notification
        return true;
      case 2:
        if (waiting.size() == 2) return false;
        waiting.push_back(now + 300ms);
        due.on_scheduled(waiting.back());  // the worker's own retry
        return true;
      case 3:
        return answer(due.before_claim(now));
      case 4:
        return answer(due.before_wait(now));
      case 5:
        if (due.before_wait(now) != DueTime::Ask::nothing) return false;
        now = std::max(now, due.asks_at());
        return true;
      case 6:
        now += 150ms;
        return true;
      case 7:
        locked = !locked;
        return true;
      default:
        return false;
    }
  }

  bool answer(DueTime::Ask ask) {
    switch (ask) {
      case DueTime::Ask::nothing:
        return false;
      case DueTime::Ask::promote: {
        const auto is_due = [this](TimePoint time) { return time <= now; };
        const std::size_t count = locked ? 0 : std::erase_if(waiting, is_due);
        (void)due.on_promoted(count, now, again);
        return true;
      }
      case DueTime::Ask::due_time: {
        const auto least = std::min_element(waiting.begin(), waiting.end());
        std::optional<milliseconds> due_in;
        if (least != waiting.end()) due_in = std::max(std::chrono::ceil<milliseconds>(*least - now), milliseconds{0});
        due.on_due_time(due_in, now, again);
        return true;
      }
    }
    return false;
  }

  /// A claimer that may wait does not wait for longer than until the first task is due.
  void check() const {
    INFO(trace);
    if (due.before_wait(now) == DueTime::Ask::nothing) {
      REQUIRE(due.asks_at() > now);
      REQUIRE(due.asks_at() <= now + again);
      for (const TimePoint time : waiting) REQUIRE(due.asks_at() <= std::max(time, now + until_tried_again));
    }
    DueWorld calm = *this;  // what is due is promoted, in a few questions
    calm.locked = false;
    calm.now += until_tried_again;
    for (int step = 0; calm.answer(calm.due.before_wait(calm.now)); ++step) REQUIRE(step < 8);
    for (const TimePoint time : calm.waiting) REQUIRE(time > calm.now);
  }
};

// ---- queues --------------------------------------------------------------------------------------------------------

struct QueuesWorld {
  struct Ready {
    std::size_t queue = 0;
    Place place = 0;
    bool locked = false;
  };

  ServedQueues queues{{"a", "b"}};
  std::string trace = {};
  std::vector<Ready> ready = {};  // of which the claimer was told
  Place last_place = 0;
  bool paused = false;      // queue a
  bool holds_back = false;  // its pause has begun, and its tasks that were claimed ahead are not given back yet

  bool event(int number) {
    switch (number) {
      case 0:
      case 1:
        if (ready.size() == 3) return false;
        ready.push_back({static_cast<std::size_t>(number), ++last_place});
        queues.on_notified(number == 0 ? "a" : "b");
        return true;
      case 2:
      case 3:
        return claim(number == 2 ? 1 : 2);
      case 4:
        if (ready.empty() || ready.front().locked) return false;
        ready.front().locked = true;
        return true;
      case 5:
        return unlock();
      case 6:
        paused = !paused;
        queues.set_paused(0, paused);
        holds_back = paused;
        return true;
      case 7:
        return settle();
      case 8:
        REQUIRE(queues.take_newly_paused() == (holds_back ? std::vector<std::size_t>{0} : std::vector<std::size_t>{}));
        return std::exchange(holds_back, false);
      default:
        return false;
    }
  }

  /// As claim.sql: the first places of the ranges, without the locked rows.
  bool claim(std::size_t how_many) {
    const std::vector<QueueClaim> claims = queues.claims({how_many, how_many});
    for (const QueueClaim& claim : claims) {
      std::vector<Place> taken;
      std::erase_if(ready, [&](const Ready& task) {
        const bool is_taken = !task.locked && taken.size() < claim.how_many &&
                              claim.queue == (task.queue == 0 ? "a" : "b") && is_in(claim.ranges, task.place);
        if (is_taken) taken.push_back(task.place);
        return is_taken;
      });
      queues.on_claimed(claim, taken);
    }
    return !claims.empty();
  }

  static bool is_in(const std::vector<Watermarks::Range>& ranges, Place place) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const auto& range) { return place > range.after && place <= range.upto; });
  }

  bool unlock() {
    bool any = false;
    for (Ready& task : ready) any = std::exchange(task.locked, false) || any;
    if (any) queues.on_notified("");  // a session that has changed nothing is found at the next poll
    return any;
  }

  /// As settle_watermarks.sql: no open transaction has taken a place.
  bool settle() {
    std::vector<ServedQueues::Settled> settled;
    for (const auto& [queue, range] : queues.unsettled(last_place, false)) {
      Place upto = range.upto;
      for (const Ready& task : ready) {
        if (task.queue == queue && task.place > range.after) upto = std::min(upto, task.place - 1);
      }
      settled.push_back({queue, upto});
    }
    queues.on_settled(settled, false);
    return !settled.empty();
  }

  /// No task is passed over that the claimer was told of: a claimer with room takes all that is free.
  void check() const {
    INFO(trace);
    if (paused) {
      for (const QueueClaim& claim : queues.claims({1, 1})) REQUIRE(claim.queue != "a");
    }
    QueuesWorld calm = *this;
    (void)calm.unlock();
    if (calm.paused) (void)calm.event(6);
    for (int step = 0; calm.claim(1); ++step) REQUIRE(step < 16);
    REQUIRE(calm.ready.empty());
    REQUIRE_FALSE(calm.queues.any(ServedQueues::State::open));
  }
};

// ---- settling ------------------------------------------------------------------------------------------------------

/// A place of the queue's priority, or in front of it.
constexpr Place place_at(std::int64_t position, bool in_front) {
  return in_front ? position - (Place{1} << 46) : position;
}

struct SettlingWorld {
  struct Transaction {
    std::int64_t id = 0;
    std::optional<Place> place = {};  // of the task that it enqueues
  };

  ServedQueues queues{{"a"}};
  Settling settling{start};
  TimePoint now = start;
  std::string trace = {};
  std::int64_t last_position = 2;
  std::int64_t next_transaction = 1;
  std::vector<Transaction> open = {};
  std::set<Place> ready = {};
  std::optional<Place> by_hand = {};  // ready where all has ended, since the last look through everything

  SettlingWorld() { claim_first(); }

  bool event(int number) {
    switch (number) {
      case 0:
        if (open.size() == 2) return false;
        open.push_back({next_transaction++});
        return true;
      case 1:
        return !open.empty() && enqueue(open.front(), false);
      case 2:
        return !open.empty() && enqueue(open.back(), true);
      case 3:
        return commit(0);
      case 4:
        return open.size() == 2 && commit(1);
      case 5:
        return claim();
      case 6:
      case 10:
        if (number == 10 && open.size() == 2) return false;
        now += 1s;
        settle(number == 10);
        return true;
      case 7:  // a row is changed by hand
        if (by_hand) return false;
        by_hand = place_at(1, false);
        ready.insert(*by_hand);
        return true;
      case 8:
        now += 60s;
        settle(false);
        by_hand.reset();
        return true;
      case 9:
        fail_over();
        return true;
      default:
        return false;
    }
  }

  /// A task of each lane.
  void claim_first() { queues.on_claimed(queues.claims({2}).front(), {place_at(2, true), place_at(1, false)}); }

  /// The next connection is to a server that has only the first two tasks.
  void fail_over() {
    queues.forget_watermarks();
    settling.forget(now);
    last_position = 2;
    open.clear();
    ready.clear();
    by_hand.reset();
    queues.look_again();
    claim_first();
  }

  bool enqueue(Transaction& transaction, bool in_front) {
    if (transaction.place) return false;
    transaction.place = place_at(++last_position, in_front);
    return true;
  }

  bool commit(std::size_t index) {
    if (index >= open.size()) return false;
    if (open[index].place) ready.insert(*open[index].place);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    queues.on_notified("a");
    return true;
  }

  bool claim() {
    queues.look_again();
    const QueueClaim claim = queues.claims({4}).front();
    std::vector<Place> taken;
    std::copy_if(ready.begin(), ready.end(), std::back_inserter(taken),
                 [&](Place place) { return QueuesWorld::is_in(claim.ranges, place); });
    for (const Place place : taken) ready.erase(place);
    if (by_hand && !ready.contains(*by_hand)) by_hand.reset();
    queues.on_claimed(claim, taken);
    return !taken.empty();
  }

  /// As settle_watermarks.sql, which sees the last position later than the transactions. `meanwhile`: between the two a
  /// transaction begins and enqueues. Claims go on, so that a question is due.
  void settle(bool meanwhile) {
    settling.on_claimed(1);
    const auto question = settling.take_question(now, true);
    REQUIRE(question);
    Settling::Answer answer{.oldest = open.empty() ? next_transaction : open.front().id, .next = next_transaction++};
    const Settling::State before = settling.state();
    std::vector<ServedQueues::Settled> settled;
    for (const auto& [queue, range] : queues.unsettled(question->positions.last, question->from_beginning)) {
      if (answer.oldest < question->positions.next_transaction) break;
      const auto first = ready.upper_bound(range.after);
      settled.push_back({queue, first != ready.end() && *first <= range.upto ? *first - 1 : range.upto});
    }
    if (meanwhile) (void)enqueue(open.emplace_back(Transaction{next_transaction++}), false);
    answer.last_position = last_position;
    queues.on_settled(settled, question->from_beginning);
    REQUIRE(settling.on_answer(*question, answer, now, now) == Settling::Outcome::taken);
    check_state(before, answer.oldest >= question->positions.next_transaction);
  }

  /// The states follow in their order. Only the last answer waits, for open transactions, and nothing leads back.
  void check_state(Settling::State before, bool have_ended) const {
    using State = Settling::State;
    INFO(trace);
    switch (before) {
      case State::unknown:
        REQUIRE(settling.state() == State::position_known);
        return;
      case State::position_known:
        REQUIRE(settling.state() == State::awaiting_transactions);
        return;
      case State::awaiting_transactions:
        REQUIRE(settling.state() == (have_ended ? State::settled : State::awaiting_transactions));
        return;
      case State::settled:
        REQUIRE(settling.state() == State::settled);
    }
  }

  /// No place is settled where a task is ready, or where an open transaction may still make one ready.
  void check() const {
    INFO(trace);
    Watermarks watermarks = queues.all().front().watermarks;
    watermarks.forget_claimed();
    const std::vector<Watermarks::Range> ranges = watermarks.ranges();
    const auto is_looked_at = [&](Place place) { return place == by_hand || QueuesWorld::is_in(ranges, place); };
    bool are_looked_at = std::all_of(ready.begin(), ready.end(), is_looked_at);
    for (const Transaction& one : open) are_looked_at = are_looked_at && (!one.place || is_looked_at(*one.place));
    REQUIRE(are_looked_at);
    if (open.empty() && trace.back() == 'g') check_settles();
  }

  /// Once no transaction is open, all that was given out is settled after three questions.
  void check_settles() const {
    SettlingWorld calm = *this;
    (void)calm.claim();
    for (int question = 0; question < 3; ++question) REQUIRE(calm.event(6));
    REQUIRE(calm.queues.all().front().watermarks.unsettled(last_position).empty());
  }
};

}  // namespace

TEST_CASE("in all sequences of losses, sessions and locks, a claimer is sure only of what it knows, and becomes sure",
          "[one_thread]") {
  CHECK(walk(CertaintyWorld{}, 6, 8) > 20'000);
}

TEST_CASE("in all sequences of waits, looks, transactions and failures, a sleeper misses no transaction's commit",
          "[one_thread]") {
  CHECK(walk(SleepWorld{}, 8, 6) > 50'000);
}

TEST_CASE("in all sequences of enqueues, promotions, questions and locks, no due time is waited past", "[one_thread]") {
  CHECK(walk(DueWorld{}, 8, 6) > 40'000);
}

TEST_CASE(
    "in all sequences of notifications, claims, locks, pauses and settlements, no ready task is passed over for good",
    "[one_thread]") {
  CHECK(walk(QueuesWorld{}, 9, 7) > 50'000);
}

TEST_CASE(
    "in all sequences of transactions, claims and questions, no place is settled that may still hold a ready task, and "
    "all others are in the end",
    "[one_thread]") {
  CHECK(walk(SettlingWorld{}, 11, 6) > 100'000);
}
