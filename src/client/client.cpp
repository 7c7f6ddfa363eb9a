// dogged::Client: one connection behind a mutex.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <dogged/classification.hpp>
#include <dogged/client.hpp>
#include <dogged/retry.hpp>
#include <dogged/retry_options.hpp>

#include "client/enqueue_statement.hpp"
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

/// The same call may succeed another time: no connection, or what the server says of itself for now.
bool is_passing(const std::exception& error) {
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) return true;
  const auto* from_server = dynamic_cast<const DatabaseError*>(&error);
  if (from_server == nullptr) return false;
  constexpr std::string_view query_canceled = "57014";  // mostly statement_timeout; a cancelled enqueue is no mistake
  return from_server->sqlstate() == query_canceled || is_retryable(classify_sqlstate(from_server->sqlstate()).category);
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

 private:
  std::vector<TaskId> enqueue_now(const std::vector<NewTask>& tasks) {
    const auto begun_at = SteadyClock::now();  // waiting for others counts
    require_same_process();
    const std::scoped_lock lock{mutex_};
    const bool may_be_repeated = max_retries(retry_) > 0;
    const CallKey key{producer_, ++calls_};
    const EnqueueStatement enqueue = enqueue_statement(tasks, may_be_repeated ? std::optional{key} : std::nullopt);
    RetryOptions options;
    if (may_be_repeated) options.deadline = begun_at + retry_for_;
    std::optional<std::string> lost_answer;  // of a try that was sent
    bool was_sent = false;
    const auto result = retry_if(
        retry_,
        [&] {
          connect_if_closed();
          try {
            return ids_of(std::exchange(was_sent, true) ? repeat(enqueue, key) : run(enqueue));
          } catch (const ConnectionError& error) {
            lost_answer = error.message();
            throw;
          }
        },
        is_passing, options);
    if (result) return result.value();
    if (!result.error) throw client_was_busy();
    throw_last_error(tasks, result.error, lost_answer);
  }

  static std::vector<TaskId> ids_of(const db::Rows& rows) {
    std::vector<TaskId> ids;
    ids.reserve(rows.size());
    for (const db::Row& row : rows) ids.push_back(row.number("id"));
    return ids;
  }

  void require_same_process() const {
    if (::getpid() == process_) return;
    throw InvalidInput("this client was made in process " + std::to_string(process_) + ", and is used in process " +
                           std::to_string(::getpid()) + ", which was forked from it",
                       "make a client of its own in each process, after the fork");
  }

  [[nodiscard]] ConnectionError client_was_busy() const {
    return {"nothing was enqueued: other calls had this client for all of retry_for, " +
                std::to_string(retry_for_.count()) + " ms",
            "give each thread a client of its own, or a longer retry_for", ""};
  }

  /// After an answer was lost the tasks may be there, or come to be, whatever a later try has met.
  [[noreturn]] static void throw_last_error(const std::vector<NewTask>& tasks, const std::exception_ptr& last,
                                            const std::optional<std::string>& lost_answer) {
    try {
      std::rethrow_exception(last);
    } catch (const ConnectionError&) {
      throw;
    } catch (const Error& error) {
      if (lost_answer) {
        throw ConnectionError("the tasks may have been enqueued: the answer to a try was lost (" + *lost_answer +
                                  "), and the last one failed: " + error.message(),
                              error.hint(), "");
      }
      if (dynamic_cast<const InvalidInput*>(&error) != nullptr) explain_refused(tasks);
      const auto* refused = dynamic_cast<const DatabaseError*>(&error);
      if (refused != nullptr && db::is_queue_full(refused->sqlstate(), refused->message())) {
        throw QueueFull(error.message(), error.hint(), refused->sqlstate());
      }
      throw;
    }
  }

  db::Rows run(const EnqueueStatement& enqueue) {
    return on_connection([&] { return connection_->run(enqueue.statement, enqueue.params); });
  }

  /// What was sent before may have taken effect, or do so yet: asks first.
  db::Rows repeat(const EnqueueStatement& enqueue, const CallKey& key) {
    return on_connection([&] {
      std::optional<db::Rows> rows;
      connection_->transaction([&] {
        connection_->run(sql::reserve_producer, db::Params{}.add(key.producer));
        rows = connection_->run(sql::call_made, db::Params{}.add(key.producer).add(key.call));
        if (rows->empty()) rows = connection_->run(enqueue.statement, enqueue.params);
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
    connection_.emplace(settings_);
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
  std::optional<db::Connection> connection_;
};

Client::Client(const std::string& url, ClientOptions options)
    : impl_(std::make_unique<Impl>(url, std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

TaskId Client::enqueue(const NewTask& task) { return enqueue_many({task}).front(); }

std::vector<TaskId> Client::enqueue_many(const std::vector<NewTask>& tasks) { return impl_->enqueue_many(tasks); }

}  // namespace dogged
