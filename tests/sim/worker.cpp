// See worker.hpp.
#include "worker.hpp"

#include <algorithm>
#include <utility>

#include "lifecycle/lifecycle.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using runtime::ClaimPlan;
using runtime::Incarnation;
using runtime::Lease;
using runtime::ReportBatch;
using runtime::Verdict;
using Step = ClaimPlan::Step;

constexpr std::size_t ahead = 2;
constexpr milliseconds heartbeat = 500ms;
constexpr milliseconds until_given_up = 400ms;  // a statement that is not answered
constexpr milliseconds time_to_drain = 5s;
constexpr milliseconds grace = 1s;          // for what runs when a worker stops in order
constexpr milliseconds timeout = 400ms;     // of stuck tasks
constexpr milliseconds stop_grace = 200ms;  // for handlers whose stop token is set
constexpr milliseconds longest_attempt = 4s;

}  // namespace

Worker::Life::Life(std::int64_t id, bool is_again, TimePoint now)
    : lease(id, lease_length, now), agenda({.heartbeat = heartbeat, .lets_others_renew = is_again}, now) {}

Worker::Worker(World& world, int number, std::vector<std::string> queues)
    : world_(world), number_(number), queues_(std::move(queues)) {
  start();
}

void Worker::start(std::optional<std::int64_t> previous) {
  if (now() < world_.server_is_back_at) {
    return world_.scheduler.after(world_.server_is_back_at - now(), [this, previous, lives = lives_] {
      if (lives == lives_) start(previous);
    });
  }
  ++lives_;
  life_.emplace(world_.database.register_worker(lease_length, previous, queue_set()), previous.has_value(), now());
  world_.trace("worker " + std::to_string(number_) + " begins under lease " + std::to_string(lease_id()));
  plan_ = std::make_unique<ClaimPlan>(ClaimPlan::Settings{poll_interval, !world_.only_polls}, queues_, now());
  claimer_step();
  keeper_step();
  watch_lease();
  upkeep_step();
}

void Worker::end_life() {
  if (life_) world_.database.disconnect(lease_id());
  life_.reset();
  ++lives_;
  plan_.reset();
  told_ = {};
  claimer_waits_ = false;
  claimer_has_ended_ = false;
  claimer_has_connection_ = true;
  heard_.clear();
  waiting_.clear();
  expired_.clear();
  running_.clear();
  reports_.clear();
  in_flight_.clear();
  batch_.reset();
}

void Worker::crash(Duration delay) {
  world_.trace("worker " + std::to_string(number_) + " crashes");
  end_life();
  world_.scheduler.after(delay, [this, lives = lives_] {
    if (lives == lives_) start();
  });
}

void Worker::freeze(Duration time) {
  world_.trace("worker " + std::to_string(number_) + " stands still");
  frozen_until_ = std::max(frozen_until_, world_.scheduler.now() + time);
}

void Worker::stop(Duration delay) {
  if (!life_ || life_->incarnation.state() == Incarnation::State::draining) return;
  world_.trace("worker " + std::to_string(number_) + " is told to stop");
  life_->down_for = delay;
  later(Duration{1us}, [this] { look_at_lease(true); });
}

void Worker::check_knows_first() const {
  if (life_) promises::a_worker_knows_first(number_, life_->lease.held_until(), now());
}

void Worker::break_connection() {
  if (!claimer_waits_) return;
  claimer_failed();
  wake_claimer();
}

void Worker::claimer_failed() {
  plan_->on_failure(true, now());
  world_.database.disconnect(lease_id());
  heard_.clear();
  claimer_has_connection_ = true;  // the next statement connects
}

void Worker::lose_server() {
  lose_notifications();
  ++connections_;
  claimer_has_connection_ = false;
  if (life_) world_.database.disconnect(lease_id());
  break_connection();
}

void Worker::later(Duration delay, std::function<void()> what) {
  world_.scheduler.after(delay, [this, lives = lives_, what = std::move(what)]() mutable {
    if (lives != lives_) return;
    if (world_.scheduler.now() < frozen_until_) {
      later(frozen_until_ - world_.scheduler.now(), std::move(what));
      return;
    }
    what();
  });
}

void Worker::ask(std::function<std::function<void()>()> statement, std::function<void()> fails) {
  Scheduler& scheduler = world_.scheduler;
  const auto execute = [statement = std::move(statement), &database = world_.database,
                        history = world_.database.history()] {
    return database.history() == history ? statement() : std::function<void()>{};
  };
  const Incident incident{Incident::Kind::statement, number_, ++statements_};
  Random random = world_.stream_of(incident);
  const Faults& faults = world_.faults;
  const int lost = 10 * faults.lost_request;
  const int late = lost + 10 * faults.late_statement;
  const int unanswered = late + 10 * faults.lost_answer;
  const Duration there = random.between(20us, 2ms);
  const Duration back = random.between(20us, 2ms);
  const int fate = static_cast<int>(random.pick(0, 999));
  const bool goes_wrong = fate < unanswered && now() + there >= world_.server_is_back_at && world_.happens(incident);
  if (now() + there < world_.server_is_back_at) {
    later(random.between(1ms, 100ms), std::move(fails));
  } else if (goes_wrong && fate < late) {
    world_.trace("worker " + std::to_string(number_) + ": a request " + (fate < lost ? "is lost" : "arrives late"));
    later(random.between(1ms, until_given_up), std::move(fails));
    // A late one arrives also when the worker has crashed meanwhile.
    if (fate >= lost) scheduler.after(random.between(1ms, 3s), [execute] { (void)execute(); });
  } else if (goes_wrong) {
    world_.trace("worker " + std::to_string(number_) + ": an answer is lost");
    scheduler.after(there, [execute] { (void)execute(); });
    later(there + random.between(1ms, until_given_up), std::move(fails));
  } else {
    scheduler.after(there, [this, lives = lives_, connection = connections_, back, execute, fails = std::move(fails)] {
      std::function<void()> answer = execute();
      if (lives != lives_) return;
      later(back, [this, connection, answer = std::move(answer), fails] {
        if (connection == connections_) return answer();
        fails();
      });
    });
  }
}

// The claimer.

void Worker::claimer_step() {
  claimer_waits_ = false;
  if (life_->lease.state() != Lease::State::held || life_->incarnation.state() != Incarnation::State::running) {
    claimer_has_ended_ = true;
    if (life_->incarnation.state() == Incarnation::State::draining) give_back();
    return;
  }
  plan_->on_told(std::exchange(told_, {}), world_.scheduler.now());
  carry_out(plan_->next(world_.scheduler.now(), capacity()));
}

ClaimPlan::Capacity Worker::capacity() const {
  ClaimPlan::Capacity capacity{.can_report = true, .demand = {}, .holds_waiting = !waiting_.empty()};
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    const auto is_of = [queue](const Held& task) { return task.queue == queue; };
    const auto holds = static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(), is_of) +
                                                std::count_if(running_.begin(), running_.end(), is_of));
    capacity.demand.push_back(holds < concurrency + ahead ? concurrency + ahead - holds : 0);
  }
  return capacity;
}

std::vector<runtime::Attempt> Worker::held() const {
  std::vector<runtime::Attempt> attempts;
  if (world_.mutant != Mutant::forgets_what_waits) {
    for (const Held& task : waiting_) attempts.push_back({task.id, task.attempt});
  }
  for (const Held& task : expired_) attempts.push_back({task.id, task.attempt});
  for (const Held& task : running_) attempts.push_back({task.id, task.attempt});
  if (world_.mutant == Mutant::forgets_what_is_reported) return attempts;
  for (const runtime::Report& report : reports_) attempts.push_back({report.id, report.attempt});
  attempts.insert(attempts.end(), in_flight_.begin(), in_flight_.end());
  return attempts;
}

void Worker::ask_claimer(std::function<std::function<void()>()> execute) {
  if (!claimer_has_connection_) {
    claimer_failed();
    return claimer_continue();
  }
  ask(
      [execute = std::move(execute), this]() -> std::function<void()> {
        std::function<void()> answer = execute();
        return [this, answer = std::move(answer)] {
          answer();
          claimer_continue();
        };
      },
      [this] {
        if (world_.mutant != Mutant::ignores_a_lost_answer) claimer_failed();
        later(world_.scheduler.between(1ms, 100ms), [this] { claimer_step(); });
      });
}

/// The claimer's connection breaks after it has sent a statement.
void Worker::arrives_late(std::function<void()> statement) {
  Database& database = world_.database;
  world_.scheduler.after(world_.scheduler.between(300ms, 2s),
                         [&database, statement = std::move(statement), history = database.history()] {
                           if (database.history() == history) statement();
                         });
  claimer_failed();
  claimer_continue();
}

void Worker::carry_out(const ClaimPlan::Action& action) {
  Database& database = world_.database;
  const std::int64_t lease = lease_id();
  const auto now = [this] { return world_.scheduler.now(); };
  if (world_.traces_steps) {
    world_.trace("worker " + std::to_string(number_) + " (" + std::string{to_text(plan_->sleep().state())} +
                 "): " + std::string{to_text(action.step)});
  }
  switch (action.step) {
    case Step::begin_session:
      return ask_claimer([this, lease, &database, now, session = plan_->next_session()]() -> std::function<void()> {
        database.begin_claim_session(lease, session);
        return [this, now] { plan_->on_session_begun(now()); };
      });
    case Step::listen:
      if (world_.mutant == Mutant::sleeps_before_it_listens) {
        later(300ms, [lease, &database] { database.listen(lease); });
        plan_->on_listening(now());
        return claimer_continue();
      }
      return ask_claimer([this, lease, &database, now]() -> std::function<void()> {
        database.listen(lease);
        return [this, now] { plan_->on_listening(now()); };
      });
    case Step::give_back_unknown:
      return ask_claimer([this, lease, &database, now, known = held(),
                          session = plan_->certainty().session()]() -> std::function<void()> {
        auto unknown = database.release_unknown(lease, known, session);
        return [this, now, unknown] { plan_->on_given_back(unknown.released, unknown.locked, now()); };
      });
    case Step::give_back_stale:
      return give_back_stale();
    case Step::end_expired:
      return end_expired();
    case Step::refresh_circuits:
      return claimer_continue();
    case Step::look_for_missed:
      return ask_claimer([this, &database, now, queues = action.queues]() -> std::function<void()> {
        const bool has_ready = database.has_ready(queues);
        const auto due_in = world_.mutant == Mutant::forgets_a_put_off ? std::nullopt : database.due_in(queue_set());
        return [this, now, has_ready, due_in] { plan_->on_missed(has_ready, due_in, now()); };
      });
    case Step::follow_queues:
      return ask_claimer([this, &database, now]() -> std::function<void()> {
        std::vector<bool> paused;
        for (const std::string& queue : queues_) paused.push_back(database.is_paused(queue));
        return [this, now, paused] {
          plan_->on_following(now());
          for (std::size_t i = 0; i < paused.size(); ++i) (void)plan_->on_queue_settings(i, paused[i], {}, now());
        };
      });
    case Step::promote:
      return ask_claimer([this, &database, now]() -> std::function<void()> {
        const std::size_t promoted = database.promote(queue_set());
        return [this, now, promoted] { plan_->on_promoted(promoted, now()); };
      });
    case Step::ask_due_time:
      return ask_claimer([this, &database, now]() -> std::function<void()> {
        const auto due_in = world_.mutant == Mutant::forgets_a_put_off ? std::nullopt : database.due_in(queue_set());
        return [this, now, due_in] { plan_->on_due_time(due_in, now()); };
      });
    case Step::wake_others:
      return ask_claimer([this, lease, &database]() -> std::function<void()> {
        database.wake_others(lease, queue_set());
        return [this] { plan_->on_others_woken(); };
      });
    case Step::claim:
      return claim(action.queues);
    case Step::settle:
      return settle(action.question);
    case Step::sum_up: {
      std::vector<TaskId> ids = plan_->certainty().unreleased();
      for (const runtime::Attempt& attempt : held()) ids.push_back(attempt.id);
      return ask_claimer([this, lease, &database, now, ids, last = plan_->sum().last_entry(),
                          session = plan_->certainty().session()]() -> std::function<void()> {
        const std::int64_t entry = database.sum_up_claims(lease, ids, last, session);
        return [this, now, entry] { plan_->on_summed_up(entry, now()); };
      });
    }
    case Step::wake_up:
      if (world_.scheduler.chance(world_.faults.late_wake_ups)) {
        return arrives_late(
            [lease, &database, session = plan_->certainty().session()] { database.wake_up(lease, session); });
      }
      return ask_claimer([this, lease, &database, session = plan_->certainty().session()]() -> std::function<void()> {
        database.wake_up(lease, session);
        return [this] { plan_->on_awake(); };
      });
    case Step::fall_asleep:  // two statements
      if (!claimer_has_connection_) {
        claimer_failed();
        return claimer_continue();
      }
      return ask(
          [this, lease, &database]() -> std::function<void()> {
            database.fall_asleep(lease);
            return [this, &database] {
              ask_claimer([this, &database]() -> std::function<void()> {
                const auto open = database.transaction_bounds();
                return [this, open] { plan_->on_asleep(open, world_.scheduler.now()); };
              });
            };
          },
          [this] {
            claimer_failed();
            claimer_continue();
          });
    case Step::ask_oldest_transaction:
      return ask_claimer([this, &database, now]() -> std::function<void()> {
        const std::int64_t oldest = database.oldest_transaction();
        return [this, now, oldest] { plan_->on_oldest_transaction(oldest, now()); };
      });
    case Step::hear:
      return hear(action);
  }
}

void Worker::hear(const ClaimPlan::Action& action) {
  if (!claimer_has_connection_) {
    claimer_failed();
    return claimer_continue();
  }
  const TimePoint now = world_.scheduler.now();
  const bool is_told = !heard_.empty() || queues_told_ || told_.has_ready || told_.has_rescued || told_.has_expired ||
                       told_.due_at != runtime::never;
  for (const std::string& queue : std::exchange(heard_, {})) plan_->on_rung(queue, now);
  if (std::exchange(queues_told_, false)) plan_->on_queues_changed();
  if (action.until <= now || is_told) return claimer_continue();
  claimer_waits_ = true;
  waits_for_room_ = action.for_room;
  if (world_.only_polls && world_.mutant == Mutant::waits_for_a_notification) return;
  later(action.until - now, [this, wait = ++waits_] {
    if (claimer_waits_ && wait == waits_) claimer_step();
  });
}

void Worker::wake_claimer() {
  if (!claimer_waits_) return;
  claimer_waits_ = false;
  later(5us, [this] {
    for (const std::string& queue : std::exchange(heard_, {})) plan_->on_rung(queue, world_.scheduler.now());
    claimer_step();
  });
}

void Worker::notify(std::int64_t lease, const std::string& queue) {
  world_.scheduler.after(world_.scheduler.between(20us, 2ms), [this, lease, queue] {
    if (!life_ || life_->lease.id() != lease) return;
    heard_.push_back(queue);
    wake_claimer();
  });
}

void Worker::tell_queues_changed() {
  if (world_.only_polls) return;
  later(world_.scheduler.between(20us, 2ms), [this] {
    queues_told_ = true;
    if (claimer_waits_) {
      plan_->on_queues_changed();
      wake_claimer();
    }
  });
}

void Worker::claim(const std::vector<runtime::QueueClaim>& claims) {
  ask_claimer([this, lease = lease_id(), claims, asked_at = now(),
               session = plan_->certainty().session()]() -> std::function<void()> {
    auto claimed = world_.database.claim(lease, claims, session);
    return [this, claims, asked_at, claimed = std::move(claimed)] {
      for (std::size_t i = 0; i < claims.size(); ++i) {
        const auto queue = std::find(queues_.begin(), queues_.end(), claims[i].queue) - queues_.begin();
        std::vector<runtime::Place> places;
        for (const auto& task : claimed[i]) {
          places.push_back(task.place);
          waiting_.push_back({static_cast<std::size_t>(queue), task.id, task.attempt, task.retry_count, task.losses,
                              task.kind, now()});
          if (task.expires_in) waiting_.back().expires_at = asked_at + std::max(*task.expires_in, milliseconds{0});
        }
        plan_->on_claimed(claims[i], places, now());
      }
      begin_tasks();
    };
  });
}

void Worker::settle(const runtime::Settling::Question& question) {
  ask_claimer(
      [this, question, asked_at = world_.scheduler.now(),
       parts = plan_->queues().unsettled(question.positions.last, question.from_beginning)]() -> std::function<void()> {
        auto settlement = world_.database.settle_watermarks(parts, question.positions.next_transaction, queues_);
        return [this, question, asked_at, parts, settlement = std::move(settlement)] {
          std::vector<runtime::ServedQueues::Settled> settled;
          for (std::size_t i = 0; i < parts.size(); ++i) {
            if (settlement.settled[i]) settled.push_back({parts[i].queue, *settlement.settled[i]});
          }
          plan_->on_settled(question, settlement.answer, settled, asked_at, world_.scheduler.now());
        };
      });
}

/// Gives what could not be released, since its row is locked.
std::vector<TaskId> Worker::release(std::int64_t lease, const std::vector<runtime::Attempt>& attempts,
                                    std::int64_t session) const {
  std::vector<TaskId> mine;
  for (const runtime::Attempt& left : world_.database.release(lease, attempts, session)) {
    if (world_.database.who_holds(lease, left).is_mine) mine.push_back(left.id);
  }
  return mine;
}

void Worker::give_back_stale() {
  const TimePoint now = world_.scheduler.now();
  if (waiting_.empty() || now - waiting_.front().claimed_at < ClaimPlan::longest_wait_for_thread) {
    return claimer_continue();
  }
  std::vector<runtime::Attempt> stale;
  for (const Held& task : waiting_) stale.push_back({task.id, task.attempt});
  waiting_.clear();
  const std::int64_t lease = lease_id();
  const std::int64_t session = plan_->certainty().session();
  if (world_.scheduler.chance(world_.faults.late_releases)) {
    return arrives_late([this, lease, stale, session] { (void)release(lease, stale, session); });
  }
  ask_claimer([this, lease, stale, session]() -> std::function<void()> {
    const std::vector<TaskId> mine = release(lease, stale, session);
    return [this, mine] {
      for (const TaskId id : mine) plan_->on_locked(id, world_.scheduler.now());
    };
  });
}

/// As GivingBack::expire: what has not expired by the database's clock is given back.
void Worker::end_expired() {
  std::vector<runtime::Attempt> expired;
  for (const Held& task : std::exchange(expired_, {})) expired.push_back({task.id, task.attempt});
  if (expired.empty()) return claimer_continue();
  ask_claimer([this, lease = lease_id(), expired, session = plan_->certainty().session()]() -> std::function<void()> {
    const std::set<TaskId> ended = world_.database.expire_claimed(lease, expired, session);
    std::vector<runtime::Attempt> left;
    for (const runtime::Attempt& attempt : expired) {
      if (!ended.contains(attempt.id)) left.push_back(attempt);
    }
    const std::vector<TaskId> mine = left.empty() ? std::vector<TaskId>{} : release(lease, left, session);
    return [this, mine, looks = !left.empty()] {
      for (const TaskId id : mine) plan_->on_locked(id, now());
      if (looks) plan_->look_everywhere(now());
    };
  });
}

// The executor.

void Worker::begin_tasks() {
  const auto has_thread = [this](const Held& task) {
    const auto is_of = [&](const Held& other) { return other.queue == task.queue; };
    return std::count_if(running_.begin(), running_.end(), is_of) < static_cast<std::ptrdiff_t>(concurrency);
  };
  while (true) {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(), has_thread);
    if (next == waiting_.end()) return;
    if (now() >= life_->lease.held_until() && world_.mutant != Mutant::begins_after_the_lapse) return;
    const Held task = *next;
    waiting_.erase(next);
    if (now() < task.expires_at || world_.mutant == Mutant::begins_after_its_expiry) {
      begin(task);
    } else {
      expired_.push_back(task);
      told_.has_expired = true;
      wake_claimer();
    }
  }
}

void Worker::begin(Held task) {
  task.started_at = now();
  running_.push_back(task);
  check_begins(task);
  Random random = stream_of_handler(task, 0);
  if (task.kind == Kind::deadly && random.chance(world_.faults.deadly_attempts)) {
    return later(random.between(1ms, 60ms), [this, down_for = random.between(1ms, 2s)] { crash(down_for); });
  }
  if (task.kind == Kind::stuck) {
    return later(timeout + (random.chance(50) ? stop_grace : milliseconds{0}),
                 [this, task] { enforce_deadline(task); });
  }
  const bool is_long = random.chance(world_.faults.long_attempts);
  later(is_long ? random.between(1s, longest_attempt) : random.between(100us, 60ms), [this, task] { end_task(task); });
}

Random Worker::stream_of_handler(const Held& task, std::uint64_t part) const {
  return world_.scheduler.stream(std::uint64_t{1} << 16 | part << 8 | static_cast<std::uint64_t>(task.attempt),
                                 static_cast<std::uint64_t>(task.id));
}

/// Where a failover has lost commits or renewals, an attempt may begin again, and a worker knows nothing first. A
/// worker goes by its own clock: it cannot know that the database's was set ahead.
void Worker::check_begins(const Held& task) {
  const bool is_first = world_.begun.try_emplace({task.id, task.attempt}, promises::Begin{now(), lease_id()}).second;
  if (world_.half_lost.contains(task.id)) return;
  promises::an_attempt_begins_once(task.id, task.attempt, is_first);
  if (world_.database.clock_was_set()) return;
  promises::nothing_begins_after_it_expired(task.id, task.attempt, world_.database.tasks().at(task.id), now());
  if (now() < world_.lost_renewals_until) return;
  promises::no_attempt_begins_that_was_rescued(task.id, task.attempt, world_.database.attempts());
}

bool Worker::runs(const Held& task) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Held& one) { return one.id == task.id && one.attempt == task.attempt; });
}

/// Only a stuck handler comes to its deadline: it heeds its stop token, or is given up after the grace.
void Worker::enforce_deadline(const Held& task) {
  if (world_.mutant == Mutant::gives_no_handler_up && now() < task.started_at + longest_attempt) {
    return later(timeout, [this, task] { enforce_deadline(task); });
  }
  report(task, {lifecycle::Outcome::timed_out});
}

void Worker::end_task(const Held& task) {
  if (!runs(task)) return;  // it was interrupted
  Random random = stream_of_handler(task, 1);
  if (!random.chance(world_.faults.failing_attempts)) {
    if (task.kind == Kind::transactional) return end_in_transaction(task);
    return report(task, {lifecycle::Outcome::succeeded});
  }
  lifecycle::Ending failed{.outcome = lifecycle::Outcome::failed, .error_code = ErrorCode{"AGAIN"}};
  if (random.chance(world_.faults.failures_for_good)) {
    failed.error_code = ErrorCode{"BROKEN"};
  } else if (random.chance(50)) {
    failed.retry_after = milliseconds{random.chance(30) ? 1 : random.pick(1, 1500)};
  }
  report(task, failed);
}

/// The report says that nothing was committed, and the batch finds out whether it was.
void Worker::end_in_transaction(const Held& task) {
  const auto ends = [this, task] {
    report(task, {.outcome = lifecycle::Outcome::failed, .error_code = ErrorCode{"NOT_COMMITTED"}}, true);
  };
  ask(
      [this, ends, lease = lease_id(), attempt = runtime::Attempt{task.id, task.attempt}]() -> std::function<void()> {
        (void)world_.database.complete_in(lease, attempt);
        return ends;
      },
      ends);
}

/// As make_report in worker/run/attempt.cpp.
runtime::Report Worker::report_of(const Held& task, const lifecycle::Ending& ending) {
  runtime::Report report;
  report.id = task.id;
  report.attempt = task.attempt;
  report.started_at = task.started_at;
  report.finished_at = now();
  const lifecycle::TaskState state{.attempt = task.attempt, .retry_count = task.retry_count, .losses = task.losses};
  const double draw = static_cast<double>(stream_of_handler(task, 2).pick(0, 999)) / 1000;
  report.transition = lifecycle::after_attempt(state, rules_of(task.kind), ending, draw).value();
  return report;
}

void Worker::report(const Held& task, const lifecycle::Ending& ending, bool may_be_committed) {
  if (!runs(task)) return;  // it was interrupted
  std::erase_if(running_, [&](const Held& one) { return one.id == task.id && one.attempt == task.attempt; });
  if (task.kind == Kind::stuck && frozen_until_ <= task.started_at) {
    promises::every_handler_ends_in_time(task.id, task.attempt, now() - task.started_at, timeout + stop_grace);
  }
  runtime::Report report = report_of(task, ending);
  report.may_be_committed = may_be_committed;
  const auto& next = report.transition.next_run;
  if (next && world_.retries_are_timely && !may_be_committed) {
    world_.begins_until[{task.id, task.attempt + 1}] = now() + next->delay + world_.latest_begin();
  }
  reports_.push_back(std::move(report));
  if (claimer_waits_ && waits_for_room_) wake_claimer();
  begin_tasks();
  if (!batch_) completer_step();
}

// The completer.

void Worker::completer_step() {
  if (reports_.empty() || batch_) return;
  if (life_->lease.state() == Lease::State::lapsed) {  // it sends nothing while the lease is in doubt
    later(50ms, [this] { completer_step(); });
    return;
  }
  for (const runtime::Report& report : reports_) in_flight_.push_back({report.id, report.attempt});
  batch_.emplace(std::exchange(reports_, {}));
  send();
}

void Worker::batch_goes_on() {
  switch (batch_->state()) {
    case ReportBatch::State::sending:
      return send();
    case ReportBatch::State::explaining:
      return explain();
    case ReportBatch::State::ended:
      break;
  }
  for (const auto& [report, sent_at] : batch_->take_taken()) {
    if (!report.transition.next_run) continue;
    if (const auto left = runtime::until_next_run(report, sent_at); left.count() > 0) {
      if (world_.mutant != Mutant::forgets_a_put_off) {
        told_.due_at = std::min(told_.due_at, world_.scheduler.now() + left);
      }
    } else {
      told_.has_ready = true;
    }
  }
  std::vector<runtime::Report> again = batch_->take_again();
  batch_.reset();
  in_flight_.clear();
  const bool has_again = !again.empty();
  reports_.insert(reports_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  wake_claimer();
  later(has_again ? Duration{10ms} : Duration{1us}, [this] { completer_step(); });
}

void Worker::send() {
  std::vector<runtime::Report> part{batch_->part().begin(), batch_->part().end()};
  ask(
      [this, part = std::move(part), lease = lease_id()]() -> std::function<void()> {
        const std::set<TaskId> refused = world_.database.complete(lease, part);
        return [this, refused] {
          batch_->on_sent({refused.begin(), refused.end()}, world_.scheduler.now());
          batch_goes_on();
        };
      },
      [this] {
        if (world_.mutant == Mutant::drops_a_report) {
          batch_->on_sent({}, world_.scheduler.now());
        } else {
          batch_->on_failure();
        }
        later(world_.scheduler.between(1ms, 100ms), [this] { batch_goes_on(); });
      });
}

void Worker::explain() {
  std::vector<runtime::Report> not_taken;
  for (const runtime::Report* report : batch_->not_taken()) not_taken.push_back(*report);
  ask(
      [this, not_taken = std::move(not_taken), lease = lease_id()]() -> std::function<void()> {
        std::vector<runtime::Holder> holders;
        for (const runtime::Report& report : not_taken) {
          holders.push_back(world_.database.who_holds(lease, {report.id, report.attempt}));
        }
        return [this, not_taken, holders, lease] {
          std::vector<Verdict> verdicts;
          for (std::size_t i = 0; i < holders.size(); ++i) {
            verdicts.push_back(runtime::verdict_of(not_taken[i], holders[i], lease, world_.scheduler.now()));
          }
          batch_->on_explained(verdicts, world_.scheduler.now());
          batch_goes_on();
        };
      },
      [this] {
        batch_->on_failure();
        later(world_.scheduler.between(1ms, 100ms), [this] { batch_goes_on(); });
      });
}

// The lease keeper, and the watchdog that looks at the lease.

void Worker::keeper_step() {
  ask(
      [this, lease = lease_id(), sent_at = now()]() -> std::function<void()> {
        const bool renewed = world_.database.heartbeat(lease, lease_length);
        return [this, renewed, sent_at] {
          const TimePoint asked_at = world_.mutant == Mutant::renewal_counts_from_its_answer ? now() : sent_at;
          Lease& own = life_->lease;
          if (!renewed) {
            own.note_ended();
            return look_at_lease();
          }
          const bool was_lapsed = own.note_renewed(asked_at, now());
          const auto again = asked_at + own.until_next_renewal(heartbeat, holds_any()) - now();
          later(std::max(again, Duration{0}), [this] { keeper_step(); });
          if (was_lapsed) look_at_lease();
        };
      },
      [this] { later(100ms, [this] { keeper_step(); }); });
}

void Worker::watch_lease() {
  if (life_->lease.lapse_if_due(now())) {
    world_.trace("worker " + std::to_string(number_) + ": its lease has lapsed");
    look_at_lease();
  }
  const bool lapses_later =
      life_->lease.state() == Lease::State::held || life_->lease.state() == Lease::State::regained;
  const Duration until_lapse = std::max(life_->lease.held_until() - now(), Duration{1ms});
  later(lapses_later ? until_lapse : Duration{50ms}, [this] { watch_lease(); });
}

void Worker::look_at_lease(bool stop_requested) {
  Incarnation& incarnation = life_->incarnation;
  if (incarnation.state() == Incarnation::State::draining) return;
  incarnation.on_seen({.stop_requested = stop_requested, .lease = life_->lease.state()});
  if (incarnation.state() != Incarnation::State::draining) return;
  world_.trace("worker " + std::to_string(number_) + " drains: " + std::string{to_text(incarnation.end())});
  life_->drains_until = now() + time_to_drain;
  life_->interrupts_at = now() + incarnation.grace(grace);
  if (std::exchange(claimer_waits_, false)) claimer_has_ended_ = true;
  if (claimer_has_ended_) give_back();
}

// The end of an incarnation. The worker gives back the tasks that have not begun, waits for the grace period, and
// records running attempts as interrupted. Once all reports are written, the worker goes on under another lease, or is
// down for a while.

void Worker::give_back() {
  const auto ask_again = [this](std::function<std::function<void()>()> execute) {
    ask(
        [this, execute = std::move(execute)]() -> std::function<void()> {
          return [this, answer = execute()] {
            answer();
            give_back();
          };
        },
        [this] {
          plan_->on_failure(true, now());
          later(100ms, [this] { give_back(); });
        });
  };
  Database& database = world_.database;
  const runtime::Certainty& certainty = plan_->certainty();
  if (world_.mutant == Mutant::stops_without_giving_back) {
    waiting_.clear();
    return wait_for_grace();
  }
  if (world_.mutant == Mutant::interrupts_what_has_not_begun) {
    running_.insert(running_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
  }
  for (const Held& task : std::exchange(expired_, {})) waiting_.push_back(task);
  for (const Held& task : std::exchange(waiting_, {})) life_->unstarted.push_back({task.id, task.attempt});
  const bool is_sure = certainty.state() == runtime::Certainty::State::sure;
  if ((life_->unstarted.empty() && is_sure) || now() >= life_->drains_until) return wait_for_grace();
  if (certainty.state() == runtime::Certainty::State::in_doubt) {
    return ask_again([this, lease = lease_id(), &database, session = plan_->next_session()]() -> std::function<void()> {
      database.begin_claim_session(lease, session);
      return [this] { plan_->on_session_begun(now()); };
    });
  }
  if (!life_->unstarted.empty()) {
    return ask_again([this, lease = lease_id(), unstarted = life_->unstarted,
                      session = certainty.session()]() -> std::function<void()> {
      const std::vector<TaskId> mine = release(lease, unstarted, session);
      return [this, mine] {
        life_->unstarted.clear();
        for (const TaskId id : mine) plan_->on_locked(id, now());
      };
    });
  }
  if (certainty.next(now()) == runtime::Certainty::Ask::give_back) {
    return ask_again([this, lease = lease_id(), &database, known = held(),
                      session = certainty.session()]() -> std::function<void()> {
      auto unknown = database.release_unknown(lease, known, session);
      return [this, unknown] { plan_->on_given_back(unknown.released, unknown.locked, now()); };
    });
  }
  later(250ms, [this] { give_back(); });
}

void Worker::wait_for_grace() {
  if (!running_.empty() && now() < life_->interrupts_at) return later(10ms, [this] { wait_for_grace(); });
  sign_off();
}

/// Before running attempts are recorded as interrupted, because another worker may begin them from then on.
void Worker::sign_off() {
  ask(
      [this, lease = lease_id()]() -> std::function<void()> {
        world_.database.stop_worker(lease);
        return [this] { interrupt(); };
      },
      [this] { interrupt(); });
}

void Worker::interrupt() {
  for (const Held& task : std::exchange(running_, {})) {
    reports_.push_back(report_of(task, {lifecycle::Outcome::interrupted}));
    if (world_.mutant == Mutant::spends_a_retry_on_an_interruption) ++reports_.back().transition.retry_count;
  }
  if (!batch_) completer_step();
  begin_again_when_written();
}

void Worker::begin_again_when_written() {
  if (!reports_.empty() || batch_) {
    if (now() < life_->drains_until) return later(10ms, [this] { begin_again_when_written(); });
  }
  const std::int64_t previous = lease_id();
  const bool has_stopped = life_->incarnation.end() == Incarnation::End::stop_requested;
  if (has_stopped) world_.database.wake_others(previous, queue_set());
  const Duration down_for = life_->down_for;
  end_life();
  if (!has_stopped) return start(previous);
  world_.trace("worker " + std::to_string(number_) + " has stopped");
  world_.scheduler.after(down_for, [this, lives = lives_] {
    if (lives == lives_) start();
  });
}

// Upkeep.

void Worker::upkeep_step() {
  if (!life_->agenda.may_look(now()) &&
      world_.mutant != Mutant::ends_leases_once_the_server_is_back) {  // it connects, so that the time counts from when
                                                                       // the server is back
    return ask_upkeep([this] { return [this] { upkeep_waits(); }; });
  }
  const Look look{now(), life_->agenda.look_back(now()), {}};
  ask_upkeep([this, lease = lease_id(), look]() -> std::function<void()> {
    return [this, lease, look, found = world_.database.upkeep_due(lease, look.looked_back)] {
      using Rescue = runtime::Agenda::Rescue;
      Rescue rescue = life_->agenda.decide(found, life_->lease, now());
      if (world_.mutant == Mutant::ends_leases_once_the_server_is_back) rescue = Rescue::after_ending_lapsed;
      if (rescue == Rescue::none) return upkeep_goes_on({look.asked_at, look.looked_back, found}, false);
      ask_upkeep([this, lease, look, rescue]() -> std::function<void()> {
        if (rescue == Rescue::after_ending_lapsed) (void)world_.database.end_lapsed_leases(lease);
        const Database::Rescued rescued = world_.database.rescue(lease);
        return [this, rescued, look, found = world_.database.upkeep_due(lease, look.looked_back)] {
          if (rescued.tasks > 0) {
            world_.trace("worker " + std::to_string(number_) + " has rescued " + std::to_string(rescued.tasks) +
                         " tasks");
            told_.has_rescued = true;
            wake_claimer();
          }
          upkeep_goes_on({look.asked_at, look.looked_back, found}, !rescued.all);
        };
      });
    };
  });
}

void Worker::upkeep_goes_on(const Look& look, bool left_tasks) {
  life_->agenda.note_looked(look.found, left_tasks, now());
  if (world_.mutant == Mutant::ignores_the_next_lapse) return later(6 * heartbeat, [this] { upkeep_step(); });
  const auto goes_on = [this, look] {
    life_->agenda.note_expired(look.asked_at, look.looked_back);
    upkeep_waits();
  };
  if (!look.found.has_expired) return goes_on();
  ask_upkeep([this, look, goes_on]() -> std::function<void()> {
    (void)world_.database.expire(look.looked_back);
    return goes_on;
  });
}

void Worker::upkeep_waits() {
  later(std::max(life_->agenda.looks_at() - now(), Duration{1us}), [this] { upkeep_step(); });
}

void Worker::ask_upkeep(std::function<std::function<void()>()> execute) {
  ask(std::move(execute), [this] {
    life_->agenda.note_failed(now());
    later(100ms, [this] { upkeep_waits(); });
  });
}

}  // namespace dogged::sim
