// dogged::Client: calls over one connection behind a mutex, and a connection for each wait under way.
#include "sql/client.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <dogged/client.hpp>
#include <dogged/custom_policy.hpp>
#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/mutex.hpp>
#include <dogged/detail/sql_call.hpp>
#include <dogged/retry_options.hpp>

#include "client/database_url.hpp"
#include "client/enqueue_statement.hpp"
#include "client/escaping_log.hpp"
#include "client/repeatable_calls.hpp"
#include "client/task_records.hpp"
#include "client/task_wait.hpp"
#include "db/errors.hpp"
#include "retry/failure_code.hpp"
#include "retry/operation_counts.hpp"

namespace dogged {

namespace {

using SteadyClock = std::chrono::steady_clock;

/// Throws before it makes an aggregate: GCC 12 destroys members of an aggregate twice if a later member's initializer
/// throws.
RepeatableCalls::Settings settings_of(const std::string& url, ClientOptions& options) {
  const milliseconds retry_for = options.retry_for;
  if (retry_for < milliseconds{1} || retry_for > std::chrono::hours{24}) {
    throw InvalidInput{"retry_for is " + std::to_string(retry_for.count()) + " ms, and must be 1 ms to 24 h",
                       "to try once, set retry to NoRetry{}"};
  }
  CallPolicy{options.retry}.require_valid();
  return {.database = {url, std::move(options.schema), std::move(options.application_name)},
          .retry = options.retry,
          .retry_for = retry_for,
          .warns_of_undeclared = options.warns_of_undeclared,
          .log = escaping(options.log ? options.log : spdlog::default_logger())};
}

/// The longest of the tasks' wait_for_room.
milliseconds wait_for_room(std::span<const NewTask> tasks) {
  milliseconds longest{0};
  for (const NewTask& task : tasks) {
    const milliseconds wait = task.options.wait_for_room;
    if (wait < milliseconds{0} || wait > std::chrono::hours{24}) {
      throw InvalidInput("task \"" + task.name.substr(0, limits::name_bytes) + "\": wait_for_room is " +
                             std::to_string(wait.count()) + " ms, and must be 0 to 24 h",
                         "Nothing was enqueued.");
    }
    longest = std::max(longest, wait);
  }
  return longest;
}

/// For metrics: the queue that the producer names. Where a worker's declaration decides, the client does not know it.
std::string_view named_queue(const NewTask& task) {
  if (!task.options.queue.empty()) return task.options.queue;
  return task.key_queue.empty() ? no_label : std::string_view{task.key_queue};
}

/// no_label if the tasks go to several queues.
std::string_view queue_of_all(std::span<const NewTask> tasks) {
  const std::string_view first = named_queue(tasks.front());
  const bool are_alike =
      std::all_of(tasks.begin(), tasks.end(), [&](const NewTask& task) { return named_queue(task) == first; });
  return are_alike ? first : no_label;
}

/// Counts the new tasks. If the call failed, `enqueued` is empty, and all tasks count. The function counts consecutive
/// tasks that are alike together.
void count_sent(const NewTasks& sent, std::span<const Enqueued> enqueued, std::string_view error_code) noexcept {
  std::span<const NewTask> tasks = sent.all();
  while (!tasks.empty()) {
    const NewTask& first = tasks.front();
    const auto differs = [&](const NewTask& task) {
      return task.name != first.name || named_queue(task) != named_queue(first);
    };
    const auto end = sent.kinds().size() == 1 ? tasks.end() : std::find_if(tasks.begin(), tasks.end(), differs);
    const auto alike = static_cast<std::size_t>(end - tasks.begin());
    std::size_t count = alike;
    if (!enqueued.empty()) {
      const auto of_these = enqueued.first(alike);
      count = static_cast<std::size_t>(
          std::count_if(of_these.begin(), of_these.end(), [](const Enqueued& one) { return one.is_new(); }));
      enqueued = enqueued.subspan(alike);
    }
    if (count > 0) operation_counts().sent(named_queue(first), first.name, error_code, count);
    tasks = tasks.subspan(alike);
  }
}

/// How long to wait before the `tries`-th repeated request for room in a full queue.
milliseconds until_next_try(int tries) {
  static const RetryPolicy policy =
      exponential(milliseconds{20}).with_max_retries(20).with_max_delay(std::chrono::seconds{1});
  return next_delay(policy, std::min(tries, max_retries(policy)), random_draw())->delay;
}

constexpr std::chrono::hours longest_wait{24};
constexpr std::size_t most_idle_waits = 4;

/// The value of an enum whose text is `text`, one of `all`.
template <class Result>
Result from_text(std::string_view text, std::initializer_list<Result> all) {
  for (const Result result : all) {
    if (to_text(result) == text) return result;
  }
  throw SchemaMismatch("the database says \"" + std::string{text} + "\", which this program does not know");
}

}  // namespace

class Client::Impl {
 public:
  Impl(const std::string& url, ClientOptions options)
      : settings_(settings_of(url, options)), middleware_(std::move(options.middleware)), calls_(settings_) {}

  std::vector<Enqueued> enqueue(std::span<const NewTask> tasks) {
    if (tasks.empty()) return {};
    if (!detail::has_enqueue_hooks(middleware_)) return enqueue_and_count(NewTasks{tasks});
    return detail::enqueue_within(
        middleware_, {tasks.begin(), tasks.end()}, settings_.log.get(),
        [this](const std::vector<NewTask>& changed) { return enqueue_and_count(NewTasks{changed}); });
  }

  /// Changes one task by a statement that answers with a word, one of `answers`. `statement` makes it of a key.
  template <class Statement, class Result>
  Result change(std::string_view name, TaskId id, const std::string& done, Statement statement,
                std::initializer_list<Result> answers) {
    const std::string task = "task " + std::to_string(id);
    const Wording words{name, task + " was not " + done, task + " may have been " + done};
    return from_text(db::one(call<sql::AnswerMade>(words, {}, statement)).answer, answers);
  }

  RescheduleResult reschedule(TaskId id, std::optional<std::int64_t> run_at_us, std::optional<std::int64_t> delay_ms) {
    const auto statement = [&](const CallKey& key) {
      return sql::RescheduleOnce{
          .task_id = id, .run_at_us = run_at_us, .delay_ms = delay_ms, .producer = key.producer, .call = key.call};
    };
    return change("reschedule", id, "rescheduled", statement,
                  {RescheduleResult::rescheduled, RescheduleResult::running, RescheduleResult::ended,
                   RescheduleResult::not_found});
  }

  std::int64_t emit(const std::string& name, const std::string& payload) {
    const Wording words{"emit", "the event was not emitted", "the event may have been emitted"};
    const auto statement = [&](const CallKey& key) {
      return sql::EmitOnce{.name = name, .payload = payload, .producer = key.producer, .call = key.call};
    };
    return std::stoll(db::one(call<sql::AnswerMade>(words, {}, statement)).answer);
  }

  /// Reads by `work`, a function of the connection.
  template <class Work>
  auto read(std::string_view name, Work work) {
    const auto begun_at = SteadyClock::now();
    require_same_process();
    std::invoke_result_t<Work, db::Connection&> found;
    const detail::Lock lock{mutex_};
    calls_.read(
        name, [&](db::Connection& connection) { found = work(connection); }, SteadyClock::now() - begun_at);
    return found;
  }

  TaskOutcome wait(TaskId id, milliseconds timeout, const OnProgress& on_progress) {
    if (timeout < milliseconds{0} || timeout > longest_wait) {
      throw InvalidInput{"the timeout of a wait is " + std::to_string(timeout.count()) + " ms, and must be 0 to 24 h",
                         "wait again where it ends with the task still pending or running"};
    }
    require_same_process();
    std::unique_ptr<TaskWait> wait = take_wait();
    TaskOutcome outcome = wait->wait(id, timeout, on_progress);
    if (wait->rest()) keep_wait(std::move(wait));
    return outcome;
  }

 private:
  std::vector<Enqueued> enqueue_and_count(const NewTasks& tasks) {
    try {
      std::vector<Enqueued> enqueued = counted_operation(QueueOperation::send, queue_of_all(tasks.kinds()),
                                                         [&] { return enqueue_with_room(tasks); });
      count_sent(tasks, enqueued, no_label);
      return enqueued;
    } catch (...) {
      count_sent(tasks, {}, failure_code(std::current_exception()).view());
      throw;
    }
  }

  /// Waits for room in the queues, for as long as the tasks allow.
  std::vector<Enqueued> enqueue_with_room(const NewTasks& tasks) {
    const milliseconds wait = wait_for_room(tasks.kinds());
    const auto until = SteadyClock::now() + wait;
    for (int tries = 1;; ++tries) {
      SteadyClock::duration left{0};
      try {
        return enqueue_now(tasks);
      } catch (const QueueFull& full) {
        left = until - SteadyClock::now();
        if (wait == milliseconds{0}) throw;
        if (left <= left.zero()) {
          throw QueueFull(full.message() + "; it had no room within " + std::to_string(wait.count()) + " ms",
                          full.hint(), full.sqlstate());
        }
      }
      std::this_thread::sleep_for(std::min<SteadyClock::duration>(until_next_try(tries), left));
    }
  }

  std::vector<Enqueued> enqueue_now(const NewTasks& tasks) {
    const Wording words{"enqueue", "nothing was enqueued", "the tasks may have been enqueued"};
    const auto statement = [&](const CallKey& key) { return enqueue_statement(tasks, key); };
    try {
      if (detail::any_is_unique(tasks.kinds())) {
        return detail::enqueued_from(db::one(call<sql::AnswerMade>(words, tasks.kinds(), statement)).answer,
                                     tasks.all().size());
      }
      return all_new(call<sql::CallMade>(words, tasks.kinds(), statement));
    } catch (const InvalidInput&) {
      explain_refused(tasks.all());
      throw;
    } catch (const DatabaseError& error) {
      if (error.sqlstate() == db::unique_conflict)
        throw UniqueConflict(error.message(), error.hint(), error.sqlstate());
      if (error.sqlstate() != db::queue_full) throw;
      throw QueueFull(error.message(), error.hint(), error.sqlstate());
    }
  }

  static std::vector<Enqueued> all_new(const std::vector<sql::CallMade::Row>& ranges) {
    std::vector<Enqueued> enqueued;
    for (const sql::CallMade::Row& range : ranges) {
      for (TaskId id = range.first; id <= range.last; ++id) enqueued.push_back({id});
    }
    return enqueued;
  }

  void require_same_process() const {
    if (::getpid() == process_) return;
    throw InvalidInput("this client was made in process " + std::to_string(process_) + ", and is used in process " +
                           std::to_string(::getpid()) + ", which was forked from it",
                       "make a client of its own in each process, after the fork");
  }

  std::unique_ptr<TaskWait> take_wait() {
    const detail::Lock lock{idle_mutex_};
    if (idle_waits_.empty())
      return std::make_unique<TaskWait>(
          TaskWait::Settings{settings_.database, settings_.retry, settings_.retry_for, settings_.log});
    std::unique_ptr<TaskWait> wait = std::move(idle_waits_.back());
    idle_waits_.pop_back();
    return wait;
  }

  void keep_wait(std::unique_ptr<TaskWait> wait) {
    const detail::Lock lock{idle_mutex_};
    if (idle_waits_.size() < most_idle_waits) idle_waits_.push_back(std::move(wait));
  }

  /// Runs the statement that `statement` makes of a key. That statement's rows are like the rows of Made. Made reads
  /// the rows of an earlier try.
  template <class Made, class MakeStatement>
  std::vector<typename Made::Row> call(const Wording& words, std::span<const NewTask> kinds, MakeStatement statement) {
    const auto begun_at = SteadyClock::now();
    require_same_process();
    const RepeatableCall repeatable{
        .words = words, .kinds = kinds, .with_key = statement, .made = [](const CallKey& key) {
          return Made{.producer = key.producer.value(), .call = key.call.value()};
        }};
    const detail::Lock lock{mutex_};
    return calls_.run(repeatable, SteadyClock::now() - begun_at).template as<typename Made::Row>();
  }

  const RepeatableCalls::Settings settings_;
  const EnqueueMiddlewares middleware_;
  const pid_t process_ = ::getpid();  // a forked child would repeat this producer's calls as its own
  detail::Mutex mutex_;
  RepeatableCalls calls_ DOGGED_GUARDED_BY(mutex_);
  detail::Mutex idle_mutex_;
  std::vector<std::unique_ptr<TaskWait>> idle_waits_ DOGGED_GUARDED_BY(idle_mutex_);
};

Client::Client(const std::string& url, ClientOptions options) {
  const DatabaseUrl database = find_database_url(url);
  try {
    impl_ = std::make_unique<Impl>(database.url, std::move(options));
  } catch (...) {
    rethrow_with_source(database);
  }
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

TaskId Client::enqueue(const NewTask& task) { return impl_->enqueue({&task, 1}).front().id; }

std::vector<TaskId> Client::enqueue_many(const std::vector<NewTask>& tasks) {
  return detail::ids_of(impl_->enqueue(tasks));
}

Enqueued Client::enqueue_unique(NewTask task) {
  const NewTask unique = detail::unique_task(std::move(task));
  return impl_->enqueue({&unique, 1}).front();
}

std::vector<Enqueued> Client::enqueue_many_unique(const std::vector<NewTask>& tasks) { return impl_->enqueue(tasks); }

TaskOutcome Client::wait(TaskId id, milliseconds timeout, const OnProgress& on_progress) {
  return impl_->wait(id, timeout, on_progress);
}

std::optional<TaskRecord> Client::find(TaskId id) {
  return impl_->read("find", [id](db::Connection& connection) { return read_task(connection, id); });
}

std::vector<AttemptRecord> Client::attempts(TaskId id) {
  return impl_->read("attempts", [id](db::Connection& connection) { return read_attempts(connection, id); });
}

CancelResult Client::cancel(TaskId id) {
  const auto statement = [&](const CallKey& key) {
    return sql::CancelOnce{.task_id = id, .producer = key.producer, .call = key.call};
  };
  return impl_->change(
      "cancel", id, "cancelled", statement,
      {CancelResult::cancelled, CancelResult::requested, CancelResult::ended, CancelResult::not_found});
}

ReplayResult Client::replay(TaskId id, ReplaySteps steps) {
  const auto statement = [&](const CallKey& key) {
    return sql::ReplayOnce{
        .task_id = id, .steps = std::string{to_text(steps)}, .producer = key.producer, .call = key.call};
  };
  return impl_->change(
      "replay", id, "replayed", statement,
      {ReplayResult::replayed, ReplayResult::key_held, ReplayResult::not_failed, ReplayResult::not_found});
}

std::int64_t Client::emit_json(std::string_view name, const std::string& payload) {
  if (!detail::is_valid_name(name)) {
    throw InvalidInput("the event name \"" + detail::cut_for_message(name) +
                           "\" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit",
                       "nothing was emitted");
  }
  return impl_->emit(std::string{name}, payload);
}

RescheduleResult Client::reschedule(TaskId id, std::chrono::system_clock::time_point run_at) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(run_at.time_since_epoch());
  return impl_->reschedule(id, us.count(), std::nullopt);
}

RescheduleResult Client::reschedule(TaskId id, milliseconds delay) {
  if (delay < milliseconds{0} || delay > longest_ahead) {
    throw InvalidInput("task " + std::to_string(id) + ": delay is " + std::to_string(delay.count()) +
                       " ms; it must be 0 to 10 years (315360000000 ms)");
  }
  return impl_->reschedule(id, std::nullopt, delay.count());
}

}  // namespace dogged
