// See executor.hpp.
#include "executor.hpp"

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

#include "prefetch.hpp"

namespace dogged::runtime {
namespace {

/// The jitter's draws: a generator for each thread, seeded by the system, so that no two workers share a
/// sequence.
double draw() {
  thread_local std::mt19937_64 generator{[] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64{seed};
  }()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

}  // namespace

struct Executor::State {
  /// What a thread is at.
  struct Slot {
    std::optional<ClaimedTask> task;
    SteadyClock::time_point started_at;
    std::stop_source stop;
    bool reported = false;
    bool abandoned = false;
  };

  State(const Settings& with, std::shared_ptr<spdlog::logger> logger, std::function<void(Report)> report)
      : settings(with), log(std::move(logger)), on_report(std::move(report)), slots(with.concurrency) {}

  const Settings settings;
  const std::shared_ptr<spdlog::logger> log;
  const std::function<void(Report)> on_report;

  std::mutex mutex;
  std::condition_variable work_or_end;
  std::condition_variable idle;
  std::deque<ClaimedTask> waiting;
  std::vector<Slot> slots;
  std::size_t running = 0;
  std::size_t reporting = 0;                // of those that run: their handler has ended
  std::chrono::nanoseconds average_run{0};  // exponentially weighted, 1/16 for the latest
  bool ended = false;

  void note_run(std::chrono::nanoseconds run) {
    run = std::max(run, std::chrono::nanoseconds{1});
    average_run = average_run.count() == 0 ? run : average_run + (run - average_run) / 16;
  }
};

Executor::Executor(Settings settings, std::shared_ptr<spdlog::logger> log, std::function<void(Report)> on_report)
    : settings_(std::move(settings)), state_(std::make_shared<State>(settings_, std::move(log), std::move(on_report))) {
  threads_.reserve(settings_.concurrency);
  try {
    for (std::size_t slot = 0; slot < settings_.concurrency; ++slot) {
      threads_.emplace_back([state = state_, slot] { run_thread(state, slot); });
    }
  } catch (const std::system_error& error) {
    end_threads();
    throw Error("cannot start " + std::to_string(settings_.concurrency) + " threads for queue " + settings_.queue +
                    ": " + error.what(),
                "lower its concurrency (--queues), or raise the limit of processes (ulimit -u, pids.max)");
  }
}

Executor::~Executor() { end_threads(); }

void Executor::end_threads() {
  {
    const std::scoped_lock lock{state_->mutex};
    state_->ended = true;
  }
  state_->work_or_end.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Executor::run_thread(const std::shared_ptr<State>& state, std::size_t slot_index) {
  std::unique_lock lock{state->mutex};
  State::Slot& slot = state->slots[slot_index];
  while (true) {
    state->work_or_end.wait(lock, [&] { return state->ended || !state->waiting.empty(); });
    if (state->ended) return;
    slot.task = std::move(state->waiting.front());
    state->waiting.pop_front();
    slot.stop = std::stop_source{};
    slot.reported = false;
    slot.started_at = SteadyClock::now();
    ++state->running;

    const std::stop_token stop = slot.stop.get_token();
    const double jitter_draw = draw();
    lock.unlock();
    Report report = run_attempt(*slot.task, stop, state->settings.limits, *state->log, jitter_draw);
    lock.lock();

    if (slot.abandoned) return;  // it was reported as interrupted; this thread is not waited for any more
    state->note_run(report.finished_at - report.started_at);
    slot.reported = true;
    ++state->reporting;
    lock.unlock();
    state->on_report(std::move(report));  // before the task leaves the slot: held() must not miss it in between
    lock.lock();
    slot.task.reset();
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
  const std::size_t ahead = prefetch(settings_.concurrency, state_->average_run);
  const std::size_t target = settings_.concurrency + ahead;
  // A thread that is reporting is as good as free: its report may be what makes the claimer ask.
  const std::size_t held_now = state_->waiting.size() + state_->running - state_->reporting;
  // With tasks ahead there is time to gather a batch; without, every free thread counts.
  const std::size_t refill_below = ahead > 0 ? settings_.concurrency + ahead / 2 : target;
  return held_now < refill_below ? target - held_now : 0;
}

bool Executor::has_waiting() const {
  const std::scoped_lock lock{state_->mutex};
  return !state_->waiting.empty();
}

std::vector<TaskId> Executor::held() const {
  const std::scoped_lock lock{state_->mutex};
  std::vector<TaskId> ids;
  for (const ClaimedTask& task : state_->waiting) ids.push_back(task.id);
  for (const State::Slot& slot : state_->slots) {
    if (slot.task) ids.push_back(slot.task->id);
  }
  return ids;
}

std::vector<ClaimedTask> Executor::take_back() {
  const std::scoped_lock lock{state_->mutex};
  std::vector<ClaimedTask> tasks{std::make_move_iterator(state_->waiting.begin()),
                                 std::make_move_iterator(state_->waiting.end())};
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

void Executor::request_stop() {
  const std::scoped_lock lock{state_->mutex};
  for (State::Slot& slot : state_->slots) {
    if (slot.task) slot.stop.request_stop();
  }
}

std::vector<Report> Executor::abandon() {
  std::vector<Report> reports;
  std::unique_lock lock{state_->mutex};
  for (std::size_t i = 0; i < state_->slots.size(); ++i) {
    State::Slot& slot = state_->slots[i];
    if (!slot.task || slot.reported) continue;  // one that was reported is about to end
    slot.abandoned = true;
    threads_[i].detach();
    --state_->running;
    reports.push_back(interrupted_report(*slot.task, slot.started_at));
  }
  state_->idle.wait(lock, [&] { return state_->running == 0; });
  return reports;
}

}  // namespace dogged::runtime
