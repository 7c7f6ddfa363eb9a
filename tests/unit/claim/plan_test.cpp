// The next action of the claimer. No wake-up is missed in any interleaving with one enqueuing transaction or with a
// message of another thread. No claimed task is forgotten in any loss of requests and answers. A claimer that is to end
// does so whatever is due.
#include "claim/core/plan.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "claim/core/last_release.hpp"
#include "claim/core/mailbox.hpp"
#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Action = ClaimPlan::Action;
using Step = ClaimPlan::Step;
using dogged::test::start;

namespace {

constexpr milliseconds poll_interval = 10s;

/// A database with one task, which one transaction enqueues, as far as the claimer sees it.
struct Database {
  enum class Transaction { not_begun, open, has_looked, ended };

  bool row_says_asleep = false;
  bool notifies = false;  // the transaction has seen the flag
  bool is_notified = false;
  std::int64_t next_transaction = 1;
  std::int64_t own_transaction = 0;
  Transaction enqueue = Transaction::not_begun;
  bool is_ready = false;
  std::set<int> claimed = {};  // numbers of claims under which the task ran, or runs
  bool runs = false;
  std::int64_t session = 0;

  [[nodiscard]] std::int64_t oldest() const {
    const bool is_open = enqueue == Transaction::open || enqueue == Transaction::has_looked;
    return is_open ? own_transaction : next_transaction;
  }

  /// The next statement of the enqueuing transaction.
  void step_enqueue() {
    switch (enqueue) {
      case Transaction::not_begun:
        own_transaction = next_transaction++;
        enqueue = Transaction::open;
        return;
      case Transaction::open:
        notifies = row_says_asleep;
        enqueue = Transaction::has_looked;
        return;
      case Transaction::has_looked:
        is_ready = true;
        is_notified = notifies;
        enqueue = Transaction::ended;
        return;
      case Transaction::ended:
        return;
    }
  }
};

/// A claimer on that database: each statement is one step, so that others come in between.
struct World {
  ClaimPlan plan{{poll_interval, true}, {"default"}, start};
  Database database = {};
  TimePoint now = start;
  bool flag_was_set = false;              // of fall_asleep, whose second statement is to come
  bool knows_task = false;                // that it has claimed
  std::optional<std::int64_t> late = {};  // the session of a claim that is under way
  int waits = 0;                          // short ones that have passed
  Mailbox mailbox = {};
  bool is_woken = false;             // the claimer's descriptor is readable
  bool is_waiting = false;           // in poll()
  std::optional<Action> hears = {};  // decided: other threads may come before the wait begins
  std::string trace = {};

  [[nodiscard]] Action next() { return plan.next(now, {.demand = {5}}); }

  /// As next() would give if `event` came before it.
  template <class Event>
  [[nodiscard]] Action next_after(Event event) const {
    ClaimPlan other = plan;
    event(other);
    return other.next(now, {.demand = {5}});
  }

  /// The claimer ends here if it is to stop, or if its lease is not held any more. Gives the action that is due
  /// otherwise.
  [[nodiscard]] Step check_ends() const {
    const Action end{.step = Step::end};
    REQUIRE(next_after([](ClaimPlan& other) { other.on_stopping(); }) == end);
    for (const auto lease : {Lease::State::lapsed, Lease::State::regained, Lease::State::ended}) {
      REQUIRE(next_after([lease](ClaimPlan& other) { other.on_lease(lease); }) == end);
    }
    const Action due = next_after([](ClaimPlan& other) { other.on_lease(Lease::State::held); });
    REQUIRE(due != end);
    return due.step;
  }

  /// Another thread tells the claimer.
  void tell(const Told& told) { is_woken = mailbox.note(told) == Mailbox::Effect::ends_wait || is_woken; }

  /// One step of the claimer; false where nothing but a notification, a message or the poll_interval interval would
  /// make it go on. To decide and to carry out are one step, but for a wait: no other action looks at the mailbox.
  bool step() {
    now += 1us;
    (void)check_ends();
    if (flag_was_set) {
      flag_was_set = false;
      plan.on_asleep({database.oldest(), database.next_transaction}, now);
      return true;
    }
    if (hears) return step_wait(*hears);
    plan.on_told(mailbox.take(), now);
    const Action action = next();
    trace += std::string{to_text(action.step)} + "; ";
    if (action.step == Step::hear) {
      hears = action;
    } else {
      carry_out(action);
    }
    return true;
  }

  bool step_wait(const Action& action) {
    if (!is_waiting && action.until > now && mailbox.begin_wait(action.until, action.for_room)) {
      is_waiting = true;
      return true;
    }
    if (is_waiting && !is_woken && !database.is_notified) {
      if (action.until - now > poll_interval / 2) return false;
      carry_out(action);
    } else if (std::exchange(database.is_notified, false)) {
      plan.on_notified("default", now);
    }
    is_woken = is_waiting = false;
    hears.reset();
    return true;
  }

  void carry_out(const Action& action) {
    switch (action.step) {
      case Step::begin_session:
        database.session = plan.next_session();
        plan.on_session_begun(now);
        break;
      case Step::listen:
        database.is_notified = false;
        plan.on_listening(now);
        break;
      case Step::give_back_unknown: {
        const bool gives_back = database.runs && !knows_task;
        if (gives_back) {
          database.runs = false;
          database.is_ready = true;
        }
        plan.on_given_back(gives_back ? 1 : 0, {}, now);
        break;
      }
      case Step::give_back_paused:
      case Step::give_back_stale:
      case Step::end_expired:
      case Step::refresh_circuits:
        break;
      case Step::look_for_missed:
        plan.on_missed(database.is_ready, {}, now);
        break;
      case Step::follow_queues:
        plan.on_following(now);
        (void)plan.on_queue_settings(0, false, {}, now);
        break;
      case Step::promote:
        plan.on_promoted(0, now);
        break;
      case Step::ask_due_time:
        plan.on_due_time({}, now);
        break;
      case Step::wake_others:
        plan.on_others_woken();
        break;
      case Step::claim:
        answer_claim(action.queues.at(0), take_claim(plan.certainty().session()));
        break;
      case Step::settle:
        plan.on_settled(action.question, {database.oldest(), database.next_transaction, 1}, {}, now, now);
        break;
      case Step::sum_up:
        plan.on_summed_up(1, now);
        break;
      case Step::wake_up:
        database.row_says_asleep = false;
        plan.on_awake();
        break;
      case Step::fall_asleep:
        database.row_says_asleep = flag_was_set = true;
        break;
      case Step::ask_oldest_transaction:
        plan.on_oldest_transaction(database.oldest(), now);
        break;
      case Step::hear:
        if (std::exchange(database.is_notified, false)) {
          plan.on_notified("default", now);
        } else if (action.until > now) {
          now = action.until;
          ++waits;
        }
        break;
      case Step::end:
        FAIL("the claimer is not to stop, and its lease is held");
        break;
    }
  }

  /// claim.sql in PostgreSQL: true if it gave the task. A statement of an earlier session changes nothing.
  bool take_claim(std::int64_t session) {
    if (!database.is_ready || session != database.session) return false;
    database.is_ready = false;
    database.runs = true;
    return true;
  }

  void answer_claim(const QueueClaim& claim, bool gave_task) {
    plan.on_claimed(claim, gave_task ? std::vector<Place>{1} : std::vector<Place>{}, now);
    knows_task = knows_task || gave_task;
  }
};

/// Lets the transaction go on before, after and between all steps of the claimer. Where the claimer waits for long, the
/// transaction goes on; when that has ended, the task must have been claimed. How many interleavings there were.
int explore(World world) {
  constexpr int most_short_waits = 4;
  if (world.waits > most_short_waits && world.database.enqueue != Database::Transaction::ended) return 0;
  int count = 0;
  while (true) {
    if (world.database.enqueue != Database::Transaction::ended) {
      World other = world;
      other.database.step_enqueue();
      other.trace += "| ";
      count += explore(other);
    }
    if (world.step()) {
      if (world.waits > most_short_waits && world.database.enqueue != Database::Transaction::ended) return count;
      if (world.knows_task) return count + 1;
      continue;
    }
    if (world.database.enqueue != Database::Transaction::ended) return count;  // was tried above
    INFO(world.trace);
    CHECK(world.knows_task);
    return count + 1;
  }
}

/// Another thread of the worker makes a task ready, and tells the claimer with `message`: before, after and between all
/// steps of the claimer. Where the claimer waits for long, it has claimed the task. How many interleavings there were.
int explore_message(const Told& message) {
  constexpr int most_steps = 200;
  int count = 0;
  for (World world; world.waits <= 4; world.step()) {
    REQUIRE(++count < most_steps);
    World other = world;
    other.database.enqueue = Database::Transaction::ended;
    other.database.is_ready = true;
    other.tell(message);
    other.trace += "| ";
    for (int i = 0; i < most_steps && !other.knows_task && other.step(); ++i) {
    }
    INFO(other.trace);
    CHECK(other.knows_task);
    if (world.is_waiting && world.hears->until - world.now > poll_interval / 2) return count;
  }
  return count;
}

/// The fates of a claim whose answer does not come.
enum class Fate { request_lost, answer_lost, arrives_late };

void lose(World& world, Fate fate) {
  const std::int64_t session = world.plan.certainty().session();
  if (fate == Fate::answer_lost) (void)world.take_claim(session);
  if (fate == Fate::arrives_late) world.late = session;
  world.plan.on_failure(true, world.now);
}

/// A task that runs is known, or the claimer still has to give it back.
void check_not_forgotten(const World& world) {
  if (!world.database.runs || world.knows_task) return;
  INFO(world.trace);
  REQUIRE_FALSE(world.plan.certainty().knows_what_it_holds());
}

/// As explore(). At most `losses` claims are lost besides: each of them in each way, wherever the transaction stands. A
/// late claim arrives before the next session begins, or after. When the claimer waits for long, the task runs under
/// it, and the claimer knows. How many interleavings there were.
int explore_losses(World world, int losses) {
  constexpr int most_short_waits = 2;
  int count = 0;
  for (int steps = 0;; ++steps) {
    REQUIRE(steps < 300);
    check_not_forgotten(world);
    const bool has_ended = world.database.enqueue == Database::Transaction::ended;
    if (!has_ended) {
      World other = world;
      other.database.step_enqueue();
      other.trace += "| ";
      count += explore_losses(std::move(other), losses);
    }
    if (world.flag_was_set) {
      world.step();
      continue;
    }
    world.now += 1us;
    const Action action = world.next();
    const bool is_told = world.database.is_notified;
    const bool waits_for_long = action.step == Step::hear && !is_told && action.until - world.now > poll_interval / 2;
    if (waits_for_long || world.waits > most_short_waits) {
      if (!has_ended) return count;  // was tried above
      if (waits_for_long) {
        INFO(world.trace);
        CHECK((world.database.runs && world.knows_task && !world.database.is_ready));
        return count + 1;
      }
    }
    world.trace += std::string{to_text(action.step)} + "; ";
    if (action.step == Step::claim && losses > 0) {
      for (const Fate fate : {Fate::request_lost, Fate::answer_lost, Fate::arrives_late}) {
        World other = world;
        lose(other, fate);
        other.trace += "lost; ";
        count += explore_losses(std::move(other), losses - 1);
      }
    }
    if (action.step == Step::begin_session && world.late) {
      World other = world;
      (void)other.take_claim(*std::exchange(other.late, std::nullopt));
      other.carry_out(action);
      other.trace += "the late claim came before; ";
      count += explore_losses(std::move(other), losses);
    }
    world.carry_out(action);
    if (action.step == Step::begin_session && world.late) {
      CHECK_FALSE(world.take_claim(*std::exchange(world.late, std::nullopt)));
    }
  }
}

/// Runs the claimer until it waits for long, or does `step`.
Action run_to(World& world, Step step) {
  for (int i = 0; i < 1000; ++i) {
    world.now += 1us;
    const Action action = world.next();
    if (action.step == step) return action;
    if (action.step == Step::fall_asleep) {
      world.carry_out(action);
      world.flag_was_set = false;
      world.plan.on_asleep({world.database.oldest(), world.database.next_transaction}, world.now);
    } else {
      world.carry_out(action);
    }
  }
  FAIL("the claimer never does this: " << to_text(step));
  return {};
}

}  // namespace

TEST_CASE("no wake-up is missed, however a transaction that enqueues a task and the claimer take turns",
          "[one_thread]") {
  CHECK(explore(World{}) > 10'000);
}

TEST_CASE("no message is missed, however the claimer and a thread that tells it of a ready task take turns") {
  for (const Told& message : {Told{.has_ready = true}, Told{.has_rescued = true}, Told{.server_is_back = true}}) {
    CHECK(explore_message(message) > 15);
  }
}

TEST_CASE("no claimed task is forgotten, however its transaction, the claimer and the loss of a claim take turns",
          "[one_thread]") {
  CHECK(explore_losses(World{}, 1) > 20'000);
}

TEST_CASE("a claimer begins by listening, follows what is set for its queues, and claims before it falls asleep") {
  World world;
  std::vector<Step> steps;
  for (Action action = world.next(); action.step != Step::fall_asleep; action = world.next()) {
    REQUIRE(steps.size() < 20);
    steps.push_back(action.step);
    world.carry_out(action);
  }
  CHECK(steps.at(0) == Step::listen);
  const auto at = [&](Step step) { return std::find(steps.begin(), steps.end(), step) - steps.begin(); };
  CHECK(at(Step::refresh_circuits) < at(Step::claim));
  CHECK(at(Step::follow_queues) < at(Step::claim));
  CHECK(at(Step::claim) < static_cast<std::ptrdiff_t>(steps.size()));
}

TEST_CASE("no claimed task is forgotten, wherever a request or an answer is lost, or a statement arrives late") {
  enum class Fate { answered, request_lost, answer_lost, arrives_late };
  // Two claims meet one fate each; a late statement arrives before the next session begins, or after.
  const Fate fates[] = {Fate::answered, Fate::request_lost, Fate::answer_lost, Fate::arrives_late};
  for (const Fate first : fates) {
    for (const Fate second : fates) {
      for (const bool late_before_session : {true, false}) {
        World world;
        world.database.is_ready = true;
        world.database.next_transaction = 2;
        std::vector<std::int64_t> late;  // the sessions of statements that are under way
        int claims = 0;
        for (int i = 0; i < 400; ++i) {
          world.now += 1us;
          const Action action = world.next();
          if (action.step == Step::hear && action.until - world.now > poll_interval / 2) break;
          if (action.step == Step::claim && claims < 2) {
            const Fate fate = ++claims == 1 ? first : second;
            if (fate == Fate::answered) {
              world.carry_out(action);
              continue;
            }
            if (fate == Fate::answer_lost) world.take_claim(world.plan.certainty().session());
            if (fate == Fate::arrives_late) late.push_back(world.plan.certainty().session());
            world.plan.on_failure(true, world.now);
            continue;
          }
          const bool begins = action.step == Step::begin_session;
          // A session waits for the statements of earlier ones that are under way.
          if (begins && late_before_session) {
            for (const std::int64_t session : late) (void)world.take_claim(session);
            late.clear();
          }
          if (action.step == Step::fall_asleep) {
            world.plan.on_asleep({world.database.oldest(), world.database.next_transaction}, world.now);
          } else {
            world.carry_out(action);
          }
          if (begins) {
            for (const std::int64_t session : late) CHECK_FALSE(world.take_claim(session));
            late.clear();
          }
        }
        CHECK(world.knows_task);
        CHECK(world.database.runs);
        CHECK_FALSE(world.database.is_ready);
      }
    }
  }
}

TEST_CASE("between two claims the claimer hears what is said, or it would pile up while there is something to claim") {
  World world;
  const Action claim = run_to(world, Step::claim);
  std::vector<Place> places;
  for (std::size_t i = 0; i < claim.queues.at(0).how_many; ++i) places.push_back(static_cast<Place>(i + 1));
  world.plan.on_claimed(claim.queues.at(0), places, world.now);
  for (int i = 0; i < 10; ++i) {
    const Action action = world.next();
    REQUIRE(action.step != Step::claim);
    if (action.step == Step::hear) {
      CHECK(action.until <= world.now);
      world.carry_out(action);
      CHECK(world.next().step == Step::claim);
      return;
    }
    world.carry_out(action);
  }
  FAIL("the claimer neither hears nor claims");
}

TEST_CASE("a claimer that always finds work keeps its books between claims, whether it listens or only polls") {
  for (const bool listens : {true, false}) {
    World world;
    world.plan = ClaimPlan{{poll_interval, listens}, {"default"}, start};
    std::set<Step> taken;
    Step last = Step::end;
    for (int i = 0; i < 1'000; ++i) {
      world.now += 10ms;
      const Action action = world.next();
      taken.insert(action.step);
      REQUIRE((last != Step::claim || action.step != Step::claim || !listens));
      last = action.step;
      if (action.step == Step::claim) {
        std::vector<Place> places(action.queues.at(0).how_many);
        std::iota(places.begin(), places.end(), Place{1} + 100 * i);
        world.plan.on_claimed(action.queues.at(0), places, world.now);
        continue;
      }
      if (action.step == Step::hear) REQUIRE(action.until <= world.now);
      world.carry_out(action);
    }
    INFO("listens: " << listens);
    CHECK(taken.contains(Step::claim));
    CHECK(taken.contains(Step::settle));
    CHECK(taken.contains(Step::sum_up));
    CHECK(taken.contains(Step::hear) == listens);
  }
}

TEST_CASE("a claimer that stops, and a claimer without its lease, end before each action that is due") {
  World world;
  std::set<Step> due;
  for (int i = 0; i < 2'000; ++i) {
    due.insert(world.check_ends());
    switch (i % 90) {
      case 5:
        world.database.step_enqueue();  // so that the claimer meets a transaction that is open, and one that has ended
        break;
      case 10:
        world.database.is_ready = true;
        world.plan.on_notified("default", world.now);
        break;
      case 20:
        world.plan.on_told({.has_expired = true}, world.now);
        break;
      case 30:
        world.plan.on_told({.has_ready = true}, world.now);
        break;
      case 35:
        world.plan.on_told({.due_at = world.now}, world.now);
        break;
      case 40:
        (void)world.plan.on_queue_settings(0, true, {}, world.now);
        break;
      case 50:
        world.plan.on_failure(true, world.now);
        break;
      default:
        if (!world.step()) world.now += poll_interval / 5;
        break;
    }
  }
  for (Step step = Step::begin_session; step != Step::end; step = static_cast<Step>(static_cast<int>(step) + 1)) {
    INFO(to_text(step));
    CHECK(due.contains(step));
  }
}

TEST_CASE("a claimer that has ended takes no further step, whatever it is told") {
  World world;
  (void)run_to(world, Step::claim);
  world.plan.on_lease(Lease::State::lapsed);
  CHECK(world.next().step == Step::end);
  world.plan.on_lease(Lease::State::held);
  world.plan.on_told({.has_ready = true, .server_is_back = true, .has_expired = true}, world.now);
  world.plan.on_notified("", world.now);
  world.plan.on_failure(true, world.now);
  world.now += 1h;
  CHECK(world.next().step == Step::end);
}

TEST_CASE(
    "a claim that is under way when the claimer is told to stop is answered, or given back if its answer is lost") {
  for (const bool is_lost : {false, true}) {
    World world;
    const Action claim = run_to(world, Step::claim);
    world.plan.on_stopping();
    if (is_lost) {
      lose(world, Fate::answer_lost);
    } else {
      world.answer_claim(claim.queues.at(0), true);
    }
    CHECK(world.next().step == Step::end);
    const LastRelease last{false, world.now + 1s};
    CHECK(last.next(world.plan.certainty(), world.now).step ==
          (is_lost ? LastRelease::Step::begin_session : LastRelease::Step::given_back));
  }
}

TEST_CASE("a claimer reads circuits before it claims, where a task of its worker has one") {
  const auto reads_circuits = [](bool has_circuits) {
    World world;
    world.plan = ClaimPlan{{.poll_interval = poll_interval, .has_circuits = has_circuits}, {"default"}, start};
    for (int i = 0; i < 20; ++i) {
      const Action action = world.next();
      if (action.step == Step::refresh_circuits) return true;
      if (action.step == Step::claim) return false;
      world.carry_out(action);
    }
    FAIL("the claimer does not claim");
    return false;
  };
  CHECK(reads_circuits(true));
  CHECK_FALSE(reads_circuits(false));
}

TEST_CASE(
    "nothing is claimed while reports cannot be written, or are too many, or no executor has room, and room ends the "
    "wait") {
  for (const ClaimPlan::Capacity& full : {ClaimPlan::Capacity{.can_report = false, .demand = {5}},
                                          ClaimPlan::Capacity{.backlog = ClaimPlan::max_backlog, .demand = {5}},
                                          ClaimPlan::Capacity{.can_report = true, .demand = {0}}}) {
    World world;
    for (int i = 0; i < 50; ++i) {
      world.now += 1us;
      const Action action = world.plan.next(world.now, full);
      REQUIRE(action.step != Step::claim);
      if (action.step == Step::hear && action.until > world.now) {
        CHECK(action.for_room);
        CHECK_FALSE(world.plan.sleep().row_says_asleep());
        break;
      }
      REQUIRE(i < 49);
      world.carry_out(action);
    }
  }
}

TEST_CASE("a finished task does not wake a claimer whose queues are drained") {
  World world;
  const Action wait = [&] {
    for (int i = 0;; ++i) {
      REQUIRE(i < 1000);
      world.now += 1us;
      if (world.flag_was_set) {
        world.step();
        continue;
      }
      Action action = world.next();
      if (action.step == Step::hear && action.until - world.now > poll_interval / 2) return action;
      world.carry_out(action);
    }
  }();
  CHECK_FALSE(wait.for_room);
  CHECK(world.plan.sleep().state() == Sleep::State::asleep);
}

TEST_CASE("a claimer whose queues are all paused neither claims nor sleeps, and asks when the pause ends") {
  World world;
  Action action = run_to(world, Step::follow_queues);
  world.plan.on_following(world.now);
  CHECK(world.plan.on_queue_settings(0, true, 3s, world.now));
  CHECK_FALSE(world.plan.on_queue_settings(0, true, 3s, world.now));
  for (int i = 0;; ++i) {
    REQUIRE(i < 50);
    action = world.next();
    REQUIRE(action.step != Step::claim);
    REQUIRE(action.step != Step::fall_asleep);
    if (action.step == Step::hear && action.until > world.now) break;
    world.carry_out(action);
  }
  CHECK(action.until == world.now + 3s);
  world.now = action.until;
  CHECK(run_to(world, Step::follow_queues).step == Step::follow_queues);
}

TEST_CASE("a claimer gives the tasks that it claimed ahead back once, when the pause of their queue begins") {
  World world;
  world.plan = ClaimPlan{{poll_interval, true}, {"a", "b", "c"}, world.now};
  (void)run_to(world, Step::follow_queues);
  world.plan.on_following(world.now);
  const auto follow = [&world](const std::vector<bool>& paused) {
    for (std::size_t i = 0; i < paused.size(); ++i) (void)world.plan.on_queue_settings(i, paused[i], {}, world.now);
  };
  const auto given_back = [&world] {
    const Action action = world.plan.next(world.now, {.demand = {5, 5, 5}});
    return action.step == Step::give_back_paused ? action.paused : std::vector<std::size_t>{};
  };
  follow({false, true, true});
  CHECK(given_back() == std::vector<std::size_t>{1, 2});
  CHECK(given_back().empty());
  follow({true, true, false});
  CHECK(given_back() == std::vector<std::size_t>{0});
  follow({false, true, true});
  follow({false, true, false});  // its tasks may begin again
  CHECK(given_back().empty());
}

TEST_CASE("a claimer that has lost its connection still gives back the tasks of a paused queue") {
  World world;
  (void)run_to(world, Step::follow_queues);
  world.plan.on_following(world.now);
  (void)world.plan.on_queue_settings(0, true, {}, world.now);
  world.plan.on_failure(true, world.now);
  CHECK(run_to(world, Step::give_back_paused).paused == std::vector<std::size_t>{0});
}

TEST_CASE("the other workers hear of tasks that this worker has made ready, also where telling them fails") {
  World world;
  (void)run_to(world, Step::claim);
  world.plan.on_told({.has_ready = true}, world.now);
  CHECK(run_to(world, Step::wake_others).step == Step::wake_others);
  world.plan.on_failure(true, world.now);
  CHECK(run_to(world, Step::wake_others).step == Step::wake_others);
  world.plan.on_others_woken();
  for (int i = 0; i < 50 && world.step(); ++i) CHECK(world.next().step != Step::wake_others);
}

TEST_CASE("a retry that this worker has scheduled cuts a wait short to its time") {
  World world;
  while (world.step()) {
  }
  world.plan.on_told({.due_at = world.now + 40ms}, world.now);
  const Action wait = run_to(world, Step::hear);
  CHECK(wait.until - world.now <= 40ms);
  world.now = wait.until;
  CHECK(run_to(world, Step::promote).step == Step::promote);
}

TEST_CASE("tasks that have expired in the executors' hands are ended before more is claimed") {
  World world;
  (void)run_to(world, Step::claim);
  world.plan.on_told({.has_expired = true}, world.now);
  CHECK(world.next().step == Step::end_expired);
}

TEST_CASE("a task that waits for a busy thread is given back within a second, though the claimer hears nothing") {
  World world;
  while (world.step()) {
  }
  ClaimPlan::Capacity capacity{.demand = {0}};
  CHECK(world.plan.next(world.now, capacity).until - world.now > poll_interval / 2);
  capacity.holds_waiting = true;
  const Action wait = world.plan.next(world.now, capacity);
  REQUIRE(wait.step == Step::hear);
  CHECK(wait.until > world.now);
  CHECK(wait.until - world.now <= ClaimPlan::longest_wait_for_thread);
  CHECK(world.plan.next(wait.until, capacity).step == Step::give_back_stale);
}

TEST_CASE("a claimer that finds due tasks locked by a promotion of another worker looks for them in its queues") {
  World world;
  while (world.step()) {
  }
  world.plan.on_told({.due_at = world.now}, world.now);
  const Action promotion = run_to(world, Step::promote);
  world.carry_out(promotion);  // it finds none, so the claimer asks
  (void)run_to(world, Step::ask_due_time);
  world.plan.on_due_time(0ms, world.now);
  (void)run_to(world, Step::promote);
  const TimePoint locked_at = world.now;
  world.plan.on_promoted(0, world.now);
  (void)run_to(world, Step::claim);
  CHECK(world.now - locked_at < 10ms);
}

TEST_CASE("after a lost connection, or positions that were set back, the claimer learns the positions anew") {
  const bool is_set_back = GENERATE(true, false);
  World world;
  const auto settle = [&world](std::int64_t last_position) {
    world.plan.on_notified("default", world.now);
    const Action claim = run_to(world, Step::claim);
    world.plan.on_claimed(claim.queues.at(0), {1}, world.now);
    const Settling::Question question = run_to(world, Step::settle).question;
    world.plan.on_settled(question, {5, 5, last_position}, {}, world.now, world.now);
    return question;
  };
  CHECK(settle(10) == Settling::Question{});
  CHECK(settle(10) == Settling::Question{});
  CHECK(settle(is_set_back ? 3 : 10) == Settling::Question{{10, 5}});
  if (!is_set_back) world.plan.on_failure(true, world.now);
  CHECK(settle(10) == Settling::Question{});
}

TEST_CASE(
    "a claimer that sleeps while a queue is paused reads settings and circuits when it looks for what it has missed") {
  World world;
  world.plan = ClaimPlan{{poll_interval, true}, {"a", "b"}, world.now};
  std::vector<Step> steps;  // since the last long wait
  for (int i = 0, waits = 0; waits < 2; ++i) {
    REQUIRE(i < 100);
    world.now += 1us;
    const Action action = world.plan.next(world.now, {.demand = {5, 5}});
    if (action.step == Step::hear && action.until - world.now > poll_interval / 2) {
      if (++waits == 1) steps.clear();
    }
    steps.push_back(action.step);
    if (action.step == Step::follow_queues) {
      world.plan.on_following(world.now);
      (void)world.plan.on_queue_settings(0, true, {}, world.now);
    } else if (action.step == Step::fall_asleep) {
      world.plan.on_asleep({1, 1}, world.now);
    } else {
      world.carry_out(action);
    }
  }
  CHECK(world.plan.sleep().state() == Sleep::State::asleep);
  for (const Step step : {Step::look_for_missed, Step::follow_queues, Step::refresh_circuits}) {
    INFO(to_text(step));
    CHECK(std::find(steps.begin(), steps.end(), step) != steps.end());
  }
}

TEST_CASE("when the pause of a queue ends, the claimer asks when the first of its waiting tasks is due") {
  World world;
  world.plan = ClaimPlan{{poll_interval, false}, {"default"}, start};  // nothing else makes it ask
  (void)run_to(world, Step::follow_queues);
  world.plan.on_following(world.now);
  CHECK(world.plan.on_queue_settings(0, true, {}, world.now));
  world.carry_out(run_to(world, Step::ask_due_time));
  (void)run_to(world, Step::follow_queues);
  world.plan.on_following(world.now);
  CHECK(world.plan.on_queue_settings(0, false, {}, world.now));
  const TimePoint ended_at = world.now;
  (void)run_to(world, Step::ask_due_time);
  CHECK(world.now - ended_at < 10ms);
}

TEST_CASE("a claimer that is often told of rescued tasks polls by itself, as one that is often notified") {
  World world;
  while (world.step()) {
  }
  REQUIRE(world.plan.sleep().state() == Sleep::State::asleep);
  for (int i = 0; i < 20; ++i) world.plan.on_told({.has_rescued = true}, world.now);
  world.carry_out(run_to(world, Step::wake_up));
  (void)run_to(world, Step::hear);
  CHECK(world.plan.sleep().state() == Sleep::State::self_polling);
}

TEST_CASE("a claimer that only polls reads the settings of its paused queues each second") {
  World world;
  world.plan = ClaimPlan{{poll_interval, false}, {"default"}, start};
  (void)run_to(world, Step::follow_queues);
  world.plan.on_following(world.now);
  const TimePoint followed_at = world.now;
  CHECK(world.plan.on_queue_settings(0, true, {}, world.now));
  (void)run_to(world, Step::follow_queues);
  CHECK(world.now - followed_at < 1'100ms);
}

TEST_CASE("a claimer that hears of ready tasks asks when the next is due, for the server's clock may be set back") {
  const bool is_told = GENERATE(true, false);
  World world;
  while (world.step()) {
  }
  if (is_told) {
    world.plan.on_told({.has_ready = true}, world.now);
  } else {
    world.plan.on_notified("default", world.now);
  }
  const TimePoint heard_at = world.now;
  (void)run_to(world, Step::ask_due_time);
  CHECK(world.now - heard_at < 10ms);
}

TEST_CASE("a new claim session knows no entry of claims that an earlier one has written") {
  World world;
  (void)run_to(world, Step::claim);
  world.plan.on_summed_up(7, world.now);
  CHECK(world.plan.sum().last_entry() == 7);
  world.plan.on_failure(true, world.now);
  world.carry_out(run_to(world, Step::begin_session));
  CHECK(world.plan.sum().last_entry() == 0);
}

TEST_CASE("a waiting claimer gives back a locked task later, and claims again at once") {
  World world;
  while (world.step()) {
  }
  world.plan.on_locked(1, world.now);
  const Action wait = world.next();
  REQUIRE(wait.step == Step::hear);
  CHECK(wait.until - world.now < 1s);
  world.now = wait.until;
  REQUIRE(world.next().step == Step::give_back_unknown);
  SECTION("nothing was there to give back") {
    world.plan.on_given_back(0, {}, world.now);
    CHECK(world.next().step == Step::hear);
  }
  SECTION("a task is ready again") {
    world.plan.on_given_back(1, {}, world.now);
    const TimePoint given_back_at = world.now;
    (void)run_to(world, Step::claim);
    CHECK(world.now - given_back_at < 10ms);
  }
}
