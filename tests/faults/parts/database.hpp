// The tests' own way to the database, past all proxies. The connection comes back after an outage, and repeats a
// statement whose answer was lost. So use it only for statements that may run twice.
#pragma once

#include <memory>
#include <string>

#include "db/connection.hpp"
#include "support/rows.hpp"

namespace dogged::faults {

class Database {
 public:
  explicit Database(std::string url, std::string schema = "dogged");

  [[nodiscard]] const db::Settings& settings() const noexcept { return settings_; }
  /// Applies all migrations, and makes the queue of the fault workers' tasks.
  void migrate();
  /// Runs one statement that names the schema `dogged.`. Throws DatabaseError, and ConnectionError after 30 s without
  /// an answer.
  test::Rows run(const std::string& sql, const db::Params& params = {});
  /// The only value of the only row of `sql`, whose column is named `value`; "null" for null.
  [[nodiscard]] std::string value(const std::string& sql, const db::Params& params = {});

 private:
  db::Settings settings_;
  std::unique_ptr<db::Connection> connection_;
};

}  // namespace dogged::faults
