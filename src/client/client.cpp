// dogged::Client: one connection behind a mutex.
#include <mutex>
#include <optional>
#include <utility>

#include <dogged/client.hpp>

#include "client/enqueue_params.hpp"
#include "db/connection.hpp"
#include "migrate/migrate.hpp"
#include "sql_statements.hpp"

namespace dogged {

class Client::Impl {
 public:
  Impl(const std::string& url, ClientOptions options)
      : settings_{url, std::move(options.schema), std::move(options.application_name)} {
    connect();
  }

  std::vector<TaskId> enqueue_many(const std::vector<NewTask>& tasks) {
    if (tasks.empty()) return {};
    const db::Params params = enqueue_params(tasks);
    std::vector<TaskId> ids;
    ids.reserve(tasks.size());
    try {
      const db::Rows rows = run(sql::enqueue_many, params);
      for (const db::Row& row : rows) ids.push_back(row.number("id"));
      return ids;
    } catch (const InvalidInput&) {
      explain_refused(tasks);
      throw;
    }
  }

 private:
  db::Rows run(const db::Statement& statement, const db::Params& params) {
    const std::scoped_lock lock{mutex_};
    if (!connection_) connect();
    try {
      return connection_->run(statement, params);
    } catch (const ConnectionError&) {
      connection_.reset();  // the next call connects again; whether this one took effect is for the caller to decide
      throw;
    }
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
  std::mutex mutex_;
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
