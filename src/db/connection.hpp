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
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dogged/error.hpp>

#include "db/statement.hpp"

namespace dogged::db {

struct Settings {
  std::string url;  ///< a libpq connection string or URI; empty: libpq's PG* variables
  std::string schema = "dogged";
  std::string application_name = "dogged";
  /// After set_up_session: the server cancels a statement that takes longer (57014). The server ends a connection whose
  /// transaction is idle for a second, or whose answers are not read for that long. Each statement is prepared and
  /// planned once, by indexes. 0: none of this, and the session's state is not changed.
  std::chrono::milliseconds statement_timeout{0};
  /// A transaction pooler may be in between: each transaction makes the settings of statement_timeout anew. Each
  /// statement is planned each time, still by indexes.
  bool pooled = false;
  /// Without set_up_session: a statement that run() executes in a transaction of its own is prepared when it runs
  /// again. If the session turns out to be another one, as behind a transaction pooler, the connection goes on without
  /// preparing. So it does if a table was changed. Then settings() says false.
  bool prepares = false;
  /// Without set_up_session: the server ends an idle transaction, and its connection, after this time, so that its
  /// locks do not outlive a client that vanished. 0: never.
  std::chrono::milliseconds idle_in_transaction{3'000};
};

/// Throws InvalidInput unless `schema` is 1 to 48 of a-z 0-9 _ beginning with a letter or _. Such a name needs no
/// quotes, so it can replace `dogged.` in SQL text.
void require_schema_name(std::string_view schema);

/// `text` with every `dogged.` that begins a word replaced by `schema.`.
[[nodiscard]] std::string with_schema(std::string_view text, std::string_view schema);

/// The parameters $1, $2, … of a statement, as text; PostgreSQL parses them by the casts in the statement.
class Params {
 public:
  Params& add(std::string text);
  Params& add(std::string_view text) { return add(std::string{text}); }
  Params& add(const char* text) { return add(std::string{text}); }
  Params& add(std::int64_t number);
  Params& add(int number) { return add(static_cast<std::int64_t>(number)); }
  Params& add(bool value);
  Params& add(double number);
  Params& add_null();
  Params& add(std::optional<std::string> text);
  Params& add(std::optional<std::int64_t> number);
  /// Arrays, as PostgreSQL's array literals.
  Params& add(const std::vector<std::string>& texts);
  Params& add(const std::vector<std::optional<std::string>>& texts);
  Params& add(const std::vector<bool>& values);
  Params& add(const std::vector<int>& numbers);
  Params& add(const std::vector<std::int64_t>& numbers);
  Params& add(const std::vector<std::optional<std::int64_t>>& numbers);
  template <class Element>
  Params& add(const std::optional<std::vector<Element>>& array) {
    return array ? add(*array) : add_null();
  }

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const noexcept { return values_; }

 private:
  std::vector<std::optional<std::string>> values_;
};

class Rows;

/// One row of a result; valid while its Rows lives. Columns are named as in the statement. A name or a type that does
/// not fit is a mistake of dogged and throws std::logic_error.
class Row {
 public:
  [[nodiscard]] bool is_null(const char* column) const;
  [[nodiscard]] std::string_view text(const char* column) const;  ///< not null
  [[nodiscard]] std::int64_t number(const char* column) const;    ///< not null
  [[nodiscard]] double real(const char* column) const;            ///< not null
  [[nodiscard]] bool boolean(const char* column) const;           ///< not null
  [[nodiscard]] std::optional<std::string> maybe_text(const char* column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_number(const char* column) const;
  [[nodiscard]] std::optional<double> maybe_real(const char* column) const;

  /// The value of a column, by its position from 0: int, std::int64_t, double, bool, std::string or an optional of one.
  template <class T>
  [[nodiscard]] T at(std::size_t column) const;

 private:
  friend class Rows;
  Row(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}

  const Rows* rows_;
  std::size_t index_;
};

/// A result. Copies share it.
class Rows {
 public:
  class Impl;
  explicit Rows(std::shared_ptr<const Impl> impl);
  ~Rows();
  Rows(const Rows&);
  Rows(Rows&&) noexcept;
  Rows& operator=(const Rows&);
  Rows& operator=(Rows&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] Row operator[](std::size_t index) const { return Row{*this, index}; }
  /// The only row; std::logic_error if there is not exactly one.
  [[nodiscard]] Row one() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  /// How many rows the statement inserted, updated, deleted or selected.
  [[nodiscard]] std::int64_t affected() const;
  /// All rows as values. Throws std::logic_error if the columns are not those of RowOf.
  template <class RowOf>
  [[nodiscard]] std::vector<RowOf> as() const {
    require_columns(RowOf::columns);
    std::vector<RowOf> rows;
    rows.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) rows.push_back(RowOf::of((*this)[i]));
    return rows;
  }

  class Iterator {
   public:
    Iterator(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}
    Row operator*() const { return (*rows_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Rows* rows_;
    std::size_t index_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

 private:
  friend class Row;
  void require_columns(std::span<const std::string_view> names) const;

  std::shared_ptr<const Impl> impl_;
};

/// The only row; std::logic_error if there is not exactly one.
template <class RowOf>
[[nodiscard]] RowOf one(std::vector<RowOf> rows) {
  if (rows.size() != 1) throw std::logic_error("one row expected, " + std::to_string(rows.size()) + " came");
  return std::move(rows.front());
}

/// A notification that arrived.
struct Notification {
  std::string channel;
  std::string payload;
};

/// A struct that the build has made of a statement: its values, and the type of its rows.
template <class T>
concept TypedStatement = requires(T typed) {
  typename T::Row;
  { std::move(typed).params() } -> std::same_as<Params>;
};

/// A statement with its values, whatever its types.
struct BoundStatement {
  template <TypedStatement Typed>
  BoundStatement(Typed typed) : statement(Typed::statement), params(std::move(typed).params()) {}

  Statement statement;
  Params params;
};

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

  /// LISTENs on the channel `dogged.` + name, with this connection's schema. A second call for a channel does nothing.
  void listen(const std::string& name);
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
  /// PostgreSQL's major version, for example 15.
  [[nodiscard]] int server_major_version() const;

 private:
  void begin();
  void commit();
  void rollback() noexcept;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dogged::db
