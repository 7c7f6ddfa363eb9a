// See run.hpp.
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration time_of_faults = 12s;
constexpr Duration time_to_end = 25s;  // after them: two leases, retries, and the longest handlers

class Run {
 public:
  explicit Run(const RunSettings& settings)
      : settings_(settings),
        scheduler_(settings.seed),
        database_(scheduler_, settings.mutant),
        world_{.scheduler = scheduler_, .database = database_, .mutant = settings.mutant} {
    world_.traces_steps = settings_.traces_steps;
    if (settings_.traces) {
      world_.trace = [this](const std::string& what) {
        const auto ms = std::chrono::duration_cast<milliseconds>(scheduler_.now() - begin_).count();
        result_.trace.push_back(std::to_string(ms) + " ms: " + what);
      };
    }
    database_.on_notify = [this](std::int64_t lease, const std::string& queue) {
      for (const auto& worker : workers_) worker->notify(lease, queue);
    };
  }

  RunResult take() {
    try {
      under_faults();
      to_the_end();
      in_calm();
    } catch (const Broken& broken) {
      result_.broken = broken.promise;
    }
    result_.tasks = database_.tasks().size();
    result_.attempts = database_.attempts().size();
    return std::move(result_);
  }

 private:
  void run_until(TimePoint end) { scheduler_.run_until(end); }

  void under_faults() {
    begin_ = scheduler_.now();
    const bool is_calm = scheduler_.chance(10);
    if (!is_calm) {
      world_.faults = {.lost_request = static_cast<int>(scheduler_.pick(0, 4)),
                       .lost_answer = static_cast<int>(scheduler_.pick(0, 4)),
                       .late_statement = static_cast<int>(scheduler_.pick(0, 3)),
                       .failing_attempts = static_cast<int>(scheduler_.pick(0, 40)),
                       .long_attempts = static_cast<int>(scheduler_.pick(0, 25)),
                       .failures_for_good = static_cast<int>(scheduler_.pick(0, 20))};
    }
    const std::int64_t how_many = scheduler_.pick(2, 5);
    if (scheduler_.chance(50)) queues_ = {"default", "mail"};
    for (int i = 1; i <= how_many; ++i) {
      // The first serves all of them: in the calm it may be alone.
      const bool serves_all = i == 1 || scheduler_.chance(60);
      workers_.push_back(std::make_unique<Worker>(world_, i, serves_all ? queues_ : std::vector{any_queue()}));
    }
    produce();
    if (!is_calm) disturb();
    run_until(begin_ + time_of_faults);
    world_.faults = {};
    has_ended_ = true;
    for (const std::string& queue : queues_) set_paused(queue, false);
  }

  const std::string& any_queue() {
    return queues_[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(queues_.size()) - 1))];
  }
  int any_priority() { return scheduler_.chance(70) ? 0 : static_cast<int>(scheduler_.pick(-1, 1)); }

  /// A transaction every now and then: some are long, some are rolled back, some enqueue tasks of the future.
  void produce() {
    if (has_ended_) return;
    auto transaction = std::make_shared<Database::Transaction>(database_.begin());
    scheduler_.after(scheduler_.between(10us, 2ms), [this, transaction] {
      const milliseconds delay{scheduler_.chance(15) ? scheduler_.pick(1, 2000) : 0};
      database_.enqueue(*transaction, static_cast<int>(scheduler_.pick(1, 4)), delay, any_queue(), any_priority());
      const Duration open = scheduler_.chance(5) ? scheduler_.between(50ms, 2s) : scheduler_.between(10us, 3ms);
      scheduler_.after(open, [this, transaction] {
        if (scheduler_.chance(5)) return database_.roll_back(*transaction);
        database_.commit(*transaction);
      });
    });
    scheduler_.after(scheduler_.chance(10) ? scheduler_.between(500ms, 2s) : scheduler_.between(1ms, 150ms),
                     [this] { produce(); });
  }

  void set_paused(const std::string& queue, bool paused) {
    database_.pause(queue, paused);
    for (const auto& worker : workers_) worker->tell_queues_changed();
  }

  void disturb() {
    if (has_ended_) return;
    if (result_.disturbances < settings_.disturbances) {
      ++result_.disturbances;
      Worker& worker =
          *workers_[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(workers_.size()) - 1))];
      switch (scheduler_.pick(0, 9)) {
        case 0:
          worker.crash(scheduler_.between(1ms, 2s));
          break;
        case 1:
          worker.freeze(scheduler_.between(100ms, 6s));
          break;
        case 2:
          worker.lose_notifications();
          break;
        case 3:
          worker.break_connection();
          break;
        case 4:
          pause_or_resume(any_queue());
          break;
        case 6:
          if (scheduler_.chance(20)) {
            lose_server(scheduler_.between(50ms, 6s));
          } else if (scheduler_.chance(10)) {
            fail_over();
          }
          break;
        case 5:
          if (scheduler_.chance(30)) {
            world_.trace("the database's clock is set");
            database_.step_clock(scheduler_.between(-3s, 5s));
          }
          break;
        default:
          disturb_task();
      }
    }
    scheduler_.after(scheduler_.between(5ms, 400ms), [this] { disturb(); });
  }

  /// As at a failover: no statement is answered, and no worker is notified until the server is back.
  void lose_server(Duration time) {
    world_.trace("the server is away");
    world_.server_is_back_at = scheduler_.now() + time;
    for (const auto& worker : workers_) worker->lose_server();
  }

  void pause_or_resume(const std::string& queue) {
    const bool pauses = !database_.is_paused(queue);
    world_.trace("the queue " + queue + (pauses ? " is paused" : " goes on"));
    set_paused(queue, pauses);
  }

  /// From now on the replica lags. A moment later the server is lost, and the replica takes over without later commits.
  void fail_over() {
    if (replica_) return;
    world_.trace("the replica lags");
    replica_ = database_.durable();
    scheduler_.after(scheduler_.between(1ms, 300ms), [this] {
      if (has_ended_) return;
      world_.trace("a failover loses the last commits");
      lose_server(scheduler_.between(50ms, 4s));
      const std::set<TaskId> half_lost = database_.fail_over(*std::exchange(replica_, std::nullopt));
      world_.half_lost.insert(half_lost.begin(), half_lost.end());
      world_.lost_renewals_until = scheduler_.now() + lease_length;
    });
  }

  void disturb_task() {
    const auto& tasks = database_.tasks();
    if (tasks.empty()) return;
    // Mostly the newest tasks are alive.
    const auto back = scheduler_.pick(1, std::min<std::int64_t>(12, static_cast<std::int64_t>(tasks.size())));
    const TaskId id = std::prev(tasks.end(), back)->first;
    const milliseconds delay{scheduler_.chance(50) ? scheduler_.pick(1, 1500) : 0};
    if (scheduler_.chance(20)) {
      world_.trace("task " + std::to_string(id) + " is to be cancelled");
      database_.cancel(id);
    } else if (scheduler_.chance(25)) {
      const bool is_replayed = database_.replay(id, delay);
      if (is_replayed || database_.reschedule(id, delay)) {
        world_.trace("task " + std::to_string(id) + (is_replayed ? " is replayed" : " is rescheduled") + ", due in " +
                     std::to_string(delay.count()) + " ms");
      }
    } else {
      const Duration time = scheduler_.between(1ms, 1500ms);
      world_.trace("task " + std::to_string(id) + " is locked");
      database_.lock(id, time);
    }
  }

  void to_the_end() {
    const auto has_ended = [&] {
      return std::all_of(database_.tasks().begin(), database_.tasks().end(),
                         [](const auto& task) { return task.second.state == Task::State::ended; });
    };
    const TimePoint end = scheduler_.now() + time_to_end;
    while (!has_ended() && scheduler_.now() < end) run_until(scheduler_.now() + 100ms);
    for (const auto& [id, task] : database_.tasks()) {
      if (task.state == Task::State::ended) continue;
      throw Broken{"every task ends: task " + std::to_string(id) + " is " +
                   (task.state == Task::State::running ? "running under lease " + std::to_string(task.worker)
                                                       : std::string{task.deferred ? "waiting" : "ready"}) +
                   " after attempt " + std::to_string(task.attempt)};
    }
    for (const auto& [id, task] : database_.tasks()) check(id, task);
  }

  void check(TaskId id, const Task& task) const {
    for (int attempt = 1; attempt <= task.attempt; ++attempt) {
      const auto row = database_.attempts().find({id, attempt});
      if (row == database_.attempts().end()) {
        throw Broken{"every attempt is one row: task " + std::to_string(id) + " has none of attempt " +
                     std::to_string(attempt)};
      }
      const bool is_last = attempt == task.attempt;
      const bool has_succeeded = row->second.outcome == "succeeded";
      if (has_succeeded != (is_last && task.outcome == "succeeded")) {
        throw Broken{"a task has succeeded if its last attempt has, and none before"};
      }
      if (has_succeeded && !world_.begun.contains({id, attempt})) {
        throw Broken{"no attempt succeeds whose handler has not begun"};
      }
    }
    if (database_.attempts().contains({id, task.attempt + 1}))
      throw Broken{"no attempt is on record that was never made"};
  }

  /// Without faults, sleepers are notified of enqueued tasks, however the transaction and their falling asleep take
  /// turns. Tasks begin when they are due.
  void in_calm() {
    run_until(scheduler_.now() + 7s);  // workers that stood still have gone on
    if (scheduler_.chance(50)) {
      const std::size_t ended = database_.lapsed_leases_ended();
      lose_server(scheduler_.between(100ms, 9s));
      run_until(world_.server_is_back_at + 4s);
      if (database_.lapsed_leases_ended() != ended) throw Broken{"no lease of a live worker is ended after an outage"};
    }
    // In half of the runs one worker is alone, so that no other worker makes up for its mistakes.
    if (scheduler_.chance(50)) {
      for (std::size_t i = 1; i < workers_.size(); ++i) workers_[i]->crash(24h);
      run_until(scheduler_.now() + 7s);
    }
    world_.faults.failing_attempts = 40;
    world_.faults.late_wake_ups = 50;
    world_.retries_are_timely = true;
    for (int i = 0; i < 8; ++i) {
      if (scheduler_.chance(50)) {  // more than they can take: they wake up, and fall asleep again
        Database::Transaction burst = database_.begin();
        database_.enqueue(burst, 12, 0ms, any_queue());
        database_.commit(burst);
        run_until(scheduler_.now() + scheduler_.between(0us, 300ms));
      }
      // Broken connections make the workers begin anew, and fall asleep within 20 ms: after the transaction has begun,
      // or before.
      const bool breaks_before = scheduler_.chance(40);
      if (breaks_before) break_all();
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      Database::Transaction transaction = database_.begin();
      run_until(scheduler_.now() + scheduler_.between(0us, 2ms));
      if (!breaks_before && scheduler_.chance(70)) break_all();
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      const milliseconds delay{scheduler_.chance(30) ? scheduler_.pick(1, 600) : 0};
      database_.enqueue(transaction, static_cast<int>(delay.count() > 0 ? scheduler_.pick(1, 6) : 1), delay,
                        any_queue(), any_priority());
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      if (scheduler_.chance(20)) break_all();
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      database_.commit(transaction);
      world_.trace(std::to_string(transaction.ids.size()) + " tasks are enqueued, which are due in " +
                   std::to_string(delay.count()) + " ms");
      run_until(scheduler_.now() + delay + latest_begin);
      for (const TaskId id : transaction.ids) {
        if (world_.begun.contains({id, 1})) continue;
        throw Broken{"a task begins at once when it is ready: task " + std::to_string(id)};
      }
      run_until(scheduler_.now() + scheduler_.between(1ms, 1500ms));
      if (scheduler_.chance(50)) make_ready_by_hand();
    }
    world_.faults.failing_attempts = 0;
    run_until(scheduler_.now() + 4s);
    for (const auto& [attempt, time] : world_.begins_until) {
      const auto begun = world_.begun.find(attempt);
      if (begun != world_.begun.end() && begun->second <= time) continue;
      throw Broken{"a retry begins when it is due: task " + std::to_string(attempt.first) + " attempt " +
                   std::to_string(attempt.second)};
    }
  }

  /// A dead letter that is replayed, and a task of tomorrow that is rescheduled, begin when they are due.
  void make_ready_by_hand() {
    const milliseconds delay{scheduler_.chance(50) ? scheduler_.pick(1, 300) : 0};
    std::vector<std::pair<TaskId, int>> attempts;
    for (const auto& [id, task] : database_.tasks()) {
      if (attempts.empty() && database_.replay(id, delay)) attempts.emplace_back(id, task.attempt + 1);
    }
    Database::Transaction tomorrow = database_.begin();
    database_.enqueue(tomorrow, 1, 24h, any_queue());
    database_.commit(tomorrow);
    run_until(scheduler_.now() + scheduler_.between(0us, 500ms));
    const TaskId id = tomorrow.ids.front();
    world_.trace("task " + std::to_string(id) + " of tomorrow is rescheduled, due in " + std::to_string(delay.count()) +
                 " ms");
    if (!database_.reschedule(id, delay)) throw Broken{"a pending task can be rescheduled"};
    attempts.emplace_back(id, 1);
    run_until(scheduler_.now() + delay + latest_begin);
    for (const auto& attempt : attempts) {
      if (world_.begun.contains(attempt)) continue;
      throw Broken{"a task that was replayed or rescheduled begins when it is due: task " +
                   std::to_string(attempt.first)};
    }
  }

  void break_all() {
    for (const auto& worker : workers_) worker->break_connection();
  }

  const RunSettings settings_;
  Scheduler scheduler_;
  Database database_;
  World world_;
  std::vector<std::string> queues_{"default"};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<Database::Durable> replica_;  // while it lags
  TimePoint begin_{};
  bool has_ended_ = false;  // the time of faults
  RunResult result_;
};

}  // namespace

RunResult run(const RunSettings& settings) { return Run{settings}.take(); }

RunResult shrink(const RunSettings& failing) {
  RunSettings smaller = failing;
  RunResult least = run(smaller);
  for (int most = least.disturbances - 1; most >= 0; --most) {
    smaller.disturbances = most;
    RunResult result = run(smaller);
    if (!result.broken) break;
    least = std::move(result);
  }
  return least;
}

}  // namespace dogged::sim
