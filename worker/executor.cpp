// See executor.hpp.
#include "executor.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <dogged/retry_options.hpp>

#include "prefetch.hpp"

namespace dogged::runtime {

/// What a thread is at.
struct Executor::Slot {
  std::optional<ClaimedTask> task;
  SteadyClock::time_point started_at;
  SteadyClock::time_point deadline;
  std::optional<StopSignal> stop;
  std::optional<SteadyClock::time_point> stopped_at;  // when its stop token was set
  bool reported = false;
  bool given_up = false;

  [[nodiscard]] bool runs() const { return task && !reported && !given_up; }

  void request_stop(StopReason reason, SteadyClock::time_point now) {
    stop->request(reason);
    if (!stopped_at) stopped_at = now;
  }

  /// Whether the stop grace ends the attempt. At a shutdown the worker ends all at once, when it has signed off.
  [[nodiscard]] bool ends_with_grace() const {
    return stopped_at && (stop->reason() == StopReason::timeout || stop->reason() == StopReason::cancelled);
  }
};

struct Executor::State {
  State(const Settings& with, Surroundings surrounded_by)
      : settings(with),
        around(std::move(surrounded_by)),
        concurrency(with.concurrency),
        slots(with.concurrency),
        threads(with.concurrency) {}

  const Settings settings;
  const Surroundings around;

  std::mutex mutex;
  std::condition_variable work_or_end;
  std::condition_variable idle;
  std::deque<ClaimedTask> waiting;
  std::size_t concurrency;
  std::vector<ClaimedTask> expired;  // before they could begin
  std::vector<std::shared_ptr<Slot>> slots;
  // threads[i] works in slots[i]; there may be more than run at once, and fewer where the system has no more.
  std::vector<std::thread> threads;
  std::size_t running = 0;
  std::size_t reporting = 0;                // of those that run: their handler has ended
  std::chrono::nanoseconds average_run{0};  // exponentially weighted, 1/16 for the latest
  bool lacks_threads = false;               // some could not be started
  bool closed = false;                      // nothing is begun any more
  bool ended = false;

  void note_run(std::chrono::nanoseconds run) {
    run = std::max(run, std::chrono::nanoseconds{1});
    average_run = average_run.count() == 0 ? run : average_run + (run - average_run) / 16;
  }

  /// With the mutex held: lets the thread of a slot go, which works in it on its own from now on.
  Report give_up(std::size_t index) {
    Slot& slot = *slots[index];
    slot.given_up = true;
    --running;
    ++around.tally->abandoned_threads;
    threads[index].detach();
    return report_without_handler(*slot.task, slot.stop->reason(), slot.started_at, random_draw());
  }
};

Executor::Executor(Settings settings, Surroundings surroundings)
    : settings_(std::move(settings)), state_(std::make_shared<State>(settings_, std::move(surroundings))) {
  try {
    for (std::size_t i = 0; i < settings_.concurrency; ++i) {
      state_->slots[i] = std::make_shared<Slot>();
      state_->threads[i] = new_thread(state_->slots[i]);
    }
  } catch (const std::system_error& error) {
    end_threads();
    throw Error("cannot start " + std::to_string(settings_.concurrency) + " threads for queue " + settings_.queue +
                    ": " + error.what(),
                "lower its concurrency (--queues), or raise the limit of processes (ulimit -u, pids.max)");
  }
}

Executor::~Executor() { end_threads(); }

std::thread Executor::new_thread(const std::shared_ptr<Slot>& slot) const {
  return std::thread{[state = state_, slot] { run_thread(state, slot); }};
}

std::size_t Executor::concurrency() const {
  const std::scoped_lock lock{state_->mutex};
  return state_->concurrency;
}

void Executor::set_concurrency(std::size_t concurrency) {
  {
    const std::scoped_lock lock{state_->mutex};
    state_->concurrency = concurrency;
    start_threads();
  }
  state_->work_or_end.notify_all();
}

void Executor::start_missing_threads() {
  const std::scoped_lock lock{state_->mutex};
  start_threads();
}

/// With the mutex held. Logs when threads begin to be missing, and when none is any more.
void Executor::start_threads() {
  const std::size_t wanted = state_->concurrency;
  state_->slots.reserve(wanted);
  state_->threads.reserve(wanted);  // a thread that could not be kept would end the process
  try {
    while (state_->slots.size() < wanted) {
      auto slot = std::make_shared<Slot>();
      state_->threads.push_back(new_thread(slot));
      state_->slots.push_back(std::move(slot));
    }
  } catch (const std::system_error& error) {
    if (!std::exchange(state_->lacks_threads, true)) {
      state_->around.log->error("queue {}: runs {} tasks at once and not {}, until more threads can be started: {}",
                                settings_.queue, state_->slots.size(), wanted, error.what());
    }
    return;
  }
  if (std::exchange(state_->lacks_threads, false)) {
    state_->around.log->info("queue {}: has all of its threads now, and runs {} tasks at once", settings_.queue,
                             wanted);
  }
}

void Executor::end_threads() {
  {
    const std::scoped_lock lock{state_->mutex};
    state_->ended = true;
  }
  state_->work_or_end.notify_all();
  for (std::thread& thread : state_->threads) {
    if (thread.joinable()) thread.join();
  }
}

void Executor::run_thread(const std::shared_ptr<State>& state, const std::shared_ptr<Slot>& slot) {
  std::unique_lock lock{state->mutex};
  while (true) {
    state->work_or_end.wait(lock, [&] {
      const bool may_begin = !state->closed && state->running < state->concurrency;
      return state->ended || (may_begin && !state->waiting.empty());
    });
    if (state->ended) return;
    const auto now = SteadyClock::now();
    if (now >= state->around.lease->held_until()) {
      state->closed = true;
      continue;
    }
    if (now >= state->waiting.front().expires_at) {
      state->expired.push_back(std::move(state->waiting.front()));
      state->waiting.pop_front();
      lock.unlock();
      state->around.on_expired();
      lock.lock();
      continue;
    }
    slot->task = std::move(state->waiting.front());
    state->waiting.pop_front();
    slot->stop.emplace();
    slot->stopped_at.reset();
    slot->reported = false;
    slot->started_at = now;
    slot->deadline = deadline_of(*slot->task, slot->started_at);
    ++state->running;
    if (slot->deadline != SteadyClock::time_point::max()) state->around.on_deadline(slot->deadline);

    const double jitter_draw = random_draw();
    lock.unlock();
    Report report = slot->task->cancelled ? report_not_begun(*slot->task)
                                          : run_attempt(*slot->task, *slot->stop, slot->started_at,
                                                        state->settings.attempts, *state->around.log, jitter_draw);
    lock.lock();

    if (slot->given_up) {
      --state->around.tally->abandoned_threads;
      state->around.log->info("task {} attempt {}: its handler, which was given up, has ended", report.id,
                              report.attempt);
      return;
    }
    state->note_run(report.finished_at - report.started_at);
    slot->reported = true;
    ++state->reporting;
    lock.unlock();
    state->around.on_report(std::move(report));  // before the task leaves the slot: held() must not miss it in between
    lock.lock();
    slot->task.reset();
    --state->reporting;
    --state->running;
    if (state->running == 0) state->idle.notify_all();
  }
}

void Executor::submit(std::vector<ClaimedTask> tasks) {
  {
    const std::scoped_lock lock{state_->mutex};
    for (ClaimedTask& task : tasks) state_->waiting.push_back(std::move(task));
  }
  if (tasks.size() == 1) {
    state_->work_or_end.notify_one();
  } else {
    state_->work_or_end.notify_all();
  }
}

std::size_t Executor::demand() const {
  const std::scoped_lock lock{state_->mutex};
  const std::size_t concurrency = std::min(state_->concurrency, state_->slots.size());
  const std::size_t ahead = prefetch(concurrency, state_->average_run);
  const std::size_t target = concurrency + ahead;
  // A thread that is reporting is as good as free: its report may be what makes the claimer ask.
  const std::size_t held_now = state_->waiting.size() + state_->running - state_->reporting;
  // With tasks ahead there is time to gather a batch; without, every free thread counts.
  const std::size_t refill_below = ahead > 0 ? concurrency + ahead / 2 : target;
  return held_now < refill_below ? target - held_now : 0;
}

bool Executor::has_waiting() const {
  const std::scoped_lock lock{state_->mutex};
  return !state_->waiting.empty();
}

bool Executor::holds_any() const {
  const std::scoped_lock lock{state_->mutex};
  return !state_->waiting.empty() || !state_->expired.empty() || state_->running > 0;
}

std::vector<Attempt> Executor::held() const {
  const std::scoped_lock lock{state_->mutex};
  std::vector<Attempt> attempts;
  for (const ClaimedTask& task : state_->waiting) attempts.push_back({task.id, task.attempt});
  for (const ClaimedTask& task : state_->expired) attempts.push_back({task.id, task.attempt});
  for (const auto& slot : state_->slots) {
    if (slot->task) attempts.push_back({slot->task->id, slot->task->attempt});
  }
  return attempts;
}

std::vector<ClaimedTask> Executor::take_expired() {
  const std::scoped_lock lock{state_->mutex};
  return std::exchange(state_->expired, {});
}

std::vector<ClaimedTask> Executor::take_back() {
  const std::scoped_lock lock{state_->mutex};
  std::vector<ClaimedTask> tasks = std::exchange(state_->expired, {});
  tasks.insert(tasks.end(), std::make_move_iterator(state_->waiting.begin()),
               std::make_move_iterator(state_->waiting.end()));
  state_->waiting.clear();
  return tasks;
}

std::vector<ClaimedTask> Executor::take_back_older_than(milliseconds age) {
  {
    const std::scoped_lock lock{state_->mutex};
    if (state_->waiting.empty() || SteadyClock::now() - state_->waiting.front().claimed_at < age) return {};
    state_->average_run = std::max<std::chrono::nanoseconds>(state_->average_run, age);  // what runs takes that long
  }
  return take_back();
}

bool Executor::wait_idle(SteadyClock::time_point until) {
  std::unique_lock lock{state_->mutex};
  return state_->idle.wait_until(lock, until, [&] { return state_->running == 0 && state_->waiting.empty(); });
}

void Executor::stop_all(StopReason reason) {
  const std::scoped_lock lock{state_->mutex};
  state_->closed = true;
  for (const auto& slot : state_->slots) {
    if (slot->runs()) slot->request_stop(reason, SteadyClock::now());
  }
}

void Executor::cancel(TaskId id, int attempt) {
  const std::scoped_lock lock{state_->mutex};
  for (ClaimedTask& task : state_->waiting) {
    if (task.id == id && task.attempt == attempt) task.cancelled = true;
  }
  for (const auto& slot : state_->slots) {
    if (slot->runs() && slot->task->id == id && slot->task->attempt == attempt) {
      slot->request_stop(StopReason::cancelled, SteadyClock::now());
      state_->around.on_deadline(*slot->stopped_at + settings_.stop_grace);
    }
  }
}

SteadyClock::time_point Executor::enforce_deadlines(SteadyClock::time_point now) {
  auto next = SteadyClock::time_point::max();
  const std::scoped_lock lock{state_->mutex};
  for (std::size_t i = state_->slots.size(); i-- > 0;) {  // backwards, for replace
    Slot& slot = *state_->slots[i];
    if (!slot.runs()) continue;
    if (!slot.stopped_at && now >= slot.deadline) slot.request_stop(StopReason::timeout, now);
    if (!slot.stopped_at) {
      next = std::min(next, slot.deadline);
    } else if (slot.ends_with_grace()) {
      const auto given_up_at = *slot.stopped_at + settings_.stop_grace;
      if (now >= given_up_at) {
        replace(i);
      } else {
        next = std::min(next, given_up_at);
      }
    }
  }
  return next;
}

/// With the mutex held: gives up the handler of a slot, and has another thread work in its place, or later, where none
/// can be started now. The slots before it stay where they are.
void Executor::replace(std::size_t index) {
  Report report = state_->give_up(index);
  state_->around.log->error(
      "task {} attempt {}: its handler ignores its stop token; the attempt ends as {} without it, and this "
      "process carries {} abandoned threads",
      report.id, report.attempt, lifecycle::to_text(report.transition.outcome),
      state_->around.tally->abandoned_threads.load());
  state_->around.on_report(std::move(report));  // before the task leaves the slot, as in run_thread
  std::swap(state_->slots[index], state_->slots.back());
  std::swap(state_->threads[index], state_->threads.back());
  state_->slots.pop_back();
  state_->threads.pop_back();
  start_threads();
  state_->work_or_end.notify_one();  // where none was started, for a thread that waits and may take the next task now
  if (state_->running == 0) state_->idle.notify_all();
}

std::vector<Report> Executor::give_up_all() {
  std::vector<Report> reports;
  std::unique_lock lock{state_->mutex};
  state_->closed = true;
  for (std::size_t i = 0; i < state_->slots.size(); ++i) {
    if (state_->slots[i]->runs()) reports.push_back(state_->give_up(i));
  }
  state_->idle.wait(lock, [&] { return state_->running == 0; });  // what was reported is about to be handed on
  return reports;
}

}  // namespace dogged::runtime
