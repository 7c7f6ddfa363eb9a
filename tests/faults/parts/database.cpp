// See database.hpp.
#include "database.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "migrate/migrate.hpp"
#include "tasks.hpp"

namespace dogged::faults {

Database::Database(std::string url, std::string schema)
    : settings_{.url = std::move(url), .schema = std::move(schema), .application_name = "dogged faults"} {}

void Database::migrate() {
  db::Connection connection{settings_};
  migrate::apply(connection);
  run("select dogged.create_queue($1)", db::Params{}.add(queue_name));
}

test::Rows Database::run(const std::string& sql, const db::Params& params) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (true) {
    try {
      if (!connection_) connection_ = std::make_unique<db::Connection>(settings_);
      return connection_->run({sql, sql}, params);
    } catch (const ConnectionError&) {
      connection_.reset();
      if (std::chrono::steady_clock::now() > until) throw;
      std::this_thread::sleep_for(20ms);
    }
  }
}

std::string Database::value(const std::string& sql, const db::Params& params) {
  return run(sql, params).one().maybe_text("value").value_or("null");
}

}  // namespace dogged::faults
