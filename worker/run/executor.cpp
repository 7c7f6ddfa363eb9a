// See executor.hpp.
#include "run/executor.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <dogged/detail/mutex.hpp>
#include <dogged/retry_options.hpp>

#include "claim/prefetch.hpp"
#include "retry/counted.hpp"

namespace dogged::runtime {

/// The work of one thread. Accessed with State::mutex held; only the thread itself reads its running task without the
/// mutex.
struct Executor::Slot {
  std::optional<ClaimedTask> task;
  SteadyClock::time_point started_at;
  SteadyClock::time_point deadline;
  std::optional<StopSignal> stop;
  std::optional<SteadyClock::time_point> stopped_at;  // when its stop token was set
  bool reported = false;
  bool given_up = false;

  void begin(ClaimedTask next, SteadyClock::time_point now) {
    task = std::move(next);
    stop.emplace();
    stopped_at.reset();
    reported = false;
    started_at = now;
    deadline = deadline_of(*task, now);
  }

  [[nodiscard]] bool runs() const { return task && !reported && !given_up; }

  void request_stop(StopReason reason, SteadyClock::time_point now) {
    stop->request(reason);
    if (!stopped_at) stopped_at = now;
  }

  /// Whether the attempt ends when the stop grace is over. At a shutdown the worker ends all attempts at once, after it
  /// has signed off.
  [[nodiscard]] bool ends_with_grace() const {
    return stopped_at && (stop->reason() == StopReason::timeout || stop->reason() == StopReason::cancelled);
  }
};

struct Executor::State : std::enable_shared_from_this<State> {
  State(const Settings& with, Surroundings surrounded_by)
      : settings(with), around(std::move(surrounded_by)), concurrency(with.concurrency) {}

  [[nodiscard]] bool may_begin() const DOGGED_REQUIRES(mutex) {
    return !closed && running < concurrency && !waiting.empty();
  }
  void note_run(std::chrono::nanoseconds run) DOGGED_REQUIRES(mutex) {
    run = std::max(run, std::chrono::nanoseconds{1});
    average_run = average_run.count() == 0 ? run : average_run + (run - average_run) / 16;
  }
  void add_threads() DOGGED_REQUIRES(mutex);
  void start_missing_threads() DOGGED_REQUIRES(mutex);
  [[nodiscard]] Report give_up(std::size_t index) DOGGED_REQUIRES(mutex);
  void replace(std::size_t index) DOGGED_REQUIRES(mutex);
  void run_thread(const std::shared_ptr<Slot>& slot);
  [[nodiscard]] Report run_task(Slot& slot) const;
  void count(const Slot& slot, const Report& report) const;

  const Settings settings;
  const Surroundings around;

  detail::Mutex mutex;
  detail::Condition work_or_end;
  detail::Condition idle;
  std::deque<ClaimedTask> waiting DOGGED_GUARDED_BY(mutex);
  std::size_t concurrency DOGGED_GUARDED_BY(mutex);
  std::vector<ClaimedTask> expired DOGGED_GUARDED_BY(mutex);  // before they could begin
  // threads[i] works in slots[i]. There may be more threads than run at once, and fewer if the system refuses more.
  std::vector<std::shared_ptr<Slot>> slots DOGGED_GUARDED_BY(mutex);
  std::vector<std::thread> threads DOGGED_GUARDED_BY(mutex);
  std::size_t running DOGGED_GUARDED_BY(mutex) = 0;
  std::size_t reporting DOGGED_GUARDED_BY(mutex) = 0;  // of those that run: the handler has ended
  // Exponentially weighted: 1/16 for the latest.
  std::chrono::nanoseconds average_run DOGGED_GUARDED_BY(mutex){0};
  bool lacks_threads DOGGED_GUARDED_BY(mutex) = false;  // some could not be started
  bool closed DOGGED_GUARDED_BY(mutex) = false;         // nothing is begun any more
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
  return state_->concurrency;
}

void Executor::set_concurrency(std::size_t concurrency) {
  {
    const detail::Lock lock{state_->mutex};
    state_->concurrency = concurrency;
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
  slots.reserve(concurrency);
  threads.reserve(concurrency);  // a thread that could not be kept would end the process
  while (slots.size() < concurrency) {
    auto slot = std::make_shared<Slot>();
    threads.emplace_back([state = shared_from_this(), slot] { state->run_thread(slot); });
    slots.push_back(std::move(slot));
  }
}

/// Logs when threads begin to be missing, and when all are there again.
void Executor::State::start_missing_threads() {
  try {
    add_threads();
  } catch (const std::system_error& error) {
    if (!std::exchange(lacks_threads, true)) {
      around.log->error("queue {}: runs {} at once and not {}, until more threads can be started: {}", settings.queue,
                        counted(slots.size(), "task"), concurrency, error.what());
    }
    return;
  }
  if (std::exchange(lacks_threads, false)) {
    around.log->info("queue {}: has all of its threads now, and runs {} at once", settings.queue,
                     counted(concurrency, "task"));
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

void Executor::State::run_thread(const std::shared_ptr<Slot>& slot) {
  detail::Lock lock{mutex};
  while (true) {
    while (!ended && !may_begin()) work_or_end.wait(lock);
    if (ended) return;
    const auto now = SteadyClock::now();
    if (now >= around.lease->held_until()) {
      closed = true;
      continue;
    }
    ClaimedTask next = std::move(waiting.front());
    waiting.pop_front();
    if (now >= next.expires_at) {
      expired.push_back(std::move(next));
      lock.unlock();
      around.listener.on_expired();
      lock.lock();
      continue;
    }
    slot->begin(std::move(next), now);
    ++running;
    if (slot->deadline != SteadyClock::time_point::max()) around.listener.on_deadline(slot->deadline);

    lock.unlock();
    Report report = run_task(*slot);
    lock.lock();

    if (slot->given_up) {
      --around.tally->abandoned_threads;
      around.log->info("task {} attempt {}: its handler, which was given up, has ended", report.id, report.attempt);
      return;
    }
    note_run(report.finished_at - report.started_at);
    slot->reported = true;
    ++reporting;
    lock.unlock();
    count(*slot, report);
    around.listener.on_report(
        std::move(report));  // before the task leaves the slot: held() must not miss it in between
    lock.lock();
    slot->task.reset();
    --reporting;
    --running;
    if (running == 0) idle.notify_all();
  }
}

Report Executor::State::run_task(Slot& slot) const {
  if (slot.task->cancelled) return report_not_begun(*slot.task);
  return run_attempt(*slot.task, *slot.stop, slot.started_at, settings.attempts, *around.log, random_draw());
}

void Executor::State::count(const Slot& slot, const Report& report) const {
  around.tally->attempts.ended(settings.queue, slot.task->definition->name, report.transition.outcome,
                               report.finished_at - report.started_at);
}

void Executor::submit(std::vector<ClaimedTask> tasks) {
  {
    const detail::Lock lock{state_->mutex};
    for (ClaimedTask& task : tasks) state_->waiting.push_back(std::move(task));
  }
  if (tasks.size() == 1) {
    state_->work_or_end.notify_one();
  } else {
    state_->work_or_end.notify_all();
  }
}

std::size_t Executor::demand() const {
  const detail::Lock lock{state_->mutex};
  const std::size_t concurrency = std::min(state_->concurrency, state_->slots.size());
  const std::size_t ahead = prefetch(concurrency, state_->average_run);
  const std::size_t target = concurrency + ahead;
  // A thread that is reporting is as good as free: its report may be what makes the claimer ask.
  const std::size_t held_now = state_->waiting.size() + state_->running - state_->reporting;
  // With tasks ahead there is time to gather a batch. Without them, every free thread counts.
  const std::size_t refill_below = ahead > 0 ? concurrency + ahead / 2 : target;
  return held_now < refill_below ? target - held_now : 0;
}

Executor::Load Executor::load() const {
  const detail::Lock lock{state_->mutex};
  return {.slots = state_->concurrency, .running = state_->running, .waiting = state_->waiting.size()};
}

bool Executor::has_waiting() const {
  const detail::Lock lock{state_->mutex};
  return !state_->waiting.empty();
}

bool Executor::holds_any() const {
  const detail::Lock lock{state_->mutex};
  return !state_->waiting.empty() || !state_->expired.empty() || state_->running > 0;
}

std::vector<Attempt> Executor::held() const {
  const detail::Lock lock{state_->mutex};
  std::vector<Attempt> attempts;
  for (const ClaimedTask& task : state_->waiting) attempts.push_back({task.id, task.attempt});
  for (const ClaimedTask& task : state_->expired) attempts.push_back({task.id, task.attempt});
  for (const auto& slot : state_->slots) {
    if (slot->task) attempts.push_back({slot->task->id, slot->task->attempt});
  }
  return attempts;
}

std::vector<ClaimedTask> Executor::take_expired() {
  const detail::Lock lock{state_->mutex};
  return std::exchange(state_->expired, {});
}

std::vector<ClaimedTask> Executor::take_back() {
  const detail::Lock lock{state_->mutex};
  std::vector<ClaimedTask> tasks = std::exchange(state_->expired, {});
  tasks.insert(tasks.end(), std::make_move_iterator(state_->waiting.begin()),
               std::make_move_iterator(state_->waiting.end()));
  state_->waiting.clear();
  return tasks;
}

std::vector<ClaimedTask> Executor::take_back_older_than(milliseconds age) {
  {
    const detail::Lock lock{state_->mutex};
    if (state_->waiting.empty() || SteadyClock::now() - state_->waiting.front().claimed_at < age) return {};
    state_->average_run = std::max<std::chrono::nanoseconds>(state_->average_run, age);  // running tasks take that long
  }
  return take_back();
}

bool Executor::wait_idle(SteadyClock::time_point until) {
  detail::Lock lock{state_->mutex};
  while (state_->running > 0 || !state_->waiting.empty()) {
    if (!state_->idle.wait_until(lock, until)) break;
  }
  return state_->running == 0 && state_->waiting.empty();
}

void Executor::stop_all(StopReason reason) {
  const detail::Lock lock{state_->mutex};
  state_->closed = true;
  for (const auto& slot : state_->slots) {
    if (slot->runs()) slot->request_stop(reason, SteadyClock::now());
  }
}

void Executor::cancel(TaskId id, int attempt) {
  const detail::Lock lock{state_->mutex};
  for (ClaimedTask& task : state_->waiting) {
    if (task.id == id && task.attempt == attempt) task.cancelled = true;
  }
  for (const auto& slot : state_->slots) {
    if (slot->runs() && slot->task->id == id && slot->task->attempt == attempt) {
      slot->request_stop(StopReason::cancelled, SteadyClock::now());
      state_->around.listener.on_deadline(*slot->stopped_at + settings_.stop_grace);
    }
  }
}

SteadyClock::time_point Executor::enforce_deadlines(SteadyClock::time_point now) {
  auto next = SteadyClock::time_point::max();
  const detail::Lock lock{state_->mutex};
  for (std::size_t i = state_->slots.size(); i-- > 0;) {  // backwards, because of replace()
    Slot& slot = *state_->slots[i];
    if (!slot.runs()) continue;
    if (!slot.stopped_at && now >= slot.deadline) slot.request_stop(StopReason::timeout, now);
    if (!slot.stopped_at) {
      next = std::min(next, slot.deadline);
    } else if (slot.ends_with_grace()) {
      const auto given_up_at = *slot.stopped_at + settings_.stop_grace;
      if (now >= given_up_at) {
        state_->replace(i);
      } else {
        next = std::min(next, given_up_at);
      }
    }
  }
  return next;
}

/// Detaches the thread of a slot. The slot belongs to that thread alone from now on.
Report Executor::State::give_up(std::size_t index) {
  Slot& slot = *slots[index];
  slot.given_up = true;
  --running;
  ++around.tally->abandoned_threads;
  threads[index].detach();
  Report report = report_without_handler(*slot.task, slot.stop->reason(), slot.started_at, random_draw());
  count(slot, report);
  return report;
}

/// Gives up the handler of a slot, and starts another thread in its place, or later if none can be started now. The
/// slots before it stay where they are.
void Executor::State::replace(std::size_t index) {
  Report report = give_up(index);
  around.log->error(
      "task {} attempt {}: its handler ignores its stop token; the attempt ends as {} without it, and this "
      "process carries {} abandoned threads",
      report.id, report.attempt, lifecycle::to_text(report.transition.outcome), around.tally->abandoned_threads.load());
  around.listener.on_report(std::move(report));  // before the task leaves the slot, as in run_thread
  std::swap(slots[index], slots.back());
  std::swap(threads[index], threads.back());
  slots.pop_back();
  threads.pop_back();
  start_missing_threads();
  work_or_end.notify_one();  // if no thread was started, one that waits may take the next task now
  if (running == 0) idle.notify_all();
}

std::vector<Report> Executor::give_up_all() {
  std::vector<Report> reports;
  detail::Lock lock{state_->mutex};
  state_->closed = true;
  for (std::size_t i = 0; i < state_->slots.size(); ++i) {
    if (state_->slots[i]->runs()) reports.push_back(state_->give_up(i));
  }
  while (state_->running > 0) state_->idle.wait(lock);  // attempts that have ended are about to be reported
  return reports;
}

}  // namespace dogged::runtime
