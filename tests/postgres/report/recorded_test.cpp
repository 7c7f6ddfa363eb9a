// A worker's notes of attempts once they are on record: the process's retry metrics, and its log.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include <dogged/retry_metrics.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;
using test::registered;
using test::TestDatabase;

namespace {

struct Failures {
  int count = 0;  ///< the first so many attempts fail
  std::string code{};
  std::string third_code{};  ///< of the third attempt; the same unless given
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failures, count, code, third_code)

constexpr Task<Failures> kept{"recorded.kept"};
constexpr Task<Failures> not_kept{"recorded.not_kept"};
constexpr auto queue = "recorded";
constexpr auto listed = "RECORDED_LISTED";
constexpr auto unlisted = "RECORDED_UNLISTED";
const std::string message = R"(message="as asked for")";

detail::RegisteredTask fails_first(const Task<Failures>& task, bool keeps_dead_letters) {
  return registered(task,
                    [](Context& context, const Failures& failures) {
                      const bool differs = context.attempt() == 3 && !failures.third_code.empty();
                      if (context.attempt() > failures.count) return;
                      throw TaskError{differs ? failures.third_code : failures.code, "as asked for"};
                    },
                    {.queue = queue,
                     .retry = fixed(1ms).with_max_retries(2).with_jitter(Jitter::none()),
                     .auto_retry_for = {listed},
                     .dead_letter = keeps_dead_letters});
}

std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> make_sink() {
  auto sink = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(1000);
  sink->set_pattern("%l %v");
  return sink;
}

std::string without_line_end(std::string line) {
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

/// A worker whose log is read when it has ended: then all that it has written is counted and logged.
class LoggedWorker {
 public:
  LoggedWorker(const TestDatabase& database, spdlog::level::level_enum level, bool log_retries = false)
      : worker_{{.database = database.settings_of("worker"),
                 .name = "logged",
                 .heartbeat = 50ms,
                 .lease = 10s,
                 .log_retries = log_retries},
                runtime::make_definitions({fails_first(kept, true), fails_first(not_kept, false)}),
                make_log(level),
                stop_},
        thread_{[this] { worker_.run(); }} {}
  ~LoggedWorker() { stop(); }

  /// The lines of tasks, in their order.
  std::vector<std::string> stop() {
    stop_.wake();
    if (thread_.joinable()) thread_.join();
    std::vector<std::string> task_lines;
    for (std::string& line : lines()) {
      if (contains(line, "event=")) task_lines.push_back(std::move(line));
    }
    return task_lines;
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const std::string& line : sink_->last_formatted()) all.push_back(without_line_end(line));
    return all;
  }

 private:
  std::shared_ptr<spdlog::logger> make_log(spdlog::level::level_enum level) {
    auto log = std::make_shared<spdlog::logger>("logged", sink_);
    log->set_level(level);
    return log;
  }

  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> sink_ = make_sink();
  runtime::WakeFd stop_;
  runtime::Worker worker_;
  std::thread thread_;
};

bool has_status(TestDatabase& database, TaskId id, const std::string& status) {
  return eventually([&] { return database.status_of(id) == status; });
}

/// Enqueues, and waits until the task has ended so.
TaskId run_to(TestDatabase& database, const Task<Failures>& task, const Failures& failures, const std::string& status) {
  const TaskId id = database.client().enqueue(task, failures, {.queue = queue});
  REQUIRE(has_status(database, id, status));
  return id;
}

std::string line_of(TaskId id, const char* before, const std::string& after, const Task<Failures>& task = kept) {
  return std::string{before} + " task=" + std::to_string(id) + " name=" + std::string{task.name()} + " queue=" + queue +
         " " + after;
}

/// The counts of this test alone: the process counts for all its tests.
class Counted {
 public:
  std::uint64_t failures(const std::string& error) const {
    return difference(&RetryMetricsSnapshot::failures, [&](const auto& series) {
      return is_of_task(series) && series.policy_type == "fixed" && series.error_type == error;
    });
  }
  std::uint64_t errors(const std::string& kind, const std::string& error) const {
    return difference(&RetryMetricsSnapshot::errors, [&](const auto& series) {
      return is_of_task(series) && series.kind == kind && series.error_type == error;
    });
  }
  std::uint64_t retries(const std::string& number) const {
    return difference(&RetryMetricsSnapshot::retries, [&](const auto& series) {
      return is_of_task(series) && series.policy_type == "fixed" && series.attempt == number;
    });
  }
  std::uint64_t successes() const {
    return difference(&RetryMetricsSnapshot::successes,
                      [](const auto& series) { return is_of_task(series) && series.policy_type == "fixed"; });
  }
  std::uint64_t dead_letters(const std::string& error) const {
    return difference(&RetryMetricsSnapshot::dead_letters, [&](const auto& series) {
      return series.queue == queue && series.task == kept.name() && series.error_type == error;
    });
  }
  /// In the bucket of the shortest delays, 1 ms.
  std::uint64_t shortest_delays() const {
    return buckets_of(retry_metrics().snapshot().delays, 1) - buckets_of(before_.delays, 1);
  }
  /// In all buckets.
  std::uint64_t durations() const {
    return buckets_of(retry_metrics().snapshot().durations, 100) - buckets_of(before_.durations, 100);
  }

 private:
  template <class Series, class Wanted>
  std::uint64_t difference(std::vector<Series> RetryMetricsSnapshot::*family, Wanted wanted) const {
    return count(retry_metrics().snapshot().*family, wanted) - count(before_.*family, wanted);
  }
  template <class Series, class Wanted>
  static std::uint64_t count(const std::vector<Series>& family, Wanted wanted) {
    std::uint64_t sum = 0;
    for (const Series& series : family) {
      if (wanted(series)) sum += series.count;
    }
    return sum;
  }
  template <class Series>
  static std::uint64_t buckets_of(const std::vector<Series>& histograms, std::size_t most) {
    std::uint64_t sum = 0;
    for (const Series& series : histograms) {
      if (!is_of_task(series) || series.policy_type != "fixed") continue;
      for (std::size_t i = 0; i < std::min(most, series.counts.size()); ++i) sum += series.counts[i];
    }
    return sum;
  }
  template <class Series>
  static bool is_of_task(const Series& series) {
    return series.source.kind == RetrySource::Kind::task &&
           (series.source.name == kept.name() || series.source.name == not_kept.name());
  }

  RetryMetricsSnapshot before_ = retry_metrics().snapshot();
};

}  // namespace

TEST_CASE("each retry, giving up and each error that is not retried is counted, and is one line of the worker's log") {
  TestDatabase database;
  const Counted counted;
  LoggedWorker worker{database, spdlog::level::debug};
  run_to(database, kept, {}, "succeeded");  // at once: nothing to tell
  const TaskId retried = run_to(database, kept, {1, listed}, "succeeded");
  const TaskId given_up = run_to(database, kept, {9, listed}, "failed");
  const TaskId refused = run_to(database, kept, {9, unlisted}, "failed");
  const TaskId discarded = run_to(database, not_kept, {9, unlisted}, "discarded");
  CHECK(worker.stop() ==
        std::vector<std::string>{
            line_of(retried, "debug event=retry",
                    "attempt=1 error=RECORDED_LISTED retry=1 max_retries=2 delay_ms=1 " + message),
            line_of(retried, "debug event=succeeded", "attempt=2 retries=1"),
            line_of(given_up, "debug event=retry",
                    "attempt=1 error=RECORDED_LISTED retry=1 max_retries=2 delay_ms=1 " + message),
            line_of(given_up, "debug event=retry",
                    "attempt=2 error=RECORDED_LISTED retry=2 max_retries=2 delay_ms=1 " + message),
            line_of(given_up, "warning event=gave_up",
                    "attempt=3 error=RECORDED_LISTED retries=2 status=failed " + message),
            line_of(refused, "warning event=not_retried",
                    "attempt=1 error=RECORDED_UNLISTED retries=0 status=failed " + message),
            line_of(discarded, "warning event=not_retried",
                    "attempt=1 error=RECORDED_UNLISTED retries=0 status=discarded " + message, not_kept),
        });
  CHECK(counted.errors("transient", listed) == 4);
  CHECK(counted.errors("permanent", unlisted) == 2);
  CHECK(counted.failures(listed) == 2);  // of retries: both of the task that gave up
  CHECK(counted.failures(unlisted) == 0);
  CHECK(counted.durations() == 3);  // and the retry that succeeded
  CHECK(counted.retries("1") == 2);
  CHECK(counted.retries("2") == 1);
  CHECK(counted.shortest_delays() == 3);
  CHECK(counted.successes() == 1);
  CHECK(counted.dead_letters(listed) == 1);
  CHECK(counted.dead_letters(unlisted) == 1);  // a discarded task is no dead letter
}

TEST_CASE("an error that is not listed is not retried, also after the last retry") {
  TestDatabase database;
  LoggedWorker worker{database, spdlog::level::info};
  const TaskId id = run_to(database, kept, {9, listed, unlisted}, "failed");
  CHECK(worker.stop() ==
        std::vector<std::string>{line_of(id, "warning event=not_retried",
                                         "attempt=3 error=RECORDED_UNLISTED retries=2 status=failed " + message)});
}

TEST_CASE("at the usual level a worker's log says of retries only that one was the last") {
  TestDatabase database;
  LoggedWorker worker{database, spdlog::level::info};
  const TaskId given_up = run_to(database, kept, {9, listed}, "failed");
  CHECK(worker.stop() ==
        std::vector<std::string>{line_of(given_up, "warning event=gave_up",
                                         "attempt=3 error=RECORDED_LISTED retries=2 status=failed " + message)});
}

TEST_CASE("a worker that is asked to logs each retry, and each success after retries, at the usual level") {
  TestDatabase database;
  LoggedWorker worker{database, spdlog::level::info, true};
  run_to(database, kept, {}, "succeeded");
  const TaskId retried = run_to(database, kept, {1, listed}, "succeeded");
  CHECK(worker.stop() == std::vector<std::string>{
                             line_of(retried, "info event=retry",
                                     "attempt=1 error=RECORDED_LISTED retry=1 max_retries=2 delay_ms=1 " + message),
                             line_of(retried, "info event=succeeded", "attempt=2 retries=1"),
                         });
}

TEST_CASE("an attempt that was lost with its worker is counted by the one that rescues it, and as no retry") {
  TestDatabase database;
  database.run("select dogged.create_queue($1)", db::Params{}.add(std::string{queue}));
  const TaskId id = database.client().enqueue(kept, {}, {.queue = queue});
  database.claim_all_for(test::add_worker(database, "0"));
  const Counted counted;
  LoggedWorker worker{database, spdlog::level::debug};
  REQUIRE(has_status(database, id, "succeeded"));
  CHECK(database.history_of(id) == "1 lost true, 2 succeeded false");
  CHECK(worker.stop().empty());
  const std::vector<std::string> lines = worker.lines();
  CHECK(std::any_of(lines.begin(), lines.end(),
                    [](const std::string& line) { return contains(line, "warning rescued 1 task of worker "); }));
  CHECK(counted.errors("transient", "WORKER_LOST") == 1);
  CHECK(counted.durations() == 0);
  CHECK(counted.retries("1") == 0);
  CHECK(counted.successes() == 0);
}

TEST_CASE("the line of a task that was lost for good carries the producer's trace") {
  TestDatabase database;
  database.run("select dogged.create_queue($1)", db::Params{}.add(std::string{queue}));
  const TaskId id = database.client().enqueue(
      kept, {}, {.queue = queue, .trace_context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
  database.run("update dogged.tasks_live set losses = 1000");
  database.claim_all_for(test::add_worker(database, "0"));
  LoggedWorker worker{database, spdlog::level::info};
  REQUIRE(has_status(database, id, "failed"));
  const std::vector<std::string> lines = worker.stop();
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().starts_with(
      line_of(id, "warning event=not_retried",
              "attempt=1 error=WORKER_LOST trace=4bf92f3577b34da6a3ce929d0e0e4736 retries=0 status=failed message=")));
}

TEST_CASE("a retry that was lost with its worker counts as a failed retry under its task's policy") {
  TestDatabase database;
  database.run("select dogged.create_queue($1)", db::Params{}.add(std::string{queue}));
  const TaskId id = database.client().enqueue(kept, {}, {.queue = queue});
  database.run("update dogged.tasks_live set attempt = 1, retry_count = 1");
  database.claim_all_for(test::add_worker(database, "0"));
  const Counted counted;
  LoggedWorker worker{database, spdlog::level::debug};
  REQUIRE(has_status(database, id, "succeeded"));
  CHECK(worker.stop() == std::vector<std::string>{line_of(id, "debug event=succeeded", "attempt=3 retries=1")});
  CHECK(counted.failures("WORKER_LOST") == 1);
  CHECK(counted.errors("transient", "WORKER_LOST") == 1);
  CHECK(counted.durations() == 1);  // of the retry that succeeded: nobody knows how long the other one ran
  CHECK(counted.successes() == 1);
}

TEST_CASE("a name that another worker has chosen forges no line of the log, and moves no cursor") {
  TestDatabase database;
  // As in a table that has no such checks yet.
  database.run("alter table dogged.workers drop constraint workers_name_check, drop constraint workers_host_check");
  const std::int64_t other = test::add_worker(database, "0");
  const std::string forged = "x) ok\n2026-01-01 error all is lost\r\x1b[2J\x1b]0;owned\x07\u009b31m\u202ekcab";
  database.run("update dogged.workers set name = $1, host = $1 where id = $2::bigint",
               db::Params{}.add(forged).add(other));
  LoggedWorker worker{database, spdlog::level::debug};
  const auto says_so = [&](const std::string& line) { return contains(line, "has not renewed its lease"); };
  const auto lines_of_it = [&] {
    std::vector<std::string> found = worker.lines();
    std::erase_if(found, [&](const std::string& line) { return !says_so(line); });
    return found;
  };
  REQUIRE(eventually([&] { return !lines_of_it().empty(); }));
  const std::string line = lines_of_it().front();
  INFO(line);
  CHECK(contains(line, R"(x) ok\n2026-01-01 error all is lost\r\u001b[2J\u001b]0;owned\u0007\u009b31m\u202ekcab)"));
  for (const std::string& each : worker.lines()) {
    for (const char* forging : {"\n", "\r", "\x1b", "\x07", "\u009b", "\u202e"}) CHECK_FALSE(contains(each, forging));
  }
}

TEST_CASE("a message that a handler logs is one line, under the name of its task") {
  TestDatabase database;
  const auto sink = make_sink();
  sink->set_pattern("[%n] %v");
  runtime::WakeFd stop;
  constexpr Task<nlohmann::json> talks{"talks"};
  runtime::Worker worker{{.database = database.settings_of("worker"), .name = "talker"},
                         runtime::make_definitions({registered(talks,
                                                               [](Context& context, const nlohmann::json& args) {
                                                                 context.log().info("{}", args.get<std::string>());
                                                               })}),
                         std::make_shared<spdlog::logger>("logged", sink),
                         stop};
  std::thread thread{[&] { worker.run(); }};
  const TaskId id = database.client().enqueue(talks, "one\ntwo");
  const bool has_ended = has_status(database, id, "succeeded");
  stop.wake();
  thread.join();
  REQUIRE(has_ended);
  const auto lines = sink->last_formatted();
  CHECK(std::find(lines.begin(), lines.end(),
                  "[logged task=" + std::to_string(id) + " name=talks queue=default attempt=1] one\\ntwo\n") !=
        lines.end());
}

TEST_CASE("the table of workers takes no name, host or version that forges a line") {
  TestDatabase database;
  const std::int64_t id = test::add_worker(database);
  for (const std::string column : {"name", "host", "version"}) {
    for (const std::string text : {"a\nb", "a\x1b[2J", "a\u009b", "a\u202eb", "a\u2066b", "a\u2028b", "a\x7f"}) {
      INFO(column << " " << text);
      CHECK_THROWS_AS(database.run("update dogged.workers set " + column + " = $1 where id = $2::bigint",
                                   db::Params{}.add(text).add(id)),
                      InvalidInput);
    }
    database.run("update dogged.workers set " + column + " = 'Größe 1: ok' where id = $1::bigint",
                 db::Params{}.add(id));
  }
}
