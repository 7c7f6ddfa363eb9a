// See executor.hpp.
#include "run/executor.hpp"

#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <cxxabi.h>

#include <dogged/detail/mutex.hpp>
#include <dogged/retry_options.hpp>

#include "base/first_defect.hpp"
#include "client/log_event.hpp"
#include "run/attempt.hpp"
#include "run/core/ending.hpp"
#include "run/stop_signal.hpp"
#include "tasks/attempt_logger.hpp"
#include "tasks/definition.hpp"
#include "tasks/in_force.hpp"
#include "text/counted.hpp"

namespace dogged::runtime {

/// The work of one thread. The thread shares it, because an abandoned thread outlives the executor.
struct Executor::Runner {
  Pool::Slot slot;
  std::optional<AttemptTrace> trace;  // of the slot's run, or of its next one
  std::optional<StopSignal> stop;     // likewise

  /// For the slot's next run. May throw.
  void prepare() {
    if (!trace) trace.emplace();
    if (!stop) stop.emplace();
  }
  void forget_run() noexcept {
    trace.reset();
    stop.reset();
  }
  const Definition* counted = nullptr;
  AttemptCounts::ByOutcome* counts = nullptr;  // of `counted`, which ran last
};

struct Executor::State : std::enable_shared_from_this<State> {
  State(const Settings& with, Surroundings surrounded_by)
      : settings(with), around(std::move(surrounded_by)), pool(with.concurrency, with.stop_grace) {}

  void add_threads() DOGGED_REQUIRES(mutex);
  void start_missing_threads() DOGGED_REQUIRES(mutex);
  void request(const Pool::Stop& stop) DOGGED_REQUIRES(mutex) { runners[stop.slot]->stop->request(stop.reason); }
  [[nodiscard]] Report give_up(std::size_t index) DOGGED_REQUIRES(mutex);
  void replace(std::size_t index) DOGGED_REQUIRES(mutex);
  void run_thread(Runner& runner);
  void run_tasks(Runner& runner);
  void end_broken(Runner& runner, std::exception_ptr error);
  /// Carries out the pool's answer, except wait. False if the handler was given up meanwhile.
  [[nodiscard]] bool carry_out(Pool::Next next, Runner& runner);
  /// Runs the handler, and hands the report on. False if the handler was given up meanwhile.
  [[nodiscard]] bool run_task(Runner& runner);
  void hand_on(Runner& runner, Report report) const;
  [[nodiscard]] Report run_handler(Runner& runner) const;
  void note_end(Runner& runner, Report& report) const;

  const Settings settings;
  const Surroundings around;

  detail::Mutex mutex;
  detail::Condition work_or_end;
  detail::Condition idle;
  Pool pool DOGGED_GUARDED_BY(mutex);
  // threads[i] works in runners[i], whose slot is the pool's slot i. There are fewer than wanted if the system refuses
  // more.
  std::vector<std::shared_ptr<Runner>> runners DOGGED_GUARDED_BY(mutex);
  std::vector<std::thread> threads DOGGED_GUARDED_BY(mutex);
  bool lacks_threads DOGGED_GUARDED_BY(mutex) = false;  // some could not be started
  bool ended DOGGED_GUARDED_BY(mutex) = false;
};

Executor::Executor(Settings settings, Surroundings surroundings)
    : settings_(std::move(settings)), state_(std::make_shared<State>(settings_, std::move(surroundings))) {
  try {
    const detail::Lock lock{state_->mutex};
    state_->add_threads();
  } catch (const std::system_error& error) {
    end_threads();
    throw Error("cannot start " + std::to_string(settings_.concurrency) + " threads for queue " + settings_.queue +
                    ": " + error.what(),
                "lower its concurrency (--queues), or raise the limit of processes (ulimit -u, pids.max)");
  }
}

Executor::~Executor() { end_threads(); }

std::size_t Executor::concurrency() const {
  const detail::Lock lock{state_->mutex};
  return state_->pool.concurrency();
}

void Executor::set_concurrency(std::size_t concurrency) {
  {
    const detail::Lock lock{state_->mutex};
    state_->pool.set_concurrency(concurrency);
    state_->start_missing_threads();
  }
  state_->work_or_end.notify_all();
}

void Executor::start_missing_threads() {
  const detail::Lock lock{state_->mutex};
  state_->start_missing_threads();
}

/// Throws std::system_error if the system refuses a thread.
void Executor::State::add_threads() {
  pool.reserve_slots(pool.concurrency());
  runners.reserve(pool.concurrency());
  threads.reserve(pool.concurrency());  // a thread that could not be kept would end the process
  while (pool.slots() < pool.concurrency()) {
    auto runner = std::make_shared<Runner>();
    threads.emplace_back([state = shared_from_this(), runner] { state->run_thread(*runner); });
    pool.add({runner, &runner->slot});
    runners.push_back(std::move(runner));
  }
}

/// Logs when threads begin to be missing, and when all are there again.
void Executor::State::start_missing_threads() {
  try {
    add_threads();
  } catch (const std::system_error& error) {
    if (!std::exchange(lacks_threads, true)) {
      around.log->log(event("threads_missing"), spdlog::level::err,
                      "queue {}: runs {} at once and not {}, until more threads can be started: {}", settings.queue,
                      counted(pool.slots(), "task"), pool.concurrency(), error.what());
    }
    return;
  }
  if (std::exchange(lacks_threads, false)) {
    around.log->log(event("threads_complete"), spdlog::level::info,
                    "queue {}: has all of its threads now, and runs {} at once", settings.queue,
                    counted(pool.concurrency(), "task"));
  }
}

void Executor::end_threads() {
  std::vector<std::thread> threads;
  {
    const detail::Lock lock{state_->mutex};
    state_->ended = true;
    threads.swap(state_->threads);
  }
  state_->work_or_end.notify_all();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

void Executor::State::run_thread(Runner& runner) {
  try {
    run_tasks(runner);
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit in the handler: the thread must be let go
  } catch (...) {
    end_broken(runner, std::current_exception());
  }
}

/// An abandoned thread only logs the mistake, because the listener may be gone.
void Executor::State::end_broken(Runner& runner, std::exception_ptr error) {
  {
    const detail::Lock lock{mutex};
    if (!pool.on_broken(runner.slot)) {
      --around.tally->abandoned_threads;
      attempt_logger(*around.log, runner.slot.run().task, runner.trace->context())
          ->log(event("abandoned_thread_broken"), spdlog::level::err,
                "the thread of its handler, which was given up, met a mistake of dogged: {}", message_of(error));
      return;
    }
    if (!pool.busy_any()) idle.notify_all();
  }
  around.listener.on_defect(std::move(error));
}

void Executor::State::run_tasks(Runner& runner) {
  detail::Lock lock{mutex};
  while (!ended) {
    runner.prepare();  // before the pool hands out a task, which would be lost if there is no memory
    // Before the lease is read: a renewal between the two must not make a lease look lapsed that never was.
    const TimePoint now = SteadyClock::now();
    const Pool::Next next = pool.next(runner.slot, now, around.lease->get().held_until());
    if (next == Pool::Next::wait) {
      work_or_end.wait(lock);
      continue;
    }
    if (next == Pool::Next::run) {
      const TimePoint deadline = runner.slot.run().deadline;
      if (deadline != never) around.listener.on_deadline(deadline);
    }
    lock.unlock();
    if (!carry_out(next, runner)) return;
    lock.lock();
    if (next != Pool::Next::expired) {
      pool.on_reported(runner.slot);
      runner.forget_run();
      if (!pool.busy_any()) idle.notify_all();
    }
  }
}

bool Executor::State::carry_out(Pool::Next next, Runner& runner) {
  switch (next) {
    case Pool::Next::expired:
      around.listener.on_expired();
      return true;
    case Pool::Next::cancelled: {
      const ClaimedTask& task = runner.slot.run().task;
      hand_on(runner, report_not_begun(task, task.definition->in_force->current(), SteadyClock::now()));
      return true;
    }
    case Pool::Next::run:
      return run_task(runner);
    case Pool::Next::wait:
      break;
  }
  return true;
}

bool Executor::State::run_task(Runner& runner) {
  Report report = run_handler(runner);
  {
    const detail::Lock lock{mutex};
    if (!pool.on_ended(runner.slot, report.finished_at - report.started_at)) {
      --around.tally->abandoned_threads;
      attempt_logger(*around.log, report)
          ->log(event("abandoned_thread_ended"), spdlog::level::info, "its handler, which was given up, has ended");
      return false;
    }
  }
  hand_on(runner, std::move(report));
  return true;
}

/// The executor hands the report on before the task leaves its slot, so that held() always finds the task.
void Executor::State::hand_on(Runner& runner, Report report) const {
  note_end(runner, report);
  around.listener.on_report(std::move(report));
}

Report Executor::State::run_handler(Runner& runner) const {
  const Pool::Run& run = runner.slot.run();
  AttemptTrace& trace = *runner.trace;
  if (!trace.begin(run.task, settings.attempts, *around.log)) ++around.tally->traces.malformed_contexts;
  Report report = run_attempt(run, *runner.stop, settings.attempts, trace, *around.log, random_draw());
  trace.leave();
  return report;
}

void Executor::State::note_end(Runner& runner, Report& report) const {
  runner.trace->end(report);
  const Definition* definition = runner.slot.run().task.definition;
  if (std::exchange(runner.counted, definition) != definition) {
    runner.counts = &around.tally->attempts.of_task(settings.queue, definition->name);
  }
  around.tally->attempts.ended({.queue = settings.queue,
                                .task = definition->name,
                                .outcome = report.transition.outcome,
                                .error_code = report.transition.code(),
                                .ran = report.finished_at - report.started_at,
                                .trace = report.trace ? &*report.trace : nullptr},
                               *runner.counts);
}

void Executor::submit(std::vector<ClaimedTask> tasks) {
  const bool is_one = tasks.size() == 1;
  {
    const detail::Lock lock{state_->mutex};
    state_->pool.submit(std::move(tasks));
  }
  if (is_one) {
    state_->work_or_end.notify_one();
  } else {
    state_->work_or_end.notify_all();
  }
}

std::size_t Executor::demand() const {
  const detail::Lock lock{state_->mutex};
  return state_->pool.demand();
}

Executor::Load Executor::load() const {
  const detail::Lock lock{state_->mutex};
  return state_->pool.load();
}

bool Executor::has_waiting() const {
  const detail::Lock lock{state_->mutex};
  return state_->pool.has_waiting();
}

bool Executor::holds_any() const {
  const detail::Lock lock{state_->mutex};
  return state_->pool.holds_any();
}

std::vector<Attempt> Executor::held() const {
  const detail::Lock lock{state_->mutex};
  return state_->pool.held();
}

std::vector<ClaimedTask> Executor::take_expired() {
  const detail::Lock lock{state_->mutex};
  return state_->pool.take_expired();
}

std::vector<ClaimedTask> Executor::take_back() {
  const detail::Lock lock{state_->mutex};
  return state_->pool.take_back();
}

std::vector<ClaimedTask> Executor::take_back_older_than(milliseconds age) {
  const detail::Lock lock{state_->mutex};
  return state_->pool.take_back_older_than(age, SteadyClock::now());
}

bool Executor::wait_idle(SteadyClock::time_point until) {
  detail::Lock lock{state_->mutex};
  while (state_->pool.busy_any() || state_->pool.has_waiting()) {
    if (!state_->idle.wait_until(lock, until)) break;
  }
  return !state_->pool.busy_any() && !state_->pool.has_waiting();
}

void Executor::stop_all(StopReason reason) {
  const detail::Lock lock{state_->mutex};
  for (const Pool::Stop& stop : state_->pool.stop_all(reason, SteadyClock::now())) state_->request(stop);
}

void Executor::cancel(TaskId id, int attempt) {
  const detail::Lock lock{state_->mutex};
  const auto stop = state_->pool.cancel(id, attempt, SteadyClock::now());
  if (!stop) return;
  state_->request(*stop);
  if (stop->given_up_at != never) state_->around.listener.on_deadline(stop->given_up_at);
}

SteadyClock::time_point Executor::enforce_deadlines(SteadyClock::time_point now) {
  const detail::Lock lock{state_->mutex};
  const Pool::Due due = state_->pool.due(now);
  for (const Pool::Stop& stop : due.stops) state_->request(stop);
  for (const std::size_t index : due.overdue) state_->replace(index);  // from the last: the others keep their indices
  return due.next;
}

/// Detaches the thread of a slot. The slot belongs to that thread alone from now on.
Report Executor::State::give_up(std::size_t index) {
  const auto [run, reason] = pool.give_up(index);
  ++around.tally->abandoned_threads;
  threads[index].detach();
  Report report = report_without_handler(run.task, run.task.definition->in_force->current(), reason, run.started_at,
                                         SteadyClock::now(), random_draw());
  note_end(*runners[index], report);
  return report;
}

/// Gives up the handler of a slot, and starts another thread in its place, or later if none can be started now.
void Executor::State::replace(std::size_t index) {
  Report report = give_up(index);
  attempt_logger(*around.log, report)
      ->log(event("thread_abandoned"), spdlog::level::err,
            "its handler ignores its stop token; the attempt ends as {} without it, and this process carries {} "
            "abandoned threads",
            lifecycle::to_text(report.transition.outcome), around.tally->abandoned_threads.load());
  around.listener.on_report(std::move(report));  // before the task leaves the slot, as in hand_on
  pool.remove(index);
  std::swap(runners[index], runners.back());
  runners.pop_back();
  std::swap(threads[index], threads.back());
  threads.pop_back();
  start_missing_threads();
  work_or_end.notify_one();  // if no thread was started, one that waits may take the next task now
  if (!pool.busy_any()) idle.notify_all();
}

std::vector<Report> Executor::give_up_all() {
  std::vector<Report> reports;
  detail::Lock lock{state_->mutex};
  state_->pool.close();
  for (const std::size_t index : state_->pool.with_handler()) reports.push_back(state_->give_up(index));
  while (state_->pool.busy_any()) state_->idle.wait(lock);  // attempts that have ended are about to be reported
  return reports;
}

}  // namespace dogged::runtime
