// See worker.hpp.
#include "worker.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "claim/core/release_verdict.hpp"
#include "lifecycle/lifecycle.hpp"
#include "tasks/definition.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using runtime::ClaimedTask;
using runtime::ClaimPlan;
using runtime::CompleterPlan;
using runtime::Incarnation;
using runtime::KeeperPlan;
using runtime::LastRelease;
using runtime::Lease;
using runtime::Mailbox;
using runtime::Pool;
using runtime::Registering;
using runtime::ReportBatch;
using runtime::ReportBatches;
using runtime::Rerun;
using runtime::Shutdown;
using runtime::Verdict;
using Step = ClaimPlan::Step;

constexpr milliseconds grace = 1s;       // how long attempts may run on after an orderly stop
constexpr milliseconds timeout = 400ms;  // of stuck tasks
constexpr milliseconds longest_attempt = 4s;
constexpr int heeding = 70;  // percent of handlers end soon after their stop token is set
constexpr int quick = 80;    // percent of attempts that are not long are so quick that tasks are claimed ahead of them

runtime::Definition definition_from(Kind kind) {
  runtime::Definition definition;
  definition.name = "task";
  definition.circuit = circuit_of(kind);
  definition.declared.rules = rules_of(kind);
  if (kind == Kind::stuck) definition.timeout = timeout;
  return definition;
}

/// In the order of the enum.
const std::array<runtime::Definition, 9>& definitions() {
  static const std::array<runtime::Definition, 9> all{
      definition_from(Kind::plain),   definition_from(Kind::fragile),       definition_from(Kind::deadly),
      definition_from(Kind::stuck),   definition_from(Kind::transactional), definition_from(Kind::stepwise),
      definition_from(Kind::waiting), definition_from(Kind::charging),      definition_from(Kind::mailing)};
  return all;
}

constexpr const char* refused_json = "\"refused\"";

std::vector<runtime::Attempt> attempts_of(const std::vector<ClaimedTask>& tasks) {
  std::vector<runtime::Attempt> attempts;
  for (const ClaimedTask& task : tasks) attempts.push_back({task.id, task.attempt});
  return attempts;
}

/// The results of `give` for each executor, joined.
template <class Executors, class Give>
auto joined(Executors& executors, Give give) {
  decltype(give(executors.front().pool)) all;
  for (auto& executor : executors) {
    auto some = give(executor.pool);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace

Kind kind_of(const ClaimedTask& task) { return static_cast<Kind>(task.definition - definitions().data()); }

Worker::Life::Life(std::int64_t id, const Candidate& candidate, bool listens, TimePoint now)
    : lease(id, lease_length, candidate.asked_at),
      keeper({.poll_interval = poll_interval, .listens = listens}, now),
      upkeep({.heartbeat = heartbeat,
              .lets_others_renew = candidate.is_again,
              .compares_again_after = compares_again_after},
             now) {}

Worker::Worker(World& world, int number, std::vector<std::string> queues)
    : world_(world),
      number_(number),
      queues_(std::move(queues)),
      has_fixed_name_(world.scheduler.stream(std::uint64_t{1} << 33, static_cast<std::uint64_t>(number)).chance(50)) {
  begin_process();
}

void Worker::begin_life() {
  const Candidate registered = *std::exchange(candidate_, {});
  life_.emplace(registered.previous.value(), registered, !world_.only_polls, now());
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    add_missing_runners(life_->executors.emplace_back(Executor{queues_[queue], Pool{concurrency, stop_grace}}));
  }
  world_.trace("worker " + std::to_string(number_) + " begins under lease " + std::to_string(lease_id()));
  plan_ = std::make_unique<ClaimPlan>(ClaimPlan::Settings{poll_interval, !world_.only_polls}, queues_, now());
  completer_step();
  claimer_step();
  keeper_step();
  watch();
  upkeep_step();
}

void Worker::end_life() {
  if (life_) world_.database.disconnect(lease_id());
  candidate_.reset();
  life_.reset();
  ++lives_;
  plan_.reset();
  mailbox_ = {};
  claimer_waits_ = is_woken_ = false;
  has_made_ready_ = false;
  claimer_has_connection_ = true;
  heard_.clear();
  queues_told_ = circuits_told_ = false;
  chores_.clear();
  keeper_waits_ = false;
  keeper_listens_on_.reset();
  watches_at_ = runtime::never;
  reports_ = ReportBatches{batch_limits};
  batch_.reset();
  writing_.reset();
  completer_ = {};
  is_proving_ = false;
  completer_wakes_at_ = runtime::never;
}

void Worker::crash(Duration delay) {
  world_.trace("worker " + std::to_string(number_) + " crashes");
  end_process(delay);
}

void Worker::freeze(Duration time) {
  world_.trace("worker " + std::to_string(number_) + " stands still");
  frozen_until_ = std::max(frozen_until_, world_.scheduler.now() + time);
}

void Worker::stop(Duration delay) {
  if (candidate_) candidate_->down_for = delay;
  if (!life_ || life_->incarnation.state() == Incarnation::State::draining) return;
  world_.trace("worker " + std::to_string(number_) + " is told to stop");
  life_->down_for = delay;
  later(Duration{1us}, [this] { look_at_lease(true); });
}

void Worker::restart() {
  if (!life_ || life_->incarnation.state() == Incarnation::State::draining) return;
  world_.trace("worker " + std::to_string(number_) + " is to restart");
  life_->down_for.reset();
  later(Duration{1us}, [this] { look_at_lease(true); });
}

void Worker::check_knows_first() const {
  if (life_) promises::a_worker_knows_first(number_, life_->lease.held_until(), now());
}

void Worker::break_connection() {
  if (!claimer_waits_) return;
  claimer_failed();
  end_wait();
}

void Worker::claimer_failed() {
  plan_->on_failure(true, now());
  life_->circuits.forget();
  chores_.clear();
  world_.database.disconnect(lease_id());
  heard_.clear();
  queues_told_ = circuits_told_ = false;
  claimer_has_connection_ = true;  // the next statement connects
}

void Worker::lose_server() {
  lose_notifications();
  ++connections_;
  claimer_has_connection_ = false;
  if (life_) world_.database.disconnect(lease_id());
  break_connection();
  if (std::exchange(keeper_waits_, false)) keeper_failed();
}

// The claimer.

void Worker::claimer_step() {
  plan_->on_lease(life_->lease.state());
  plan_->on_told(mailbox_.take(), world_.scheduler.now());
  carry_out(plan_->next(world_.scheduler.now(), capacity()));
}

void Worker::claimer_continue() {
  if (chores_.empty()) {
    return later(std::chrono::microseconds{world_.scheduler.pick(1, 50)}, [this] { claimer_step(); });
  }
  const Chore chore = std::move(chores_.front());
  chores_.pop_front();
  chore();
}

ClaimPlan::Capacity Worker::capacity() const {
  const bool can_report = completer_.state() == CompleterPlan::State::ready;
  ClaimPlan::Capacity capacity{.can_report = can_report || world_.mutant == Mutant::claims_before_it_can_report,
                               .backlog = reports_.size(),
                               .demand = {},
                               .holds_waiting = false};
  capacity.demand.reserve(life_->executors.size());
  for (const Executor& executor : life_->executors) {
    capacity.demand.push_back(executor.pool.demand());
    capacity.holds_waiting = capacity.holds_waiting || executor.pool.has_waiting();
  }
  return capacity;
}

std::vector<runtime::Attempt> Worker::held() const {
  std::vector<runtime::Attempt> attempts = joined(life_->executors, [](const Pool& pool) { return pool.held(); });
  if (world_.mutant == Mutant::forgets_what_waits) {
    std::erase_if(attempts, [this](const runtime::Attempt& attempt) { return !runs(attempt); });
  }
  if (world_.mutant == Mutant::forgets_what_is_reported) return attempts;
  const std::vector<runtime::Attempt> of_reports = reports_.held();
  attempts.insert(attempts.end(), of_reports.begin(), of_reports.end());
  return attempts;
}

/// The claimer's connection breaks after it has sent a statement.
void Worker::arrives_late(Callback statement) {
  Database& database = world_.database;
  world_.scheduler.after(world_.scheduler.between(300ms, 2s),
                         [&database, statement = std::move(statement), history = database.history()] {
                           if (database.history() == history) statement();
                         });
  claimer_failed();
  claimer_continue();
}

void Worker::carry_out(ClaimPlan::Action action) {
  Database& database = world_.database;
  const std::int64_t lease = lease_id();
  const auto now = [this] { return world_.scheduler.now(); };
  if (world_.traces_steps) {
    world_.trace("worker " + std::to_string(number_) + " (" + std::string{to_text(plan_->sleep().state())} +
                 "): " + std::string{to_text(action.step)});
  }
  switch (action.step) {
    case Step::begin_session:
      return ask_claimer([this, lease, &database, now, session = plan_->next_session()] {
        database.begin_claim_session(lease, session);
        return [this, now] { plan_->on_session_begun(now()); };
      });
    case Step::listen:
      if (world_.mutant == Mutant::sleeps_before_it_listens) {
        later(300ms, [lease, &database] { database.listen(lease); });
        plan_->on_listening(now());
        return claimer_continue();
      }
      return ask_claimer([this, lease, &database, now] {
        database.listen(lease);
        return [this, now] { plan_->on_listening(now()); };
      });
    case Step::give_back_unknown:
      return ask_claimer([this, lease, &database, now, known = held(), session = plan_->certainty().session()] {
        auto unknown = database.release_unknown(lease, known, session);
        return [this, now, unknown] { plan_->on_given_back(unknown.released, unknown.locked, now()); };
      });
    case Step::give_back_paused:
      return give_back_paused(action.paused);
    case Step::give_back_stale:
      return give_back_stale();
    case Step::end_expired:
      return end_expired(joined(life_->executors, [](Pool& pool) { return pool.take_expired(); }));
    case Step::refresh_circuits:
      return refresh_circuits();
    case Step::look_for_missed:
      return ask_claimer([this, &database, now, queues = std::move(action.queues)] {
        const bool has_ready = database.has_ready(queues);
        const auto due_in = world_.mutant == Mutant::forgets_a_deferral ? std::nullopt : database.due_in(queue_set_);
        return [this, now, has_ready, due_in] { plan_->on_missed(has_ready, due_in, now()); };
      });
    case Step::follow_queues:
      return follow_queues();
    case Step::promote:
      return ask_claimer([this, &database, now] {
        const std::size_t promoted = database.promote(queue_set_);
        return [this, now, promoted] { plan_->on_promoted(promoted, now()); };
      });
    case Step::ask_due_time:
      return ask_claimer([this, &database, now] {
        const auto due_in = world_.mutant == Mutant::forgets_a_deferral ? std::nullopt : database.due_in(queue_set_);
        return [this, now, due_in] { plan_->on_due_time(due_in, now()); };
      });
    case Step::wake_others:
      return ask_claimer([this, lease, &database] {
        database.wake_others(lease, queue_set_);
        return [this] { plan_->on_others_woken(); };
      });
    case Step::claim:
      return claim(std::move(action.queues));
    case Step::settle:
      return settle(action.question);
    case Step::sum_up: {
      std::vector<TaskId> ids = plan_->certainty().unreleased();
      for (const runtime::Attempt& attempt : held()) ids.push_back(attempt.id);
      return ask_claimer(
          [this, lease, &database, now, ids, last = plan_->sum().last_entry(), session = plan_->certainty().session()] {
            const std::int64_t entry = database.sum_up_claims(lease, ids, last, session);
            return [this, now, entry] { plan_->on_summed_up(entry, now()); };
          });
    }
    case Step::wake_up:
      if (world_.scheduler.chance(world_.faults.late_wake_ups)) {
        return arrives_late(
            [lease, &database, session = plan_->certainty().session()] { database.wake_up(lease, session); });
      }
      return ask_claimer([this, lease, &database, session = plan_->certainty().session()] {
        database.wake_up(lease, session);
        return [this] { plan_->on_awake(); };
      });
    case Step::fall_asleep:  // two statements
      if (!claimer_has_connection_) {
        claimer_failed();
        return claimer_continue();
      }
      return ask(
          [this, lease, &database] {
            database.fall_asleep(lease);
            return [this, &database] {
              ask_claimer([this, &database] {
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
      return ask_claimer([this, &database, now] {
        const std::int64_t oldest = database.oldest_transaction();
        return [this, now, oldest] { plan_->on_oldest_transaction(oldest, now()); };
      });
    case Step::hear:
      return hear(action);
    case Step::end:
      return claimer_ended();
  }
}

void Worker::claimer_ended() {
  life_->has_claimer_ended = true;
  if (life_->shutdown) carry_out_shutdown();
}

/// As Claimer::hear. Other threads may come between the claimer's decision and the begin of its wait.
void Worker::hear(const ClaimPlan::Action& action) {
  later(std::chrono::microseconds{world_.scheduler.pick(1, 20)}, [this, action] { wait(action); });
}

void Worker::wait(const ClaimPlan::Action& action) {
  if (!claimer_has_connection_) {
    claimer_failed();
    return claimer_continue();
  }
  const bool waits = action.until > now() && mailbox_.begin_wait(action.until, action.for_room);
  if (!waits || is_woken_ || !heard_.empty() || queues_told_ || circuits_told_) return hear_all();
  claimer_waits_ = true;
  if (world_.only_polls && world_.mutant == Mutant::waits_for_a_notification) return;
  later(action.until - now(), [this, wait = ++waits_] {
    if (wait == waits_) end_wait();
  });
}

/// As Connection::wait, when the wait is over.
void Worker::hear_all() {
  is_woken_ = false;
  for (const std::string& queue : std::exchange(heard_, {})) plan_->on_notified(queue, now());
  if (std::exchange(queues_told_, false)) plan_->on_queues_changed();
  if (std::exchange(circuits_told_, false)) plan_->on_circuits_changed();
  claimer_continue();
}

void Worker::end_wait() {
  if (std::exchange(claimer_waits_, false)) later(5us, [this] { hear_all(); });
}

void Worker::wake_claimer() {
  is_woken_ = true;
  end_wait();
}

/// As ClaimInbox.
void Worker::tell_claimer(const runtime::Told& told) {
  if (mailbox_.note(told) == Mailbox::Effect::ends_wait) wake_claimer();
}

void Worker::tell_of_room() {
  if (mailbox_.note_room() == Mailbox::Effect::ends_wait) wake_claimer();
}

void Worker::notify(std::int64_t lease, const std::string& queue) {
  world_.scheduler.after(world_.scheduler.between(20us, 2ms), [this, lease, queue] {
    if (!life_ || life_->lease.id() != lease) return;
    heard_.push_back(queue);
    end_wait();
  });
}

void Worker::tell_of_cancellation(std::int64_t lease) {
  if (!life_ || lease_id() != lease || keeper_listens_on_ != keeper_connections_) return;
  later(world_.scheduler.between(20us, 2ms), [this, connection = keeper_connections_] {
    if (connection != keeper_connections_) return;
    life_->keeper.on_cancel_requested();
    wake_keeper();
  });
}

void Worker::tell_queues_changed() {
  if (world_.only_polls) return;
  later(world_.scheduler.between(20us, 2ms), [this] {
    queues_told_ = true;
    end_wait();
  });
}

/// As Claimer::claim and HandingOut.
void Worker::claim(std::vector<runtime::QueueClaim> claims) {
  ask_claimer([this, lease = lease_id(), claims = std::move(claims), asked_at = now(),
               session = plan_->certainty().session()]() mutable {
    auto claimed = world_.database.claim(lease, claims, session);
    return [this, claims = std::move(claims), asked_at, claimed = std::move(claimed)] {
      for (std::size_t i = 0; i < claims.size(); ++i) {
        std::vector<runtime::Place> places;
        for (const Database::Claimed& one : claimed[i]) places.push_back(one.place);
        plan_->on_claimed(claims[i], places, now());
        if (places.empty()) continue;
        chores_.push_back([this, of_queue = std::make_shared<Claimed>(Claimed{
                                     .claim = claims[i],
                                     .queue = claims[i].index,
                                     .tasks = taken(claimed[i], asked_at),
                                     .first = places.front(),
                                     .has_more = places.size() >= claims[i].how_many})] { hand_out(of_queue); });
      }
    };
  });
}

/// As HandingOut::take.
std::vector<ClaimedTask> Worker::taken(const std::vector<Database::Claimed>& claimed, TimePoint asked_at) const {
  std::vector<ClaimedTask> tasks;
  for (const Database::Claimed& one : claimed) {
    ClaimedTask& task = tasks.emplace_back();
    task.id = one.id;
    task.attempt = one.attempt;
    task.retry_count = one.retry_count;
    task.losses = one.losses;
    task.snoozes = one.snoozes;
    task.definition = &definitions().at(static_cast<std::size_t>(one.kind));
    task.claimed_at = now();
    if (one.expires_in && world_.mutant != Mutant::begins_after_its_expiry) {
      task.expires_at = asked_at + std::max(*one.expires_in, milliseconds{0});
    }
  }
  return tasks;
}

void Worker::settle(const runtime::Settling::Question& question) {
  ask_claimer([this, question, asked_at = world_.scheduler.now(),
               parts = plan_->queues().unsettled(question.positions.last, question.from_beginning)] {
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
    const runtime::Holder holder = world_.database.who_holds(lease, left);
    if (release_verdict(holder, left.number) == runtime::ReleaseVerdict::locked) mine.push_back(left.id);
  }
  return mine;
}

void Worker::follow_queues() {
  if (!claimer_has_connection_) {
    claimer_failed();
    return claimer_continue();
  }
  ask(
      [this, asked_at = now()] {
        std::vector<runtime::QueueSettings> all;
        for (const std::string& queue : queues_) all.push_back(world_.database.queue_settings(queue));
        return [this, asked_at, all] {
          plan_->on_following(asked_at);
          for (std::size_t i = 0; i < all.size(); ++i) follow(i, all[i]);
          claimer_continue();
        };
      },
      [this] {
        claimer_failed();
        claimer_continue();
      });
}

/// As Claimer::follow.
void Worker::follow(std::size_t index, runtime::QueueSettings settings) {
  if (world_.mutant == Mutant::follows_no_pause) settings.is_paused = false;
  if (world_.mutant == Mutant::forgets_when_a_pause_ends) settings.resumes_in.reset();
  if (world_.mutant == Mutant::follows_no_concurrency) settings.concurrency.reset();
  (void)plan_->on_queue_settings(index, settings.is_paused, settings.resumes_in, now());
  Executor& executor = life_->executors[index];
  const runtime::QueueChanges changes = changes_of(executor.terms, settings, concurrency);
  if (changes.concurrency) {
    executor.terms.concurrency = *changes.concurrency;
    executor.pool.set_concurrency(*changes.concurrency);
    add_missing_runners(executor);
    begin_tasks();
  }
  if (changes.retry_budget) change_retry_budget(executor, settings.retry_budget, now());
}

void Worker::give_back_paused(const std::vector<std::size_t>& paused) {
  if (world_.mutant == Mutant::keeps_tasks_of_a_paused_queue) return claimer_continue();
  std::vector<ClaimedTask> not_begun;
  for (const std::size_t index : paused) {
    for (ClaimedTask& task : life_->executors[index].pool.take_back()) not_begun.push_back(std::move(task));
  }
  if (not_begun.empty()) return claimer_continue();
  give_back(not_begun);
}

void Worker::give_back_stale() {
  const std::vector<ClaimedTask> stale = joined(life_->executors, [this](Pool& pool) {
    return pool.take_back_older_than(ClaimPlan::longest_wait_for_thread, now());
  });
  if (stale.empty()) return claimer_continue();
  give_back(stale);
}

void Worker::give_back(const std::vector<ClaimedTask>& tasks) {
  const std::vector<runtime::Attempt> attempts = attempts_of(tasks);
  const std::int64_t lease = lease_id();
  const std::int64_t session = plan_->certainty().session();
  if (world_.scheduler.chance(world_.faults.late_releases)) {
    return arrives_late([this, lease, attempts, session] { (void)release(lease, attempts, session); });
  }
  ask_claimer([this, lease, attempts, session, tasks] {
    const std::vector<TaskId> mine = release(lease, attempts, session);
    return [this, mine, tasks] {
      note_not_begun(tasks);
      for (const TaskId id : mine) plan_->on_locked(id, world_.scheduler.now());
    };
  });
}

/// As GivingBack::expire: what has not expired by the database's clock is given back.
void Worker::end_expired(const std::vector<ClaimedTask>& expired) {
  if (expired.empty()) return claimer_continue();
  ask_claimer([this, lease = lease_id(), expired, session = plan_->certainty().session()] {
    const std::vector<runtime::Attempt> attempts = attempts_of(expired);
    const std::set<TaskId> ended = world_.database.expire_claimed(lease, attempts, session);
    std::vector<runtime::Attempt> left;
    for (const runtime::Attempt& attempt : attempts) {
      if (!ended.contains(attempt.id)) left.push_back(attempt);
    }
    const std::vector<TaskId> mine = left.empty() ? std::vector<TaskId>{} : release(lease, left, session);
    return [this, mine, expired, looks = !left.empty()] {
      note_not_begun(expired);
      for (const TaskId id : mine) plan_->on_locked(id, now());
      if (looks) plan_->look_everywhere(now());
    };
  });
}

// The executors.

/// As Executor::add_threads. If the concurrency was lowered, there are more than it wants.
void Worker::add_missing_runners(Executor& executor) {
  while (executor.pool.slots() < executor.pool.concurrency()) {
    const auto& runner = executor.runners.emplace_back(std::make_shared<Runner>());
    executor.pool.add({runner, &runner->slot});
  }
}

/// Each idle thread takes the next task.
void Worker::begin_tasks() {
  for (Executor& executor : life_->executors) {
    for (const std::shared_ptr<Runner>& runner : executor.runners) {
      while (Pool::state(runner->slot) == Pool::SlotState::idle && begin_next(executor, runner)) {
      }
    }
  }
}

/// False if nothing may begin.
bool Worker::begin_next(Executor& executor, const std::shared_ptr<Runner>& runner) {
  const bool knows_the_lapse = world_.mutant != Mutant::begins_after_the_lapse;
  switch (executor.pool.next(runner->slot, now(), knows_the_lapse ? life_->lease.held_until() : runtime::never)) {
    case Pool::Next::wait:
      return false;
    case Pool::Next::expired:
      tell_claimer({.has_expired = true});
      return true;
    case Pool::Next::cancelled: {
      const ClaimedTask& task = runner->slot.run().task;
      hand_on(executor, *runner, runtime::report_not_begun(task, task.definition->declared, now()));
      return true;
    }
    case Pool::Next::run:
      begin(executor, runner);
      return true;
  }
  return false;
}

void Worker::begin(Executor& executor, const std::shared_ptr<Runner>& runner) {
  const Pool::Run& run = runner->slot.run();
  const ClaimedTask& task = run.task;
  runner->reason = StopReason::none;
  runner->completion_begun = false;
  ++runner->handlers;
  note_deadline(run.deadline);
  check_begins(task);
  if (const auto set = world_.at_once.find(executor.queue); set != world_.at_once.end()) {
    promises::no_more_run_at_once_than_are_set(task.id, task.attempt, executor.pool.load().busy, set->second);
  }
  Random random = stream_of_handler(task, 0);
  if (kind_of(task) == Kind::deadly && random.chance(world_.faults.deadly_attempts)) {
    return later(random.between(1ms, 60ms), [this, down_for = random.between(1ms, 2s)] { crash(down_for); });
  }
  if (kind_of(task) == Kind::stuck) return;
  if (kind_of(task) == Kind::stepwise || kind_of(task) == Kind::waiting) {
    return begin_script(executor, runner, kind_of(task));
  }
  const bool is_long = random.chance(world_.faults.long_attempts);
  const Duration takes = is_long                ? random.between(1s, longest_attempt)
                         : random.chance(quick) ? random.between(100us, 5ms)
                                                : random.between(5ms, 60ms);
  if (is_long) say_progress_in(takes / 2, runner);
  later(takes, [this, &executor, runner, handler = runner->handlers] {
    if (runner->handlers == handler) end_task(executor, runner);
  });
}

Random Worker::stream_of_handler(const ClaimedTask& task, std::uint64_t part) const {
  return world_.scheduler.stream(std::uint64_t{1} << 16 | part << 8 | static_cast<std::uint64_t>(task.attempt),
                                 static_cast<std::uint64_t>(task.id));
}

double Worker::draw_for(const ClaimedTask& task) const {
  return static_cast<double>(stream_of_handler(task, 2).pick(0, 999)) / 1000;
}

/// Where a failover has lost commits or renewals, an attempt may begin again, and a worker knows nothing first. A
/// worker goes by its own clock: it cannot know that the database's was set ahead.
void Worker::check_begins(const ClaimedTask& task) {
  promises::no_attempt_begins_that_cannot_be_recorded(task.id, task.attempt, world_.database.has_reported(lease_id()));
  const bool is_first = world_.begun.try_emplace({task.id, task.attempt}, promises::Begin{now(), lease_id()}).second;
  if (world_.half_lost.contains(task.id)) return;
  promises::an_attempt_begins_once(task.id, task.attempt, is_first);
  if (world_.database.clock_was_set()) return;
  promises::nothing_begins_after_it_expired(task.id, task.attempt, world_.database.tasks().at(task.id), now());
  if (now() < world_.lost_renewals_until) return;
  promises::no_attempt_begins_that_was_rescued(task.id, task.attempt, world_.database.attempts());
}

void Worker::end_task(Executor& executor, const std::shared_ptr<Runner>& runner) {
  const ClaimedTask& task = runner->slot.run().task;
  Random random = stream_of_handler(task, 1);
  if (random.chance(world_.faults.snoozing_attempts)) {
    return end_handler(
        executor, *runner, runner->handlers,
        {.ending = {.outcome = lifecycle::Outcome::snoozed, .snooze = milliseconds{random.pick(1, 800)}}});
  }
  const bool is_service_broken = world_.broken_services.contains(task.definition->circuit);
  if (!random.chance(world_.faults.failing_attempts) && !is_service_broken) {
    if (kind_of(task) == Kind::transactional) return end_in_transaction(executor, runner);
    runtime::HandlerEnd succeeded;
    if (random.chance(world_.faults.refused_results)) succeeded.result_json = refused_json;
    return end_handler(executor, *runner, runner->handlers, std::move(succeeded));
  }
  const bool is_for_good = random.chance(world_.faults.failures_for_good) && !is_service_broken;
  runtime::HandlerEnd failed = runtime::failed_with(ErrorCode{is_for_good ? "BROKEN" : "AGAIN"}, "failed");
  if (!is_for_good && random.chance(50))
    failed.ending.retry_after = milliseconds{random.chance(30) ? 1 : random.pick(1, 1500)};
  end_handler(executor, *runner, runner->handlers, std::move(failed));
}

/// The report says that nothing was committed, and the batch finds out whether it was.
void Worker::end_in_transaction(Executor& executor, const std::shared_ptr<Runner>& runner) {
  runner->completion_begun = true;
  const auto ends = [this, &executor, runner, handler = runner->handlers] {
    end_handler(executor, *runner, handler, {});
  };
  const ClaimedTask& task = runner->slot.run().task;
  ask(
      [this, ends, lease = lease_id(), attempt = runtime::Attempt{task.id, task.attempt}] {
        (void)world_.database.complete_in(lease, attempt);
        return ends;
      },
      ends);
}

/// As Executor::State::run_task. Nothing is reported of a handler that was given up.
void Worker::end_handler(Executor& executor, Runner& runner, int handler, runtime::HandlerEnd end) {
  if (runner.handlers != handler) return;
  const auto& [task, started_at, deadline] = runner.slot.run();
  runtime::Report report =
      runtime::report_of(task, task.definition->declared, started_at, now(), std::move(end),
                         {.stop_reason = runner.reason, .completion_begun = runner.completion_begun}, draw_for(task));
  ++runner.handlers;
  if (executor.pool.on_ended(runner.slot, report.finished_at - report.started_at)) {
    check_ends(runner);
    hand_on(executor, runner, std::move(report));
  }
  begin_tasks();
}

void Worker::hand_on(Executor& executor, Runner& runner, runtime::Report report) {
  add(std::move(report));
  executor.pool.on_reported(runner.slot);
}

void Worker::add(runtime::Report report) {
  const auto& next = report.transition.next_run;
  if (next && world_.retries_are_timely && report.record != runtime::Record::perhaps_committed &&
      report.circuit.empty()) {
    world_.begins_until[{report.id, report.attempt + 1}] = now() + next->delay + world_.latest_begin();
  }
  reports_.add(std::move(report));
  if (!batch_) completer_step();
}

/// The stop token is set. Most handlers heed it.
void Worker::stop(Executor& executor, const Pool::Stop& stop) {
  const std::shared_ptr<Runner> runner = executor.runners[stop.slot];
  if (runner->reason != StopReason::none) return;  // the first reason counts
  runner->reason = stop.reason;
  Random random = stream_of_handler(runner->slot.run().task, 3);
  if (!random.chance(heeding)) return;
  later(random.between(10us, 20ms), [this, &executor, runner, handler = runner->handlers] {
    end_handler(executor, *runner, handler, runtime::failed_with(ErrorCode{"AGAIN"}, "stopped"));
  });
}

void Worker::stop_all(StopReason reason) {
  for (Executor& executor : life_->executors) {
    for (const Pool::Stop& stop : executor.pool.stop_all(reason, now())) this->stop(executor, stop);
  }
}

bool Worker::runs(const runtime::Attempt& attempt) const {
  return std::any_of(life_->executors.begin(), life_->executors.end(), [&](const Executor& executor) {
    const std::vector<std::size_t> running = executor.pool.with_handler();
    return std::any_of(running.begin(), running.end(),
                       [&](std::size_t index) { return executor.runners[index]->slot.run().task.id == attempt.id; });
  });
}

bool Worker::holds_any() const {
  return std::any_of(life_->executors.begin(), life_->executors.end(),
                     [](const Executor& executor) { return executor.pool.holds_any(); });
}

bool Worker::has_waiting(const std::string& queue) const {
  if (!life_) return false;
  const auto found = std::find(queues_.begin(), queues_.end(), queue);
  return found != queues_.end() &&
         life_->executors[static_cast<std::size_t>(found - queues_.begin())].pool.has_waiting();
}

bool Worker::waits_or_is_busy() const {
  return std::any_of(life_->executors.begin(), life_->executors.end(),
                     [](const Executor& executor) { return executor.pool.busy_any() || executor.pool.has_waiting(); });
}

/// While the lease is in doubt, the lease comes first.
void Worker::check_ends(const Runner& runner) const {
  const auto& [task, started_at, deadline] = runner.slot.run();
  promises::a_lapse_stops_handlers(task.id, task.attempt, life_->lease.state(), runner.reason);
  if (runner.reason != StopReason::timeout || frozen_until_ > started_at) return;
  promises::every_handler_ends_in_time(task.id, task.attempt, now() - started_at, timeout + stop_grace);
}

/// The handler runs on, and nobody waits for its end.
runtime::Report Worker::give_up(Executor& executor, std::size_t index) {
  check_ends(*executor.runners[index]);
  const auto [run, reason] = executor.pool.give_up(index);
  return runtime::report_without_handler(run.task, run.task.definition->declared, reason, run.started_at, now(),
                                         draw_for(run.task));
}

void Worker::replace(Executor& executor, std::size_t index) {
  add(give_up(executor, index));
  executor.pool.remove(index);
  std::swap(executor.runners[index], executor.runners.back());
  executor.runners.pop_back();
  add_missing_runners(executor);
}

// The completer.

/// As Completer::run.
void Worker::completer_step() {
  if (batch_ || writing_ || is_proving_) return;
  if (life_->completer_finishes) note_finish();
  const CompleterPlan::Action action = completer_.next({.has_reports = reports_.has_waiting(),
                                                        .is_lease_lapsed = life_->lease.state() == Lease::State::lapsed,
                                                        .circuits_at = life_->circuits.writes_at()},
                                                       now());
  switch (action.step) {
    case CompleterPlan::Step::prove:
      return prove();
    case CompleterPlan::Step::send:
      batch_.emplace(reports_.take());
      return batch_goes_on();
    case CompleterPlan::Step::write_circuits:
      return write_circuits();
    case CompleterPlan::Step::wait:
      return completer_waits(action.until);
    case CompleterPlan::Step::end:
      return completer_ended();
  }
}

void Worker::completer_waits(TimePoint until) {
  const bool is_awaited = completer_wakes_at_ > now() && completer_wakes_at_ <= until;
  if (until == runtime::never || is_awaited) return;
  completer_wakes_at_ = until;
  later(until - now(), [this] { completer_step(); });
}

/// As Completer::prove: a batch without reports. If the worker finishes meanwhile, the proof is not tried again.
void Worker::prove() {
  is_proving_ = true;
  ask(
      [this, lease = lease_id(), sent_at = now()]() -> Callback {
        if (world_.database.is_refused(Work::reports)) return [this] { proof_failed(); };
        (void)world_.database.complete(lease, {}, sent_at);
        return [this] {
          is_proving_ = false;
          completer_.on_proved();
          if (world_.mutant != Mutant::tells_nobody_of_its_proof) tell_of_room();
          completer_step();
        };
      },
      [this] { proof_failed(); });
}

void Worker::proof_failed() {
  const auto goes_on = [this] {
    is_proving_ = false;
    completer_step();
  };
  if (life_->completer_finishes) return goes_on();
  if (world_.mutant == Mutant::proves_once) {
    is_proving_ = false;  // the end of the worker goes on
    return;
  }
  later(100ms, goes_on);
}

void Worker::batch_goes_on() {
  for (const ReportBatch::Taken& taken : batch_->take_taken()) note_taken(taken);
  switch (batch_->state()) {
    case ReportBatch::State::sending:
      reports_.on_unsettled(batch_->unsettled());
      return send();
    case ReportBatch::State::explaining:
      return explain();
    case ReportBatch::State::ended:
      break;
  }
  completer_.on_written(reports_.on_written(batch_->take_again()), now());
  batch_.reset();
  tell_of_room();
  if (std::exchange(has_made_ready_, false)) tell_claimer({.has_ready = true});
  later(Duration{1us}, [this] { completer_step(); });
}

void Worker::note_taken(const ReportBatch::Taken& taken) {
  note_event(taken.report->circuit, taken.report->circuit_event);
  const Rerun rerun = runtime::rerun_of(taken);
  switch (rerun.when) {
    case Rerun::When::none:
      return;
    case Rerun::When::at_once:
      has_made_ready_ = true;
      return;
    case Rerun::When::later:
      if (world_.mutant == Mutant::forgets_a_deferral) return;
      tell_claimer({.due_at = now() + rerun.in});
  }
}

void Worker::send() {
  std::vector<runtime::Report> part{batch_->part().begin(), batch_->part().end()};
  const bool is_refused = std::any_of(part.begin(), part.end(),
                                      [](const runtime::Report& report) { return report.result_json == refused_json; });
  ask(
      [this, part = std::move(part), is_refused, lease = lease_id(), sent_at = world_.scheduler.now()]() -> Callback {
        if (world_.database.is_refused(Work::reports)) return [this] { sending_failed(); };
        if (is_refused) {
          return [this] {
            (void)batch_->on_refused("refused");
            batch_failed(Duration{1us});
          };
        }
        const std::set<TaskId> refused = world_.database.complete(lease, part, sent_at);
        return [this, refused, sent_at] {
          batch_->on_sent({refused.begin(), refused.end()}, sent_at);
          batch_goes_on();
        };
      },
      [this] { sending_failed(); });
}

void Worker::sending_failed() {
  if (world_.mutant == Mutant::drops_a_report) {
    batch_->on_sent({}, world_.scheduler.now());
  } else {
    batch_->on_failure();
  }
  batch_failed(world_.scheduler.between(1ms, 100ms));
}

void Worker::explain() {
  std::vector<runtime::Report> not_taken;
  for (const runtime::Report* report : batch_->not_taken()) not_taken.push_back(*report);
  ask(
      [this, not_taken = std::move(not_taken), lease = lease_id(), asked_at = world_.scheduler.now()] {
        std::vector<runtime::Holder> holders;
        for (const runtime::Report& report : not_taken) {
          holders.push_back(world_.database.who_holds(lease, {report.id, report.attempt}));
        }
        return [this, not_taken, holders, lease, asked_at] {
          std::vector<Verdict> verdicts;
          for (std::size_t i = 0; i < holders.size(); ++i) {
            verdicts.push_back(runtime::verdict_of(not_taken[i], holders[i], lease, batch_->sent_at()));
          }
          batch_->on_explained(verdicts, asked_at);
          batch_goes_on();
        };
      },
      [this] {
        batch_->on_failure();
        batch_failed(world_.scheduler.between(1ms, 100ms));
      });
}

/// As Completer::write: a worker that finishes tries no batch again.
void Worker::batch_failed(Duration pause) {
  const bool gives_up = life_->completer_finishes && world_.mutant != Mutant::tries_reports_for_ever;
  if (!gives_up) return later(pause, [this] { batch_goes_on(); });
  world_.trace("worker " + std::to_string(number_) + " gives a batch up");
  batch_.reset();
  completer_.on_given_up();
  completer_step();
}

/// As Completer::finish, when the time to write is over.
void Worker::finish_completer() {
  life_->completer_finishes = true;
  life_->awaits_completer = true;
  completer_step();
}

/// The circuit events that are due now have one more turn.
void Worker::note_finish() {
  if (completer_.state() == CompleterPlan::State::ready) {
    life_->owes_circuits = life_->circuits.writes_at() <= now();
    if (world_.mutant == Mutant::finishes_without_its_circuits) return completer_.on_given_up();
  }
  completer_.on_finish();
}

void Worker::completer_ended() {
  if (!std::exchange(life_->awaits_completer, false)) return;
  promises::a_worker_that_ends_tells_its_circuits(number_, life_->owes_circuits);
  later(Duration{1us}, [this] { shutdown_step_ended(reports_.is_empty()); });
}

// The lease keeper.

void Worker::keeper_step() {
  keeper_waits_ = false;
  if (life_->stops_services) life_->keeper.on_stopping(keeper_may_write_last());
  if (!life_->unwritten.empty()) life_->keeper.on_progress();
  const KeeperPlan::Action action = life_->keeper.next(now(), holds_any());
  switch (action.step) {
    case KeeperPlan::Step::beat:
      return beat();
    case KeeperPlan::Step::listen:
      return ask_keeper([this, connection = keeper_connections_] {
        if (connection == keeper_connections_) keeper_listens_on_ = connection;
        return [this] {
          life_->keeper.on_listening();
          tell_claimer({.server_is_back = true});
          note_for_upkeep({.worker_began = true});
        };
      });
    case KeeperPlan::Step::look:
      return look_for_cancellations();
    case KeeperPlan::Step::write:
    case KeeperPlan::Step::write_last:
      return write_progress();
    case KeeperPlan::Step::wait:
      keeper_waits_ = true;
      return later(action.until - now(), [this, wait = ++keeper_waits_so_far_] {
        if (keeper_waits_ && wait == keeper_waits_so_far_) keeper_step();
      });
    case KeeperPlan::Step::end:
      return keeper_ended();
  }
}

void Worker::wake_keeper() {
  if (std::exchange(keeper_waits_, false)) keeper_step();
}

void Worker::keeper_failed() {
  life_->keeper.on_failure();
  life_->is_keeper_connected = false;
  put_progress_back();
  ++keeper_connections_;
  later(100ms, [this] { keeper_step(); });
}

void Worker::beat() {
  ask_keeper([this, lease = lease_id(), sent_at = now()] {
    return [this, sent_at, is_renewed = world_.database.heartbeat(lease, lease_length)] {
      const TimePoint asked_at = world_.mutant == Mutant::renewal_counts_from_its_answer ? now() : sent_at;
      Lease& own = life_->lease;
      if (!is_renewed) {
        life_->keeper.on_ended();
        return on_lease(own.note_ended());
      }
      const Lease::Turn turn = own.note_renewed(asked_at, now());
      const bool is_busy = world_.mutant == Mutant::renews_as_if_busy || holds_any();
      life_->keeper.on_renewed(asked_at, own.until_next_renewal(heartbeat, is_busy));
      on_lease(turn);
    };
  });
}

void Worker::look_for_cancellations() {
  ask_keeper([this, lease = lease_id()] {
    return [this, to_cancel = world_.database.cancelling(lease)] {
      for (const auto& [id, attempt] : to_cancel) {
        for (Executor& executor : life_->executors) {
          const auto stop = executor.pool.cancel(id, attempt, now());
          if (!stop) continue;
          this->stop(executor, *stop);
          note_deadline(stop->given_up_at);
        }
      }
    };
  });
}

void Worker::keeper_ended() {
  life_->has_keeper_ended = true;
  if (!life_->stops_services) return;
  check_last_progress();
  stop_upkeep();
}

// The watchdog, which acts on time even if PostgreSQL does not answer.

void Worker::note_deadline(TimePoint deadline) {
  if (deadline >= watches_at_) return;
  watches_at_ = deadline;
  later(std::max(deadline - now(), Duration{0}), [this, watch = ++watches_] {
    if (watch == watches_) this->watch();
  });
}

void Worker::watch() {
  watches_at_ = runtime::never;
  for (Executor& executor : life_->executors) note_deadline(enforce_deadlines(executor));
  on_lease(life_->lease.lapse_if_due(now()));
  note_deadline(life_->lease.lapses_at());
}

/// As Services::on_lease.
void Worker::on_lease(Lease::Turn turn) {
  if (turn == Lease::Turn::none) return;
  world_.trace("worker " + std::to_string(number_) + ": its lease is " + std::string{to_text(turn)});
  if (stops_handlers(turn)) stop_all(StopReason::lease_lost);
  if (frees_reports(turn)) completer_step();
  look_at_lease();
}

TimePoint Worker::enforce_deadlines(Executor& executor) {
  const Pool::Due due = executor.pool.due(now());
  for (const Pool::Stop& stop : due.stops) this->stop(executor, stop);
  TimePoint next = due.next;
  for (const std::size_t index : due.overdue) {
    const TimePoint started_at = executor.runners[index]->slot.run().started_at;
    if (world_.mutant == Mutant::gives_no_handler_up && now() < started_at + longest_attempt) {
      next = std::min(next, now() + timeout);
    } else {
      replace(executor, index);
    }
  }
  begin_tasks();
  return next;
}

void Worker::look_at_lease(bool stop_requested) {
  Incarnation& incarnation = life_->incarnation;
  if (incarnation.state() == Incarnation::State::draining) return;
  incarnation.on_seen({.stop_requested = stop_requested, .lease = life_->lease.state()});
  if (incarnation.state() != Incarnation::State::draining) return;
  world_.trace("worker " + std::to_string(number_) + " drains: " + std::string{to_text(incarnation.end())});
  life_->shutdown.emplace(Shutdown::Times{.grace = incarnation.grace(grace), .stop_grace = stop_grace});
  life_->keeper.on_draining();
  wake_keeper();
  plan_->on_stopping();
  wake_claimer();
  if (life_->has_claimer_ended) later(Duration{1us}, [this] { carry_out_shutdown(); });
}

// The end of an incarnation, after which the worker goes on under another lease, or is down for a while.

void Worker::carry_out_shutdown() {
  const Shutdown::Action action = life_->shutdown->next(now());
  const auto has_written = [this] { return reports_.is_empty(); };
  const auto is_idle = [this] { return !waits_or_is_busy(); };
  const auto ends = [this](bool success) { shutdown_step_ended(success); };
  switch (action.step) {
    case Shutdown::Step::stop_claiming:  // look_at_lease() has told the claimer to stop, and the claimer has ended
      return shutdown_step_ended(true);
    case Shutdown::Step::give_back:
      take_back();
      life_->last_release.emplace(!life_->unstarted.empty(), action.until);
      return last_release_step();
    case Shutdown::Step::let_finish:
      return wait_for(action.until, is_idle, ends);
    case Shutdown::Step::stop_handlers:
      stop_all(StopReason::shutdown);
      return wait_for(action.until, is_idle, ends);
    case Shutdown::Step::give_up_handlers:
      give_up_handlers();
      return shutdown_step_ended(true);
    case Shutdown::Step::write_reports:
      return wait_for(action.until, has_written, ends);
    case Shutdown::Step::finish_reports:
      return wait_for(action.until, has_written, [this](bool) { finish_completer(); });
    case Shutdown::Step::sign_off:
      return ask_for_shutdown([this, lease = lease_id()] { world_.database.stop_worker(lease); });
    case Shutdown::Step::record_interrupted:
      record_interrupted();
      return shutdown_step_ended(true);
    case Shutdown::Step::wake_others:
      return ask_for_shutdown([this, lease = lease_id()] { world_.database.wake_others(lease, queue_set_); });
    case Shutdown::Step::ended:
      return stop_services();
  }
}

void Worker::shutdown_step_ended(bool success) {
  life_->shutdown->on_done(success);
  carry_out_shutdown();
}

void Worker::wait_for(TimePoint until, Callable<bool> is_over, std::function<void(bool)> then) {
  const bool success = is_over();
  if (success || now() >= until) return then(success);
  later(std::min<Duration>(10ms, until - now()),
        [this, until, is_over = std::move(is_over), then = std::move(then)]() mutable {
          wait_for(until, std::move(is_over), std::move(then));
        });
}

template <class Statement>
void Worker::ask_for_shutdown(Statement statement) {
  ask(
      [this, statement = std::move(statement)] {
        statement();
        return [this] { shutdown_step_ended(true); };
      },
      [this] { shutdown_step_ended(false); });
}

void Worker::take_back() {
  const std::vector<ClaimedTask> tasks = joined(life_->executors, [](Pool& pool) { return pool.take_back(); });
  if (world_.mutant == Mutant::stops_without_giving_back) return;
  if (world_.mutant != Mutant::interrupts_what_has_not_begun) {
    life_->unstarted = tasks;
    return;
  }
  for (const ClaimedTask& task : tasks) {
    life_->given_up.push_back(runtime::report_of(task, task.definition->declared, now(), now(),
                                                 {.ending = {.outcome = lifecycle::Outcome::interrupted}}, {},
                                                 draw_for(task)));
  }
}

void Worker::last_release_step() {
  const auto ask_again = [this](auto statement) {
    ask(
        [this, statement = std::move(statement)] {
          return [this, answer = statement()] {
            answer();
            last_release_step();
          };
        },
        [this] { later(100ms, [this] { last_release_step(); }); });
  };
  Database& database = world_.database;
  const std::int64_t lease = lease_id();
  const std::int64_t session = plan_->certainty().session();
  const LastRelease::Action action = life_->last_release->next(plan_->certainty(), now());
  switch (action.step) {
    case LastRelease::Step::begin_session:
      return ask_again([this, lease, &database, next = plan_->next_session()] {
        database.begin_claim_session(lease, next);
        return [this] { plan_->on_session_begun(now()); };
      });
    case LastRelease::Step::release:
      return ask_again([this, lease, unstarted = attempts_of(life_->unstarted), session] {
        return [this, mine = release(lease, unstarted, session)] {
          life_->last_release->on_released();
          note_not_begun(life_->unstarted);
          for (const TaskId id : mine) plan_->on_locked(id, now());
        };
      });
    case LastRelease::Step::give_back_unknown:
      return ask_again([this, lease, &database, known = held(), session] {
        return [this, unknown = database.release_unknown(lease, known, session)] {
          plan_->on_given_back(unknown.released, unknown.locked, now());
        };
      });
    case LastRelease::Step::wait:
      return later(action.until - now(), [this] { last_release_step(); });
    case LastRelease::Step::given_back:
      return shutdown_step_ended(true);
    case LastRelease::Step::given_up:
      return shutdown_step_ended(false);
  }
}

void Worker::give_up_handlers() {
  for (Executor& executor : life_->executors) {
    executor.pool.close();
    for (const std::size_t index : executor.pool.with_handler()) life_->given_up.push_back(give_up(executor, index));
  }
}

void Worker::record_interrupted() {
  for (runtime::Report& report : std::exchange(life_->given_up, {})) {
    if (world_.mutant == Mutant::spends_a_retry_on_an_interruption) ++report.transition.retry_count;
    add(std::move(report));
  }
}

/// As the destructor of Services: the keeper ends first, and then upkeep.
void Worker::stop_services() {
  life_->stops_services = true;
  life_->owes_progress = true;
  life_->last_before_stop = world_.last_progress;
  if (life_->has_keeper_ended) return stop_upkeep();
  wake_keeper();
}

void Worker::begin_again() {
  const std::int64_t previous = lease_id();
  const bool has_stopped = life_->incarnation.end() == Incarnation::End::stop_requested;
  const auto down_for = life_->down_for;
  end_life();
  if (!has_stopped) return begin_registering(Registering::Occasion::lease_lost, previous);
  world_.trace("worker " + std::to_string(number_) + " has stopped");
  if (down_for) return end_process(*down_for);
  begin_registering(Registering::Occasion::restart, previous);
}

}  // namespace dogged::sim
