// The seam to PostgreSQL: the only interface through which the rest of dogged runs SQL. pqxx stays behind it.
//
//   db::Connection connection{{.url = url, .application_name = "dogged"}};
//   for (const sql::Cancelling::Row& row : connection.run(sql::Cancelling{.worker_id = id})) row.attempt …
//
// The build makes a struct of each statement that declares what it takes and gives (cmake/EmbedSql.cmake).
//
// Errors are dogged::ConnectionError (there is no connection, or it was lost) and dogged::DatabaseError with its
// SQLSTATE. Errors that dogged's SQL functions raise for bad input (SQLSTATE class 22, 23 …, see is_callers_mistake)
// are dogged::InvalidInput.
//
// A connection belongs to one thread at a time. A connection never reconnects by itself: session state would be lost
// silently.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "db/channel.hpp"
#include "db/params.hpp"
#include "db/rows.hpp"
#include "db/settings.hpp"
#include "db/statement.hpp"

namespace dogged::db {

class Connection {
 public:
  /// Connects. Throws ConnectionError, whose message says what to check, and InvalidInput for a wrong URL or the
  /// schema's name. No message shows a password (db/conninfo.hpp).
  explicit Connection(Settings settings);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  /// Runs one statement in a transaction of its own.
  Rows run(const Statement& statement, const Params& params = {});
  Rows run(const BoundStatement& bound) { return run(bound.statement, bound.params); }

  /// Runs a statement with its types. Gives its rows, or how many rows it changed if it gives none.
  template <TypedStatement Typed>
  auto run(Typed typed) {
    const Rows rows = run(BoundStatement{std::move(typed)});
    if constexpr (std::is_void_v<typename Typed::Row>) {
      return rows.affected();
    } else {
      return rows.template as<typename Typed::Row>();
    }
  }

  /// Runs statements in one transaction: commits when `work` returns, rolls back when it throws. Do not wait for
  /// anything else in `work` (Settings::idle_in_transaction).
  template <class Work>
  void transaction(Work&& work) {
    begin();
    try {
      work();
    } catch (...) {
      rollback();
      throw;
    }
    commit();
  }

  /// Runs the text of a migration: several statements, no parameters. Inside transaction().
  void run_script(std::string_view name, std::string_view text);

  /// LISTENs on the channel of this connection's schema. A second call for a channel does nothing.
  void listen(Channel channel);
  /// Ends all LISTENs, and forgets the notifications that have arrived.
  void unlisten();
  /// Waits until a notification arrives, `wake_fd` (an eventfd) is readable, or the time is over. Gives the
  /// notifications that have arrived.
  std::vector<Notification> wait(std::chrono::nanoseconds timeout, int wake_fd);

  /// Makes the settings of Settings::statement_timeout, for the session, or if `pooled` for each transaction from now
  /// on. Throws as run does.
  void set_up_session();

  /// Breaks the connection, so that a statement that waits for its answer throws ConnectionError. Any thread may call
  /// this while the connection lives. The server gives the statement up within a second if `statement_timeout` is set,
  /// else when it has an answer to send.
  void abort() noexcept;
  /// Whether the server has closed the connection, as far as this host knows. Looks at the socket, without a round
  /// trip.
  [[nodiscard]] bool is_closed_by_server() const noexcept;
  /// From any thread: since when a statement has been waiting for its answer; nothing if none is.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> busy_since() const noexcept;

  [[nodiscard]] const Settings& settings() const noexcept;

 private:
  void begin();
  void commit();
  void rollback() noexcept;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dogged::db
