// Runs what is ready, and returns.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <dogged/testing.hpp>

#include "db/connection.hpp"
#include "private_server/cluster.hpp"
#include "sql/testing.hpp"

namespace dogged::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A task takes longer than this; many such looks cost the server little.
constexpr auto between_looks = std::chrono::milliseconds{2};
constexpr std::size_t listed_tasks = 20;

void require_options(const WorkerOptions& options, const DrainOptions& how) {
  if (!options.name.empty()) {
    throw InvalidInput("drain was given the worker's name \"" + options.name + "\"",
                       "leave WorkerOptions::name empty: drain finds its attempts by a name of its own");
  }
  if (how.limit < milliseconds{1} || how.limit > std::chrono::hours{24}) {
    throw InvalidInput("DrainOptions::limit is " + std::to_string(how.limit.count()) +
                       " ms, which is not 1 ms to 24 h");
  }
}

std::vector<std::string> queues_of(const WorkerOptions& options, const Tasks& tasks) {
  std::set<std::string> queues;
  for (const auto& [queue, concurrency] : options.queues) queues.insert(queue);
  if (queues.empty()) {
    for (const auto& task : tasks.all()) {
      queues.emplace(task.queue());
    }
  }
  return {queues.begin(), queues.end()};
}

/// By name, the latest version of args that its handler takes.
using Handled = std::map<std::string, int, std::less<>>;

Handled handled_by(const Tasks& tasks) {
  Handled handled;
  for (const auto& task : tasks.all()) handled.emplace(task.name, task.args_version);
  return handled;
}

/// A task that has not ended.
using Left = sql::TestingLeft::Row;

/// Why there is no handler for a task; empty if there is one.
std::string why_not_handled(const Left& task, const Handled& handled) {
  const auto found = handled.find(task.name);
  if (found == handled.end()) return "there is no handler for it among the tasks that drain was given";
  if (task.args_version <= found->second) return "";
  return "its args are of version " + std::to_string(task.args_version) + ", and the key of its handler has version " +
         std::to_string(found->second);
}

/// Why a task that is left does not end.
std::string reason_for(const Left& task, const Handled& handled) {
  if (task.is_running) return "runs: its handler has not returned";
  if (task.is_queue_paused) return "its queue is paused";
  if (const std::string why = why_not_handled(task, handled); !why.empty()) return why;
  if (task.waits) return "waits for its time, in " + std::to_string(task.due_in_ms) + " ms";
  return "is ready";
}

/// Whether the task never runs here.
bool is_stuck(const Left& task, const Handled& handled) {
  return !task.is_running && (task.is_queue_paused || !why_not_handled(task, handled).empty());
}

std::string list_of(const std::vector<Left>& left, const Handled& handled) {
  std::string text;
  for (std::size_t i = 0; i < std::min(left.size(), listed_tasks); ++i) {
    text += "\n  " + std::to_string(left[i].id) + " " + left[i].name + " in " + left[i].queue + ": " +
            reason_for(left[i], handled);
  }
  if (left.size() > listed_tasks) text += "\n  … and " + std::to_string(left.size() - listed_tasks) + " more";
  return text;
}

AttemptOutcome outcome_of(std::string_view text) {
  const auto& texts = dogged::detail::outcome_texts;
  return static_cast<AttemptOutcome>(std::find(texts.begin(), texts.end(), text) - texts.begin());
}

std::vector<DrainedAttempt> attempts_of(db::Connection& connection, const std::string& worker) {
  std::vector<DrainedAttempt> attempts;
  for (const sql::TestingAttempts::Row& one : connection.run(sql::TestingAttempts{.worker_name = worker})) {
    attempts.push_back({.task_id = one.task_id,
                        .task_name = one.name,
                        .queue = one.queue,
                        .attempt = one.attempt,
                        .outcome = outcome_of(one.outcome),
                        .error_code = one.error_code.value_or(""),
                        .error_message = one.error_message.value_or(""),
                        .will_retry = one.will_retry,
                        .retry_delay = milliseconds{one.delay_ms.value_or(0)}});
  }
  return attempts;
}

/// Looks at the queues until nothing is left to run; gives how many tasks wait.
class Drain {
 public:
  Drain(db::Connection& connection, const std::vector<std::string>& queues, Handled handled, const DrainOptions& how)
      : connection_(connection), queues_(queues), handled_(std::move(handled)), how_(how) {}

  /// `has_ended`: whether the worker has ended of its own; then it returns at once.
  std::size_t run(const std::atomic<bool>& has_ended) {
    const auto end = SteadyClock::now() + how_.limit;
    for (; !has_ended; std::this_thread::sleep_for(between_looks)) {
      const std::vector<Left> left = connection_.run(sql::TestingLeft{.queues = queues_});
      const std::size_t waiting = count(left, [](const Left& task) { return task.waits; });
      if (left.size() == (how_.with_scheduled ? 0 : waiting)) return waiting;
      require_hope(left);
      if (SteadyClock::now() > end) {
        throw DrainError("drain has not come to an end within " + std::to_string(how_.limit.count()) + " ms (" +
                             std::to_string(left.size()) + " tasks are left):" + list_of(left, handled_),
                         "mend what keeps them, or give more time: DrainOptions::limit");
      }
      if (how_.with_scheduled && waiting > 0) connection_.run(sql::TestingBringForward{.queues = queues_});
    }
    return 0;
  }

 private:
  template <class Test>
  static std::size_t count(const std::vector<Left>& tasks, Test test) {
    return static_cast<std::size_t>(std::count_if(tasks.begin(), tasks.end(), test));
  }

  void require_hope(const std::vector<Left>& left) const {
    const bool with_scheduled = how_.with_scheduled;
    const std::size_t others =
        count(left, [&](const Left& task) { return !is_stuck(task, handled_) && (with_scheduled || !task.waits); });
    if (others > 0) return;
    throw DrainError("drain can run none of the tasks that are left:" + list_of(left, handled_),
                     "give drain the handlers, resume the queue, or drain other queues (WorkerOptions::queues)");
  }

  db::Connection& connection_;
  const std::vector<std::string>& queues_;
  const Handled handled_;
  const DrainOptions how_;
};

}  // namespace

std::size_t DrainResult::count(AttemptOutcome outcome) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      attempts.begin(), attempts.end(), [outcome](const DrainedAttempt& one) { return one.outcome == outcome; }));
}

DrainResult drain(WorkerOptions options, const Tasks& tasks, const DrainOptions& how) {
  require_options(options, how);
  const std::vector<std::string> queues = queues_of(options, tasks);
  const milliseconds stop_grace = options.stop_grace;
  options.name = "drain:" + private_server::random_password();
  const std::string name = options.name;
  // Before the worker, which it outlives.
  std::atomic<bool> has_ended{false};
  options.on_end = [&has_ended, told = std::move(options.on_end)](const WorkerEnd& end) {
    has_ended = true;
    if (told) told(end);
  };
  const db::Settings settings{
      .url = options.database_url, .schema = options.schema, .application_name = "dogged drain"};

  Worker worker{std::move(options), tasks};
  worker.start();
  db::Connection connection{settings};
  DrainResult result;
  try {
    result.waiting = Drain{connection, queues, handled_by(tasks), how}.run(has_ended);
  } catch (...) {
    worker.stop(stop_grace);
    throw;
  }
  const WorkerEnd end = worker.stop();
  if (end.error) std::rethrow_exception(end.error);
  if (end.reason != WorkerEnd::Reason::stopped) {
    throw DrainError("drain's worker ended, because " + std::to_string(end.abandoned_threads) +
                         " handlers went on after they were asked to stop",
                     "have handlers obey Context::stop_token()");
  }
  result.attempts = attempts_of(connection, name);
  return result;
}

}  // namespace dogged::testing
