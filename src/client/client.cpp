// dogged::Client: one connection behind a mutex.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include <dogged/client.hpp>

#include "client/enqueue_statement.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "db/reconnect_backoff.hpp"
#include "migrate/migrate.hpp"

namespace dogged {

namespace {

using SteadyClock = std::chrono::steady_clock;

milliseconds require_reconnect_for(milliseconds time) {
  if (time >= milliseconds{0} && time <= std::chrono::hours{24}) return time;
  throw InvalidInput{"reconnect_for is " + std::to_string(time.count()) + " ms, and must be 0 to 24 h"};
}

}  // namespace

class Client::Impl {
 public:
  Impl(const std::string& url, ClientOptions options)
      : settings_{url, std::move(options.schema), std::move(options.application_name)},
        reconnect_for_(require_reconnect_for(options.reconnect_for)),
        log_(options.log ? std::move(options.log) : spdlog::default_logger()) {
    connect();
  }

  std::vector<TaskId> enqueue_many(const std::vector<NewTask>& tasks) {
    if (tasks.empty()) return {};
    const auto [statement, params] = enqueue_statement(tasks);
    std::vector<TaskId> ids;
    ids.reserve(tasks.size());
    try {
      const db::Rows rows = run(statement, params);
      for (const db::Row& row : rows) ids.push_back(row.number("id"));
      return ids;
    } catch (const InvalidInput&) {
      explain_refused(tasks);
      throw;
    }
  }

 private:
  db::Rows run(const db::Statement& statement, const db::Params& params) {
    const auto until = SteadyClock::now() + reconnect_for_;  // of this call, even where others wait before it
    const std::scoped_lock lock{mutex_};
    if (connection_ && connection_->is_closed_by_server()) lost("the server has closed the connection");
    if (!connection_) connect_again(until);
    try {
      return connection_->run(statement, params);
    } catch (const ConnectionError& error) {
      lost(error.what());  // whether the statement took effect is for the caller to decide
      throw;
    }
  }

  void lost(const std::string& why) {
    connection_.reset();
    log_->warn("{}: {}; the next call connects again", settings_.application_name, db::one_line(why));
  }

  void connect_again(SteadyClock::time_point until) {
    for (;;) {
      try {
        connect();
        break;
      } catch (const ConnectionError&) {
        const auto left = until - SteadyClock::now();
        if (left <= left.zero()) throw;
        std::this_thread::sleep_for(std::min<SteadyClock::duration>(backoff_.next(), left));
      }
    }
    backoff_.reset();
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

  db::Settings settings_;
  milliseconds reconnect_for_;
  std::shared_ptr<spdlog::logger> log_;
  std::mutex mutex_;  // guards what follows
  db::ReconnectBackoff backoff_;
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
