// See workloads.hpp.
#include "cli/bench/workloads.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/detail/mutex.hpp>

#include "cli/bench/worker/memory.hpp"
#include "cli/bench/worker/worker_program.hpp"
#include "cli/bench/worker_processes.hpp"
#include "cli/failure.hpp"
#include "cli/io/interrupt.hpp"
#include "sql/bench.hpp"
#include "sql/commands.hpp"

namespace dogged::cli::bench {
namespace {

using std::chrono::steady_clock;

constexpr milliseconds between_looks{5};
constexpr std::chrono::seconds longest_start{30};
constexpr std::chrono::seconds longest_end{300};  // without a handler that runs
constexpr std::int64_t enqueue_batch = 5000;      // where the benchmark does not measure enqueueing

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

/// The first and the last id of the tasks of a round.
struct IdRange {
  TaskId first = 0;
  TaskId last = -1;
  std::int64_t count = 0;

  void add(TaskId id) {
    first = count == 0 ? id : std::min(first, id);
    last = std::max(last, id);
    ++count;
  }
  void add(const IdRange& other) {
    if (other.count == 0) return;
    const std::int64_t all = count + other.count;
    add(other.first);
    add(other.last);
    count = all;
  }
};

/// Lets the time go by. Throws Failure after Ctrl-C, and where a worker ends.
void watch(WorkerProcesses& workers, milliseconds time) {
  const auto end = steady_clock::now() + time;
  while (true) {
    require_not_interrupted();
    workers.require_alive();
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds{0}) return;
    pause(std::min(left, milliseconds{50}));
  }
}

/// As many tasks as one call may well take, of `wanted`: PostgreSQL takes less than 1 GB at once.
std::size_t call_size(const Scene& scene, std::int64_t wanted) {
  constexpr std::int64_t bytes_of_call = 64 << 20;
  const std::int64_t fitting = bytes_of_call / (scene.conditions().payload + 100);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::min(wanted, enqueue_batch), 1, std::max<std::int64_t>(fitting, 1)));
}

NewTask make_task(const Scene& scene, std::int64_t slot, int failures, const char* name = task_name) {
  std::string args;
  const auto add = [&args](const std::string& member) { args += (args.empty() ? "" : ", ") + member; };
  if (slot >= 0) add("\"slot\": " + std::to_string(slot));
  if (failures > 0) add("\"failures\": " + std::to_string(failures));
  if (const std::int64_t bytes = scene.conditions().payload; bytes > 0) {
    add("\"payload\": \"" + std::string(static_cast<std::size_t>(bytes), 'x') + "\"");
  }
  return {name, "{" + args + "}", {.queue = bench_queue}};
}

/// If the benchmark is of unique tasks, gives each task a key that no other task of the benchmark has.
void give_keys(const Scene& scene, std::span<NewTask> tasks) {
  static std::atomic<std::int64_t> last{0};
  if (!scene.conditions().unique) return;
  for (NewTask& task : tasks) task.options.unique_key = "bench:" + std::to_string(++last);
}

Client make_client(const Scene& scene) {
  return Client{scene.settings().url,
                {.schema = scene.settings().schema, .application_name = "dogged bench", .warns_of_undeclared = false}};
}

IdRange enqueue_all(Scene& scene, std::int64_t tasks, int failures) {
  Client client = make_client(scene);
  IdRange ids;
  const NewTask task = make_task(scene, -1, failures);
  while (ids.count < tasks) {
    require_not_interrupted();
    scene.progress()("enqueueing", ids.count, tasks);
    std::vector<NewTask> batch(call_size(scene, tasks - ids.count), task);
    give_keys(scene, batch);
    for (const TaskId id : client.enqueue_many(batch)) ids.add(id);
  }
  scene.connection().run(sql::BenchVacuum{});
  return ids;
}

WorkerProcesses::Settings worker_settings(const Scene& scene, const Workload& workload) {
  return {scene.settings().url, scene.settings().schema, workload.workers, workload.concurrency};
}

/// Until `count` handlers have been run; `longest_pause`: for how long none may be.
void wait_until_handled(Scene& scene, const Memory& memory, WorkerProcesses& workers, std::uint64_t count,
                        const std::string& doing, steady_clock::duration longest_pause = longest_end) {
  std::uint64_t handled = 0;
  for (auto last_change = steady_clock::now(); handled < count; pause(between_looks)) {
    require_not_interrupted();
    workers.require_alive();
    if (const std::uint64_t now = memory.handled(); now != handled) {
      handled = now;
      last_change = steady_clock::now();
    }
    if (steady_clock::now() - last_change > longest_pause) {
      throw Failure(ExitCode::not_done, "for minutes no handler was run, and " + std::to_string(count - handled) +
                                            " of " + std::to_string(count) + " runs are missing");
    }
    scene.progress()(doing, static_cast<std::int64_t>(std::min(handled, count)), static_cast<std::int64_t>(count));
  }
}

/// Until all is written as well; gives when it was asked and found so.
steady_clock::time_point wait_until_done(Scene& scene, WorkerProcesses& workers) {
  const auto begin = steady_clock::now();
  while (true) {
    const auto asked = steady_clock::now();
    if (db::one(scene.connection().run(sql::BenchIsDone{})).is_done) return asked;
    require_not_interrupted();
    workers.require_alive();
    if (steady_clock::now() - begin > longest_end) {
      throw Failure(ExitCode::not_done,
                    "all handlers have been run, and after five minutes there still are tasks that "
                    "have not ended");
    }
    pause(between_looks);
  }
}

void wait_until_asleep(Scene& scene, WorkerProcesses& workers, int count) {
  scene.progress()("waiting for the workers", 0, 0);
  const auto begin = steady_clock::now();
  while (true) {
    const auto [working, asleep] = db::one(scene.connection().run(sql::BenchWorkersReady{}));
    if (working >= count && asleep >= count) return;
    require_not_interrupted();
    workers.require_alive();
    if (steady_clock::now() - begin > longest_start)
      throw Failure(ExitCode::not_done, "the workers did not come to rest");
    pause(between_looks);
  }
}

void verify(Scene& scene, const IdRange& ids, int failures) {
  scene.progress()("checking that each task ended once", 0, 0);
  const sql::BenchVerify verify{.first_id = ids.first, .last_id = ids.last, .failures = failures};
  const auto found = db::one(scene.connection().run(verify));
  const std::int64_t attempts = ids.count * (failures + 1);
  if (found.there == ids.count && found.succeeded == ids.count && found.attempts == attempts &&
      found.with_wrong_attempts == 0) {
    return;
  }
  throw Failure(ExitCode::not_done, "of " + std::to_string(ids.count) + " tasks " + std::to_string(found.there) +
                                        " are there, " + std::to_string(found.succeeded) + " have succeeded, with " +
                                        std::to_string(found.attempts) + " attempts where " + std::to_string(attempts) +
                                        " are right, and " + std::to_string(found.with_wrong_attempts) +
                                        " with the wrong ones: this is a defect of dogged");
}

double per_task_us(double seconds, std::int64_t tasks) {
  return tasks > 0 ? seconds * 1e6 / static_cast<double>(tasks) : 0;
}

void add_usage(Figures& figures, const Usage& usage, std::int64_t attempts) {
  figures.add("worker_cpu_us", "CPU of the workers", "µs/attempt", per_task_us(usage.cpu_seconds, attempts));
  figures.add("worker_memory_mb", "memory of a worker", "MB", usage.max_memory_mb);
}

}  // namespace

/// The workers are connected before there is anything to do: the queue is paused until then.
void drain(Scene& scene, const Server& server, const Workload& workload, Figures& figures) {
  const Memory memory{0};
  WorkerProcesses workers{worker_settings(scene, workload), memory};
  wait_until_asleep(scene, workers, workload.workers);
  scene.connection().run(sql::PauseQueue{.name = bench_queue, .until_us = {}, .for_ms = {}});
  const IdRange ids = enqueue_all(scene, workload.tasks, workload.failures);
  const std::int64_t attempts = ids.count * (workload.failures + 1);
  const double busy_before = busy_seconds_of_machine();
  const auto begin = steady_clock::now();
  scene.connection().run(sql::ResumeQueue{.name = bench_queue});
  wait_until_handled(scene, memory, workers, static_cast<std::uint64_t>(attempts), "draining");
  const double seconds = std::chrono::duration<double>(wait_until_done(scene, workers) - begin).count();
  const double busy = busy_seconds_of_machine() - busy_before;
  const Usage usage = workers.stop();
  verify(scene, ids, workload.failures);
  figures.add("drained_per_s", "drained", "tasks/s", static_cast<double>(ids.count) / seconds);
  if (workload.failures > 0) figures.add("attempts_per_s", "attempts", "/s", static_cast<double>(attempts) / seconds);
  add_usage(figures, usage, attempts);
  if (server.is_on_this_machine) {
    figures.add("machine_cpu_us", "CPU of this machine", "µs/attempt", per_task_us(busy, attempts));
  }
}

namespace {

/// The tasks of several threads that enqueue, and the failure of one of them. Thread-safe.
class EnqueuedTogether {
 public:
  void add(const IdRange& ids) {
    const detail::Lock lock{mutex_};
    ids_.add(ids);
  }
  void fail(std::exception_ptr failure) {
    const detail::Lock lock{mutex_};
    failure_ = std::move(failure);
  }
  /// Throws the failure of a thread.
  [[nodiscard]] IdRange ids() const {
    const detail::Lock lock{mutex_};
    if (failure_) std::rethrow_exception(failure_);
    return ids_;
  }

 private:
  mutable detail::Mutex mutex_;
  IdRange ids_ DOGGED_GUARDED_BY(mutex_);
  std::exception_ptr failure_ DOGGED_GUARDED_BY(mutex_);
};

/// Single enqueues by so many clients for the workload's time; gives the rate.
double enqueue_singly(Scene& scene, const Workload& workload, int clients, const std::string& doing, IdRange& ids) {
  std::vector<Client> connected;  // before the time begins
  for (int i = 0; i < clients; ++i) connected.push_back(make_client(scene));
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> enqueued{0};
  EnqueuedTogether together;
  const auto begin = steady_clock::now();
  {
    std::vector<std::jthread> threads;
    struct AtEnd {  // also where a thread could not be started
      std::atomic<bool>& over;
      ~AtEnd() { over = true; }
    } const at_end{over};
    for (Client& client : connected) {
      threads.emplace_back([&] {
        IdRange mine;
        NewTask task = make_task(scene, -1, 0);
        try {
          while (!over) {
            give_keys(scene, {&task, 1});
            mine.add(client.enqueue(task));
            ++enqueued;
          }
        } catch (...) {
          together.fail(std::current_exception());
          over = true;
        }
        together.add(mine);
      });
    }
    while (!over && steady_clock::now() - begin < workload.time && !was_interrupted()) {
      scene.progress()(doing, enqueued, 0);
      pause(milliseconds{50});
    }
  }
  const double seconds = seconds_since(begin);
  ids.add(together.ids());
  require_not_interrupted();
  return static_cast<double>(enqueued) / seconds;
}

double enqueue_in_bulk(Scene& scene, const Workload& workload, IdRange& ids) {
  constexpr std::int64_t most_bytes = 256 << 20;
  if (const std::int64_t bytes = workload.batch * scene.conditions().payload; bytes > most_bytes) {
    throw InvalidInput("--batch " + std::to_string(workload.batch) + " of --payload " +
                           std::to_string(scene.conditions().payload) + " are " + std::to_string(bytes) +
                           " bytes in one call; the limit is " + std::to_string(most_bytes),
                       "make the batch smaller");
  }
  Client client = make_client(scene);
  std::vector<NewTask> tasks(static_cast<std::size_t>(workload.batch), make_task(scene, -1, 0));
  std::int64_t done = 0;
  const auto begin = steady_clock::now();
  while (done < workload.tasks) {
    require_not_interrupted();
    scene.progress()("enqueueing in bulk", done, workload.tasks);
    give_keys(scene, tasks);
    for (const TaskId id : client.enqueue_many(tasks)) ids.add(id);
    done += workload.batch;
  }
  return static_cast<double>(done) / seconds_since(begin);
}

}  // namespace

void enqueue(Scene& scene, const Workload& workload, Figures& figures) {
  const Memory memory{0};
  std::optional<WorkerProcesses> workers;
  if (workload.workers > 0) {
    workers.emplace(worker_settings(scene, workload), memory);
    wait_until_asleep(scene, *workers, workload.workers);
  }
  IdRange ids;
  const std::string by_clients = std::to_string(workload.clients) + " clients";
  figures.add("bulk_per_s", "bulk, " + std::to_string(workload.batch) + " a call", "tasks/s",
              enqueue_in_bulk(scene, workload, ids));
  figures.add("single_per_s", "single, one client", "tasks/s",
              enqueue_singly(scene, workload, 1, "enqueueing singly", ids));
  figures.add("concurrent_per_s", "single, " + by_clients, "tasks/s",
              enqueue_singly(scene, workload, workload.clients, "enqueueing singly by " + by_clients, ids));
  if (workers) {
    wait_until_handled(scene, memory, *workers, static_cast<std::uint64_t>(ids.count), "draining");
    wait_until_done(scene, *workers);
    workers->stop();
    verify(scene, ids, 0);
    return;
  }
  const sql::BenchVerify verify{.first_id = ids.first, .last_id = ids.last, .failures = 0};
  const std::int64_t there = db::one(scene.connection().run(verify)).there;
  if (there != ids.count) {
    throw Failure(ExitCode::not_done, std::to_string(ids.count) + " tasks were enqueued, and " + std::to_string(there) +
                                          " are there: this is a defect of dogged");
  }
}

void latency(Scene& scene, const Workload& workload, Figures& figures) {
  const Memory memory{static_cast<std::size_t>(workload.tasks)};
  WorkerProcesses workers{worker_settings(scene, workload), memory};
  wait_until_asleep(scene, workers, workload.workers);
  Client client = make_client(scene);
  IdRange ids;
  std::vector<double> since_call, since_answer;
  std::minstd_rand random{1};  // so that no rhythm of the worker's is met
  std::uniform_int_distribution<std::int64_t> gap{workload.every.count() / 2, workload.every.count() * 3 / 2};
  for (std::int64_t i = 0; i < workload.tasks; ++i) {
    scene.progress()("enqueueing to idle workers", i, workload.tasks);
    const NewTask task = make_task(scene, i, 0);
    const std::int64_t called = Memory::now_ns();
    ids.add(client.enqueue(task));
    const std::int64_t answered = Memory::now_ns();
    std::int64_t begun = 0;
    while ((begun = memory.begun_ns(static_cast<std::size_t>(i))) == 0) {
      require_not_interrupted();
      workers.require_alive();
      if (Memory::now_ns() - answered > std::chrono::nanoseconds{longest_end}.count()) {
        throw Failure(ExitCode::not_done, "for minutes no worker has begun task " + std::to_string(ids.last));
      }
      pause(milliseconds{1});
    }
    since_call.push_back(static_cast<double>(begun - called) / 1e6);
    since_answer.push_back(static_cast<double>(std::max<std::int64_t>(begun - answered, 0)) / 1e6);
    if (i + 1 < workload.tasks) watch(workers, milliseconds{gap(random)});
  }
  wait_until_done(scene, workers);
  workers.stop();
  verify(scene, ids, 0);
  figures.add_times("pick_up", "from the commit to the handler", since_answer);
  figures.add_times("enqueue_to_start", "from the call of enqueue to the handler", since_call);
}

void schedule(Scene& scene, const Workload& workload, Figures& figures) {
  // No task is due before all are enqueued: the figures would measure the enqueueing.
  const milliseconds first_after{1000 + workload.tasks / 20};
  const Memory memory{0};
  WorkerProcesses workers{worker_settings(scene, workload), memory};
  wait_until_asleep(scene, workers, workload.workers);
  Client client = make_client(scene);
  std::minstd_rand random{1};
  std::uniform_int_distribution<std::int64_t> delay{0, workload.time.count()};
  const NewTask task = make_task(scene, -1, 1, late_task_name);
  IdRange ids;
  while (ids.count < workload.tasks) {
    require_not_interrupted();
    std::vector<NewTask> tasks(call_size(scene, workload.tasks - ids.count), task);
    for (NewTask& one : tasks) one.options.delay = first_after + milliseconds{delay(random)};
    for (const TaskId id : client.enqueue_many(tasks)) ids.add(id);
  }
  wait_until_handled(scene, memory, workers, static_cast<std::uint64_t>(2 * workload.tasks), "running what falls due",
                     longest_end + workload.time + first_after);
  workers.stop();  // and so all is written
  verify(scene, ids, 1);
  std::vector<double> tasks_late, retries_late;
  std::int64_t early = 0;
  const sql::BenchLateness lateness{.first_id = ids.first, .last_id = ids.last};
  for (const auto& [is_retry, late_ms] : scene.connection().run(lateness)) {
    (is_retry ? retries_late : tasks_late).push_back(late_ms);
    if (late_ms < 0) ++early;
  }
  figures.add_times("task_late", "tasks that were due, late by", tasks_late);
  figures.add_times("retry_late", "retries that were due, late by", retries_late);
  figures.add("early", "begun before they were due", "attempts", static_cast<double>(early));
}

void idle(Scene& scene, const Server& server, const Workload& workload, Figures& figures) {
  const Memory memory{0};
  WorkerProcesses workers{worker_settings(scene, workload), memory};
  wait_until_asleep(scene, workers, workload.workers);
  const auto transactions = [&] { return db::one(scene.connection().run(sql::BenchTransactions{})).count; };
  scene.progress()("letting the workers come to rest", 0, 0);
  watch(workers, workload.settle);
  const std::int64_t transactions_before = transactions();
  const double workers_before = workers.cpu_seconds(), machine_before = busy_seconds_of_machine();
  const auto begin = steady_clock::now();
  scene.progress()("watching idle workers", 0, 0);
  watch(workers, workload.time);
  const double seconds = seconds_since(begin);
  const double of_workers = workers.cpu_seconds() - workers_before;
  const double of_machine = busy_seconds_of_machine() - machine_before;
  const auto asked = static_cast<double>(transactions() - transactions_before);
  const Usage usage = workers.stop();
  figures.add("transactions_per_s", "transactions for each worker", "/s", asked / seconds / workload.workers);
  figures.add("worker_cpu_percent", "CPU of the workers", "% of one", 100 * of_workers / seconds);
  if (server.is_on_this_machine) {
    figures.add("machine_cpu_percent", "CPU of this machine", "% of one", 100 * of_machine / seconds);
  }
  figures.add("worker_memory_mb", "memory of a worker", "MB", usage.max_memory_mb);
}

namespace {

/// The work done and the resources used up to some moment.
struct Reading {
  steady_clock::time_point at;
  std::int64_t enqueued = 0;
  std::int64_t handled = 0;
  double worker_cpu = 0;
  double machine_cpu = 0;

  [[nodiscard]] std::int64_t backlog() const { return std::max<std::int64_t>(enqueued - handled, 0); }
};

std::string line_between(const Reading& before, const Reading& now, double since_begin, bool with_machine) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  const std::int64_t handled = now.handled - before.handled;
  std::string line = number_for_people(std::round(since_begin)) + " s  enqueued " +
                     number_for_people(static_cast<double>(now.enqueued - before.enqueued) / seconds) + "/s  done " +
                     number_for_people(static_cast<double>(handled) / seconds) + "/s  backlog " +
                     number_for_people(static_cast<double>(now.backlog())) + "  worker " +
                     number_for_people(per_task_us(now.worker_cpu - before.worker_cpu, handled)) + " µs/task";
  if (with_machine) {
    line += "  machine " + number_for_people(per_task_us(now.machine_cpu - before.machine_cpu, handled)) + " µs/task";
  }
  return line;
}

/// Enqueues `rate` tasks a second, a hundredth of them each 10 ms, until it is stopped.
class Producer {
 public:
  Producer(const Scene& scene, std::int64_t rate, std::atomic<std::int64_t>& enqueued)
      : client_(make_client(scene)),
        task_(make_task(scene, -1, 0)),
        thread_([this, rate, &enqueued](std::stop_token stop) {
          try {
            run(stop, rate, enqueued);
          } catch (...) {
            failure_ = std::current_exception();
            has_failed_ = true;
          }
        }) {}

  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

  /// Throws what went wrong in it.
  IdRange stop() {
    thread_.request_stop();
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
    return ids_;
  }

 private:
  void run(const std::stop_token& stop, std::int64_t rate, std::atomic<std::int64_t>& enqueued) {
    const auto begin = steady_clock::now();
    for (int tick = 1; !stop.stop_requested(); ++tick) {
      const std::int64_t target = rate * tick / 100;
      const auto missing = static_cast<std::size_t>(target - ids_.count);
      if (missing > 0) {
        for (const TaskId id : client_.enqueue_many(std::vector<NewTask>(missing, task_))) ids_.add(id);
        enqueued += static_cast<std::int64_t>(missing);
      }
      std::this_thread::sleep_until(begin + tick * milliseconds{10});
    }
  }

  Client client_;
  NewTask task_;
  IdRange ids_;
  std::exception_ptr failure_;
  std::atomic<bool> has_failed_{false};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

void steady(Scene& scene, const Server& server, const Workload& workload, Figures& figures,
            const std::function<void(const std::string& line)>& on_second) {
  const Memory memory{0};
  WorkerProcesses workers{worker_settings(scene, workload), memory};
  wait_until_asleep(scene, workers, workload.workers);
  std::atomic<std::int64_t> enqueued{0};
  const auto read = [&] {
    return Reading{steady_clock::now(), enqueued, static_cast<std::int64_t>(memory.handled()), workers.cpu_seconds(),
                   busy_seconds_of_machine()};
  };
  std::vector<Reading> readings{read()};
  const auto begin = readings.front().at;
  Producer producer{scene, workload.rate, enqueued};
  scene.progress()("", 0, 0);  // clears its line for the laps that follow
  while (steady_clock::now() - begin < workload.time && !producer.has_failed()) {
    std::this_thread::sleep_until(begin + readings.size() * std::chrono::seconds{1});
    require_not_interrupted();
    workers.require_alive();
    readings.push_back(read());
    on_second(
        line_between(readings[readings.size() - 2], readings.back(), seconds_since(begin), server.is_on_this_machine));
  }
  const IdRange ids = producer.stop();
  const Reading& end = readings.back();
  wait_until_handled(scene, memory, workers, static_cast<std::uint64_t>(ids.count), "draining");
  wait_until_done(scene, workers);
  const Usage usage = workers.stop();
  verify(scene, ids, 0);

  const double seconds = std::chrono::duration<double>(end.at - begin).count();
  std::int64_t most = 0;
  for (const Reading& reading : readings) most = std::max(most, reading.backlog());
  figures.add("enqueued_per_s", "enqueued", "tasks/s", static_cast<double>(end.enqueued) / seconds);
  figures.add("done_per_s", "done", "tasks/s", static_cast<double>(end.handled) / seconds);
  figures.add("backlog_max", "backlog, at its most", "tasks", static_cast<double>(most));
  figures.add("backlog_end", "backlog, at the end", "tasks", static_cast<double>(end.backlog()));
  add_usage(figures, usage, ids.count);
  const std::size_t part = std::max<std::size_t>(readings.size() / 5, 1);
  const auto cpu_between = [&](std::size_t from, std::size_t to) {
    return per_task_us(server.is_on_this_machine ? readings[to].machine_cpu - readings[from].machine_cpu
                                                 : readings[to].worker_cpu - readings[from].worker_cpu,
                       readings[to].handled - readings[from].handled);
  };
  const std::string whose = server.is_on_this_machine ? "CPU of this machine" : "CPU of the workers";
  figures.add("cpu_first_us", whose + ", first fifth", "µs/task", cpu_between(0, part));
  figures.add("cpu_last_us", whose + ", last fifth", "µs/task",
              cpu_between(readings.size() - 1 - part, readings.size() - 1));
}

}  // namespace dogged::cli::bench
