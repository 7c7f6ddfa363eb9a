// The seam to PostgreSQL: the only interface through which the rest of dogged runs SQL. pqxx stays behind it.
//
//   db::Connection connection{{.url = url, .application_name = "dogged"}};
//   for (const sql::Cancelling::Row& row : connection.run(sql::Cancelling{.worker_id = id})) row.attempt …
//
// The build makes a struct of each statement that declares what it takes and gives (cmake/EmbedSql.cmake).
//
// Errors are dogged::ConnectionError (the connection is gone or was never there) and dogged::DatabaseError with its
// SQLSTATE. Errors that our SQL functions raise for bad input (SQLSTATE class 22, 23 …, see is_callers_mistake) are
// dogged::InvalidInput.
//
// A connection belongs to one thread at a time. It never reconnects by itself: session state would be lost silently.
#pragma once

#include <chrono>
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
  /// After set_up_session: a statement that takes longer is cancelled (57014), a transaction in which nothing was asked
  /// for a second ends with its connection, and so does one whose answers are not taken for that long; each statement
  /// is prepared and planned once, by indexes. 0: none of it, and nothing of the session's state is set.
  std::chrono::milliseconds statement_timeout{0};
  /// A transaction pooler may stand in between: what statement_timeout speaks of is set in each transaction anew, and
  /// each statement is planned each time, by indexes all the same.
  bool pooled = false;
  /// Without set_up_session: a statement that run() runs in a transaction of its own is prepared when it is run
  /// again. Where a pooler turns out to stand in between, which gives each transaction another session, or where a
  /// table was changed, the connection goes on without that, and settings() says false.
  bool prepares = false;
  /// Without set_up_session: the server ends a transaction, and with it the connection, when nothing was asked in it
  /// for so long, so that its locks do not outlive a client that has vanished without a word. 0: it waits.
  std::chrono::milliseconds idle_in_transaction{3'000};
};

/// Throws InvalidInput unless `schema` is 1 to 48 of a-z 0-9 _ beginning with a letter or _: such a name needs no
/// quotes, so that `dogged.` in SQL text can be replaced by it.
void require_schema_name(std::string_view schema);

/// `text` with every `dogged.` that begins a word replaced by `schema.`.
[[nodiscard]] std::string with_schema(std::string_view text, std::string_view schema);

/// The parameters $1, $2, … of a statement, as text; PostgreSQL parses them by the casts in the statement.
class Params {
 public:
  Params& add(std::string_view text);
  Params& add(const char* text) { return add(std::string_view{text}); }
  Params& add(const std::string& text) { return add(std::string_view{text}); }
  Params& add(std::int64_t number);
  Params& add(int number) { return add(static_cast<std::int64_t>(number)); }
  Params& add(bool value);
  Params& add(double number);
  Params& add_null();
  Params& add(const std::optional<std::string>& text);
  Params& add(std::optional<std::int64_t> number);
  /// Arrays, as PostgreSQL's array literals.
  Params& add(const std::vector<std::string>& texts);
  Params& add(const std::vector<std::string_view>& texts);
  Params& add(const std::vector<std::optional<std::string>>& texts);
  Params& add(const std::vector<bool>& values);
  Params& add(const std::vector<int>& numbers);
  Params& add(const std::vector<std::int64_t>& numbers);
  Params& add(const std::vector<std::optional<std::int64_t>>& numbers);

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const noexcept { return values_; }

 private:
  std::vector<std::optional<std::string>> values_;
};

class Rows;

/// One row of a result; valid while its Rows lives. Columns are named as in the statement; a name or a type that does
/// not fit is a mistake in our code and throws std::logic_error.
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

/// A result, kept alive by its holders.
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

class Connection {
 public:
  /// Connects. Throws ConnectionError, whose message says what to check, and InvalidInput for a URL that is wrong or
  /// for the schema's name. No message shows a password (db/conninfo.hpp).
  explicit Connection(Settings settings);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  /// Runs one statement in a transaction of its own.
  Rows run(const Statement& statement, const Params& params = {});

  /// Runs a statement with its types. Gives its rows, or how many rows it changed if it gives none.
  template <class Typed>
  requires requires { typename Typed::Row; }
  auto run(const Typed& typed) {
    const Rows rows = run(Typed::statement, typed.params());
    if constexpr (std::is_void_v<typename Typed::Row>) {
      return rows.affected();
    } else {
      return rows.template as<typename Typed::Row>();
    }
  }

  /// Runs statements in one transaction: commits when `work` returns, rolls back when it throws. Not to be idle in
  /// (Settings::idle_in_transaction).
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

  /// LISTEN on a channel, which is `dogged.` + name with this connection's schema. Nothing where it does so already.
  void listen(const std::string& name);
  /// No channel any more; forgets what has arrived.
  void unlisten();
  /// Waits until a notification arrives, `wake_fd` (an eventfd) is readable, or the time is over; gives what arrived.
  std::vector<Notification> wait(std::chrono::nanoseconds timeout, int wake_fd);

  /// Makes the session, or where `pooled` each transaction from here on, what Settings::statement_timeout speaks of.
  /// Throws as run does.
  void set_up_session();

  /// Breaks the connection, so that a statement that waits for its answer throws ConnectionError. By any thread, while
  /// the connection lives.
  /// The server gives up the statement within a second if `statement_timeout` is set, else when it has an answer to
  /// send.
  void abort() noexcept;
  /// Whether the other end has closed the connection, as far as it is known here: a look at the socket, no round trip.
  [[nodiscard]] bool is_closed_by_server() const noexcept;
  /// From any thread: since when a statement has been waiting for its answer; nothing while none is.
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
