// dogged::Client: one connection behind a mutex, and others for those who wait.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <dogged/client.hpp>
#include <dogged/retry.hpp>
#include <dogged/retry_options.hpp>

#include "client/enqueue_statement.hpp"
#include "client/noted_retries.hpp"
#include "client/passing_error.hpp"
#include "client/task_wait.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "migrate/migrate.hpp"
#include "sql_statements.hpp"

namespace dogged {

namespace {

using SteadyClock = std::chrono::steady_clock;

milliseconds require_retry_for(milliseconds time) {
  if (time >= milliseconds{1} && time <= std::chrono::hours{24}) return time;
  throw InvalidInput{"retry_for is " + std::to_string(time.count()) + " ms, and must be 1 ms to 24 h",
                     "to try once, set retry to NoRetry{}"};
}

RetryPolicy require_sound(RetryPolicy policy) {
  require_valid(policy);
  return policy;
}

/// The longest of the tasks' wait_for_room.
milliseconds wait_for_room(const std::vector<NewTask>& tasks) {
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

/// How long to wait before a full queue is asked for room again, the `tries`-th time.
milliseconds until_next_try(int tries) {
  static const RetryPolicy policy =
      exponential(milliseconds{20}).with_max_retries(20).with_max_delay(std::chrono::seconds{1});
  return next_delay(policy, std::min(tries, max_retries(policy)), random_draw())->delay;
}

/// A UUID of version 4.
std::string random_uuid() {
  std::random_device device;
  std::uniform_int_distribution<unsigned> digit{0, 15};
  std::string uuid = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& letter : uuid) {
    if (letter == 'x') letter = "0123456789abcdef"[digit(device)];
  }
  return uuid;
}

constexpr std::chrono::hours longest_wait{24};
constexpr std::size_t most_idle_waits = 4;

/// What a call is called in the log, and says where it does not know, or does not come to it.
struct Wording {
  std::string_view name;
  std::string nothing_done;       ///< nothing was enqueued
  std::string may_have_happened;  ///< the tasks may have been enqueued
};

/// A call as a statement under an idempotency key.
struct KeyedCall {
  db::Statement statement;
  db::Params params;   ///< the key included
  db::Statement made;  ///< what it gave, if it has taken effect: of a producer and a call
};

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
      : settings_{url, std::move(options.schema), std::move(options.application_name)},
        retry_(require_sound(options.retry)),
        retry_for_(require_retry_for(options.retry_for)),
        log_(options.log ? std::move(options.log) : spdlog::default_logger()) {
    connect();
  }

  std::vector<TaskId> enqueue_many(const std::vector<NewTask>& tasks) {
    if (tasks.empty()) return {};
    const milliseconds wait = wait_for_room(tasks);
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

  /// A change of one task by a statement that takes `given` and then the key, and answers with a word.
  std::string change(std::string_view name, const db::Statement& statement, const db::Params& given, TaskId id,
                     const std::string& done) {
    const auto make = [&](const std::optional<CallKey>& key) {
      db::Params params = given;
      params.add(key ? std::optional{key->producer} : std::nullopt).add(key ? std::optional{key->call} : std::nullopt);
      return KeyedCall{statement, std::move(params), sql::answer_made};
    };
    const std::string task = "task " + std::to_string(id);
    return std::string{
        call(make, {name, task + " was not " + done, task + " may have been " + done}).one().text("answer")};
  }

  RescheduleResult reschedule(TaskId id, const db::Params& given) {
    return from_text(change("reschedule", sql::reschedule_once, given, id, "rescheduled"),
                     {RescheduleResult::rescheduled, RescheduleResult::running, RescheduleResult::ended,
                      RescheduleResult::not_found});
  }

  TaskOutcome wait(TaskId id, milliseconds timeout) {
    if (timeout < milliseconds{0} || timeout > longest_wait) {
      throw InvalidInput{"the timeout of a wait is " + std::to_string(timeout.count()) + " ms, and must be 0 to 24 h",
                         "wait again where it ends with the task still pending or running"};
    }
    require_same_process();
    std::unique_ptr<TaskWait> wait = take_wait();
    TaskOutcome outcome = wait->wait(id, timeout);
    if (wait->rest()) keep_wait(std::move(wait));
    return outcome;
  }

 private:
  std::vector<TaskId> enqueue_now(const std::vector<NewTask>& tasks) {
    const auto make = [&](const std::optional<CallKey>& key) {
      EnqueueStatement enqueue = enqueue_statement(tasks, key);
      return KeyedCall{enqueue.statement, std::move(enqueue.params), sql::call_made};
    };
    try {
      return ids_of(call(make, {"enqueue", "nothing was enqueued", "the tasks may have been enqueued"}));
    } catch (const InvalidInput&) {
      explain_refused(tasks);
      throw;
    } catch (const DatabaseError& error) {
      if (!db::is_queue_full(error.sqlstate(), error.message())) throw;
      throw QueueFull(error.message(), error.hint(), error.sqlstate());
    }
  }

  static std::vector<TaskId> ids_of(const db::Rows& rows) {
    std::vector<TaskId> ids;
    for (const db::Row& row : rows) {
      const TaskId last = row.number("last");
      for (TaskId id = row.number("first"); id <= last; ++id) ids.push_back(id);
    }
    return ids;
  }

  void require_same_process() const {
    if (::getpid() == process_) return;
    throw InvalidInput("this client was made in process " + std::to_string(process_) + ", and is used in process " +
                           std::to_string(::getpid()) + ", which was forked from it",
                       "make a client of its own in each process, after the fork");
  }

  std::unique_ptr<TaskWait> take_wait() {
    const std::scoped_lock lock{idle_mutex_};
    if (idle_waits_.empty()) return std::make_unique<TaskWait>(TaskWait::Settings{settings_, retry_, retry_for_, log_});
    std::unique_ptr<TaskWait> wait = std::move(idle_waits_.back());
    idle_waits_.pop_back();
    return wait;
  }

  void keep_wait(std::unique_ptr<TaskWait> wait) {
    const std::scoped_lock lock{idle_mutex_};
    if (idle_waits_.size() < most_idle_waits) idle_waits_.push_back(std::move(wait));
  }

  /// Makes a call, and makes it again while it fails for a reason that passes. `make` gives it under a key, or under
  /// none where it is not made again.
  template <class Make>
  db::Rows call(const Make& make, const Wording& words) {
    const auto begun_at = SteadyClock::now();
    require_same_process();
    const std::scoped_lock lock{mutex_};
    const auto waited = SteadyClock::now() - begun_at;
    const bool may_be_repeated = max_retries(retry_) > 0;
    const CallKey key{producer_, ++calls_};
    const KeyedCall keyed = make(may_be_repeated ? std::optional{key} : std::nullopt);
    RetryOptions options = noted_retries(words.name, retry_, *log_);
    // Waiting for others counts; writing down what may be hundreds of megabytes does not.
    if (may_be_repeated) options.deadline = SteadyClock::now() - waited + retry_for_;
    std::optional<std::string> lost_answer;  // of a try that was sent
    bool was_sent = false;
    const auto result = retry_if(
        retry_,
        [&] {
          connect_if_closed();
          try {
            return std::exchange(was_sent, true) ? repeat(keyed, key) : run(keyed);
          } catch (const ConnectionError& error) {
            lost_answer = error.message();
            throw;
          }
        },
        is_passing, options);
    if (result) return result.value();
    if (!result.error) throw client_was_busy(words);
    throw_last_error(result.error, lost_answer, words);
  }

  [[nodiscard]] ConnectionError client_was_busy(const Wording& words) const {
    return {words.nothing_done + ": other calls had this client for all of retry_for, " +
                std::to_string(retry_for_.count()) + " ms",
            "give each thread a client of its own, or a longer retry_for", ""};
  }

  /// After an answer was lost the call may have taken effect, or come to do so, whatever a later try has met.
  [[noreturn]] static void throw_last_error(const std::exception_ptr& last,
                                            const std::optional<std::string>& lost_answer, const Wording& words) {
    try {
      std::rethrow_exception(last);
    } catch (const ConnectionError&) {
      throw;
    } catch (const Error& error) {
      if (!lost_answer) throw;
      throw ConnectionError(words.may_have_happened + ": the answer to a try was lost (" + *lost_answer +
                                "), and the last one failed: " + error.message(),
                            error.hint(), "");
    }
  }

  db::Rows run(const KeyedCall& call) {
    return on_connection([&] { return connection_->run(call.statement, call.params); });
  }

  /// What was sent before may have taken effect, or do so yet: asks first.
  db::Rows repeat(const KeyedCall& call, const CallKey& key) {
    return on_connection([&] {
      std::optional<db::Rows> rows;
      connection_->transaction([&] {
        connection_->run(sql::reserve_producer, db::Params{}.add(key.producer));
        rows = connection_->run(call.made, db::Params{}.add(key.producer).add(key.call));
        if (rows->empty()) rows = connection_->run(call.statement, call.params);
      });
      return *rows;
    });
  }

  template <class Work>
  db::Rows on_connection(Work work) {
    try {
      return work();
    } catch (const ConnectionError& error) {
      lost(error.what());
      throw;
    }
  }

  void lost(const std::string& why) {
    prepares_ = connection_->settings().prepares;
    connection_.reset();
    log_->warn("{}: {}; the next call connects again", settings_.application_name, db::one_line(why));
  }

  void connect_if_closed() {
    if (connection_ && connection_->is_closed_by_server()) lost("the server has closed the connection");
    if (connection_) return;
    connect();
    log_->info("{}: connected again", settings_.application_name);
  }

  void connect() {
    db::Settings settings = settings_;
    settings.prepares = prepares_;
    connection_.emplace(std::move(settings));
    try {
      migrate::require_current(*connection_);
    } catch (...) {
      connection_.reset();
      throw;
    }
  }

  const db::Settings settings_;
  const RetryPolicy retry_;
  const milliseconds retry_for_;
  const std::shared_ptr<spdlog::logger> log_;
  const std::string producer_ = random_uuid();
  const pid_t process_ = ::getpid();  // a child would repeat this producer's calls as its own
  std::mutex mutex_;                  // guards what follows
  std::int64_t calls_ = 0;
  bool prepares_ = true;  // until a pooler turns out to stand in between
  std::optional<db::Connection> connection_;
  std::mutex idle_mutex_;  // guards what follows
  std::vector<std::unique_ptr<TaskWait>> idle_waits_;
};

Client::Client(const std::string& url, ClientOptions options)
    : impl_(std::make_unique<Impl>(url, std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

TaskId Client::enqueue(const NewTask& task) { return enqueue_many({task}).front(); }

std::vector<TaskId> Client::enqueue_many(const std::vector<NewTask>& tasks) { return impl_->enqueue_many(tasks); }

TaskOutcome Client::wait(TaskId id, milliseconds timeout) { return impl_->wait(id, timeout); }

CancelResult Client::cancel(TaskId id) {
  const std::string answer = impl_->change("cancel", sql::cancel_once, db::Params{}.add(id), id, "cancelled");
  return from_text(answer,
                   {CancelResult::cancelled, CancelResult::requested, CancelResult::ended, CancelResult::not_found});
}

ReplayResult Client::replay(TaskId id) {
  const std::string answer = impl_->change("replay", sql::replay_once, db::Params{}.add(id), id, "replayed");
  return from_text(answer, {ReplayResult::replayed, ReplayResult::not_failed, ReplayResult::not_found});
}

RescheduleResult Client::reschedule(TaskId id, std::chrono::system_clock::time_point run_at) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(run_at.time_since_epoch());
  return impl_->reschedule(id, db::Params{}.add(id).add(std::int64_t{us.count()}).add_null());
}

RescheduleResult Client::reschedule(TaskId id, milliseconds delay) {
  if (delay < milliseconds{0} || delay > longest_ahead) {
    throw InvalidInput("task " + std::to_string(id) + ": delay is " + std::to_string(delay.count()) +
                       " ms; it must be 0 to 10 years (315360000000 ms)");
  }
  return impl_->reschedule(id, db::Params{}.add(id).add_null().add(std::int64_t{delay.count()}));
}

}  // namespace dogged
