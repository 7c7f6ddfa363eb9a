// dogged::Client: one connection behind a mutex.
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include <dogged/classification.hpp>
#include <dogged/client.hpp>
#include <dogged/retry.hpp>

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
  return from_server != nullptr && is_retryable(classify_sqlstate(from_server->sqlstate()).category);
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
    const RetryOptions options{.deadline = SteadyClock::now() + retry_for_};  // even where others wait before it
    const std::scoped_lock lock{mutex_};
    const bool may_be_repeated = max_retries(retry_) > 0;
    const CallKey key{producer_, ++calls_};
    const EnqueueStatement enqueue = enqueue_statement(tasks, may_be_repeated ? std::optional{key} : std::nullopt);
    bool was_sent = false;
    const auto result = retry_if(
        retry_,
        [&] {
          connect_if_closed();
          return ids_of(std::exchange(was_sent, true) ? repeat(enqueue, key) : run(enqueue));
        },
        is_passing, options);
    try {
      return result.value();
    } catch (const InvalidInput&) {
      explain_refused(tasks);
      throw;
    }
  }

 private:
  static std::vector<TaskId> ids_of(const db::Rows& rows) {
    std::vector<TaskId> ids;
    ids.reserve(rows.size());
    for (const db::Row& row : rows) ids.push_back(row.number("id"));
    return ids;
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
  std::mutex mutex_;  // guards what follows
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
