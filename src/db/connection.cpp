// db::Connection on libpqxx. Nothing else includes libpqxx.
#include "db/connection.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pqxx/pqxx>
#include <sys/socket.h>
#include <unistd.h>

#include "db/conninfo.hpp"
#include "db/errors.hpp"
#include "db/pqxx_versions.hpp"

namespace dogged::db {

// ---- rows ----------------------------------------------------------------------------------------------------------

/// Finds the cells once. Each access by pqxx::row and pqxx::field copies a shared pointer or two and searches for the
/// name. These accesses took a quarter of a worker's CPU for a task that does nothing.
class Rows::Impl {
 public:
  explicit Impl(pqxx::result rows) : result(std::move(rows)) {
    for (pqxx::row::size_type i = 0; i < result.columns(); ++i) names_.emplace_back(result.column_name(i));
    cells_.reserve(names_.size() * static_cast<std::size_t>(result.size()));
    // `*row` and `*field` would be copies, which count the owners of the result: a fifth of a worker's CPU in a drain.
    for (auto row = result.begin(), last_row = result.end(); row != last_row; ++row) {
      for (auto field = row->begin(), last_field = row->end(); field != last_field; ++field) {
        // Only an empty text may be a null.
        const std::size_t bytes = field->size();
        cells_.push_back(bytes == 0 && field->is_null() ? std::string_view{} : std::string_view{field->c_str(), bytes});
      }
    }
  }

  /// Without data if the cell is null. The row and the column exist.
  [[nodiscard]] std::string_view cell(std::size_t row, std::size_t column) const {
    return cells_[row * names_.size() + column];
  }

  [[nodiscard]] const std::vector<std::string_view>& names() const noexcept { return names_; }

  const pqxx::result result;

 private:
  std::vector<std::string_view> names_;  // both are views of `result`
  std::vector<std::string_view> cells_;
};

namespace {

/// The text of a cell as a number.
template <class Number>
Number number_in(std::string_view text, std::string_view column) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  throw std::logic_error("column " + std::string{column} + " is no number of its type: " + std::string{text});
}

template <class T>
struct Reads {
  static T from(std::string_view cell, std::string_view column) {
    if (cell.data() == nullptr) throw std::logic_error("column " + std::string{column} + " is null");
    if constexpr (std::is_same_v<T, std::string>) {
      return std::string{cell};
    } else if constexpr (std::is_same_v<T, bool>) {
      if (cell != "t" && cell != "f") throw std::logic_error("column " + std::string{column} + " is no boolean");
      return cell == "t";
    } else {
      return number_in<T>(cell, column);
    }
  }
};

template <class T>
struct Reads<std::optional<T>> {
  static std::optional<T> from(std::string_view cell, std::string_view column) {
    if (cell.data() == nullptr) return std::nullopt;
    return Reads<T>::from(cell, column);
  }
};

}  // namespace

template <class T>
T Row::at(std::size_t column) const {
  const Rows::Impl& rows = *rows_->impl_;
  return Reads<T>::from(rows.cell(index_, column), rows.names()[column]);
}
template int Row::at(std::size_t) const;
template std::int64_t Row::at(std::size_t) const;
template double Row::at(std::size_t) const;
template bool Row::at(std::size_t) const;
template std::string Row::at(std::size_t) const;
template std::optional<int> Row::at(std::size_t) const;
template std::optional<std::int64_t> Row::at(std::size_t) const;
template std::optional<double> Row::at(std::size_t) const;
template std::optional<bool> Row::at(std::size_t) const;
template std::optional<std::string> Row::at(std::size_t) const;

Rows::Rows(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Rows::~Rows() = default;
Rows::Rows(const Rows&) = default;
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(const Rows&) = default;
Rows& Rows::operator=(Rows&&) noexcept = default;

std::size_t Rows::size() const noexcept { return static_cast<std::size_t>(impl_->result.size()); }

void Rows::require_columns(std::span<const std::string_view> names) const {
  if (std::equal(names.begin(), names.end(), columns().begin(), columns().end())) return;
  std::string message = "the statement declares other columns than";
  for (const std::string_view name : columns()) message += " " + std::string{name};
  throw std::logic_error(message);
}

const std::vector<std::string_view>& Rows::columns() const noexcept { return impl_->names(); }

std::int64_t Rows::affected() const { return static_cast<std::int64_t>(impl_->result.affected_rows()); }

// ---- connection ----------------------------------------------------------------------------------------------------

namespace {

/// The server refuses a prepared statement before it runs it. The session does not have the statement, or already has
/// it, because a pooler gives a session to many. Or a table has changed so that the columns have other types.
bool is_of_preparing(const pqxx::sql_error& error) {
  constexpr std::string_view duplicate_prepared_statement = "42P05";
  return dynamic_cast<const pqxx::invalid_sql_statement_name*>(&error) != nullptr ||
         dynamic_cast<const pqxx::feature_not_supported*>(&error) != nullptr ||
         error.sqlstate() == duplicate_prepared_statement;
}

/// Settings that decide the meaning of statements and of the text of their values. The role or the database may have
/// set others. The settings concern NULL in an array, a backslash in a text, names without a schema, dates, and the
/// digits of a number. default_transaction_read_only is not among them, because it fences a former primary.
constexpr std::pair<std::string_view, std::string_view> meanings[] = {{"array_nulls", "on"},
                                                                      {"standard_conforming_strings", "on"},
                                                                      {"search_path", "pg_catalog, pg_temp"},
                                                                      {"datestyle", "ISO"},
                                                                      {"extra_float_digits", "1"}};

/// The text with its name, as of the statements that the build makes (cmake/EmbedSql.cmake).
std::string in_front(std::string_view name, const std::string& text) {
  return "/* dogged:" + std::string{name} + " */ " + text;
}

enum class Scope { session, transaction };

/// Named as a statement of its own: pg_stat_statements lists each SET of a text by itself.
std::string set_text(Scope scope, std::string_view name, std::string_view value) {
  const bool is_session = scope == Scope::session;
  return std::string{is_session ? "/* dogged:set_up_session */ set session "
                                : "/* dogged:set_up_transaction */ set local "} +
         std::string{name} + " = " + std::string{value} + "; ";
}

std::string meanings_text(Scope scope) {
  std::string text;
  for (const auto& [name, value] : meanings) text += set_text(scope, name, value);
  return text;
}

/// The settings of Settings::statement_timeout.
std::string set_up_text(std::chrono::milliseconds timeout, Scope scope) {
  const std::string ms = std::to_string(timeout.count());
  // idle_in_transaction…: a process that is frozen inside a transaction does not keep its locks from others.
  // client_connection_check_interval: the server notices within a second that this end was cut off during a statement.
  // tcp_user_timeout: the server does not wait longer for this end to take an answer, because the server may hold locks
  // meanwhile. The last three are for plans. A plan may be made once, while the tables are empty, and kept when they
  // have millions of rows. Or it is made each time, by statistics of a time when a table was empty. See
  // docs/decisions/0005.
  std::string text = meanings_text(scope);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{"statement_timeout", ms},
                                                                  {"idle_in_transaction_session_timeout", "1000"},
                                                                  {"client_connection_check_interval", "1000"},
                                                                  {"tcp_user_timeout", ms},
                                                                  {"plan_cache_mode", "force_generic_plan"},
                                                                  {"enable_seqscan", "off"},
                                                                  {"jit", "off"}}) {
    text += set_text(scope, name, value);
  }
  return text;
}

/// Runs `work`, turning what pqxx throws into dogged's errors.
template <class Work>
decltype(auto) translated(std::string_view doing, const pqxx::connection& connection, Work&& work) {
  try {
    return work();
  } catch (const pqxx::in_doubt_error& error) {
    throw ConnectionError("the connection to PostgreSQL was lost while committing " + std::string{doing} +
                              ", so whether it took effect is not known: " + error.what(),
                          "", "");
  } catch (const pqxx::insufficient_privilege& error) {  // without its code in libpqxx 6
    throw_statement_error(doing, error.what(), std::string{insufficient_privilege}, connection.is_open());
  } catch (const pqxx::sql_error& error) {
    throw_statement_error(doing, error.what(), error.sqlstate(), connection.is_open());
  } catch (const pqxx::serialization_failure& error) {  // no sql_errors in libpqxx 6, and without their codes
    throw_statement_error(doing, error.what(), "40001", connection.is_open());
  } catch (const pqxx::deadlock_detected& error) {
    throw_statement_error(doing, error.what(), "40P01", connection.is_open());
  } catch (const pqxx::broken_connection& error) {
    throw_statement_error(doing, error.what(), "", false);
  } catch (const pqxx::failure& error) {
    throw_statement_error(doing, error.what(), "", connection.is_open());
  }
}

}  // namespace

class Connection::Impl {
 public:
  explicit Impl(Settings with)
      : settings((require_schema_name(with.schema), std::move(with))), connection(connect(settings)) {
    forbid_reconnecting(*connection);
    socket = ::fcntl(connection->sock(), F_DUPFD_CLOEXEC, 0);
  }

  /// While it lives, a statement waits for its answer.
  class Busy {
   public:
    explicit Busy(Impl& impl) : impl_(impl) { impl_.busy_since = std::chrono::steady_clock::now().time_since_epoch(); }
    ~Busy() { impl_.busy_since = not_busy; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Impl& impl_;
  };

  ~Impl() {
    if (socket < 0) return;
    if (!subscriptions.empty()) close_at_once(*connection);
    ::close(socket);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static std::unique_ptr<pqxx::connection> connect(const Settings& settings) {
    const Conninfo conninfo = parse_conninfo(settings);
    try {
      auto made = std::make_unique<pqxx::connection>(conninfo.text);
      if (!made->is_open()) throw connect_error("the connection was closed at once");
      return made;
    } catch (const pqxx::failure& error) {
      throw_connect_error(conninfo, error.what());
    }
  }

  pqxx::result run(pqxx::transaction_base& transaction, const Statement& statement, const Params& params) {
    Text& text = text_of(statement);
    if (set_up != SetUp::session) return execute(transaction, text.sql, params);
    try {
      return run_prepared(transaction, text, params);
    } catch (const pqxx::sql_error& error) {
      if (!is_of_preparing(error)) throw;
      throw pqxx::broken_connection{"what the session has prepared does not fit (" + std::string{error.what()} + ")"};
    }
  }

  /// Runs the statement in a transaction of its own, which may begin anew.
  pqxx::result run_alone(const Statement& statement, const Params& params) {
    if (set_up == SetUp::each_transaction) {
      pqxx::work transaction{*connection};
      set_up_transaction(transaction);
      pqxx::result result = run(transaction, statement, params);
      transaction.commit();
      return result;
    }
    if (Text& text = text_of(statement);
        set_up == SetUp::nothing && settings.prepares && std::exchange(text.was_run, true)) {
      try {
        pqxx::nontransaction transaction{*connection};
        return run_prepared(transaction, text, params);
      } catch (const pqxx::sql_error& error) {
        if (!is_of_preparing(error)) throw;
        settings.prepares = false;  // nothing was done yet
      }
    }
    pqxx::nontransaction transaction{*connection};
    return run(transaction, statement, params);
  }

  /// By SET LOCAL, which leaves no state in the session and is no query, so that the isolation can still be chosen
  /// after it.
  void set_up_transaction(pqxx::transaction_base& transaction) const {
    if (set_up == SetUp::session) return;
    transaction.exec(set_up == SetUp::each_transaction
                         ? set_up_text(settings.statement_timeout, Scope::transaction)
                         : meanings_text(Scope::transaction) +
                               set_text(Scope::transaction, "idle_in_transaction_session_timeout",
                                        std::to_string(settings.idle_in_transaction.count())));
  }

 private:
  /// The text with this connection's schema. The statement's name is made of the text, because a pooler gives a session
  /// to many clients. There the name must stand for the same statement for all.
  struct Text {
    std::string sql;
    std::string name;
    bool was_run = false;
    bool is_prepared = false;
  };

  Text& text_of(const Statement& statement) {
    auto [entry, is_new] = texts.try_emplace(std::string{statement.name});
    Text& text = entry->second;
    if (is_new) {
      text.sql = with_schema(statement.text, settings.schema);
      text.name = std::string{statement.name} + " " + std::to_string(std::hash<std::string>{}(text.sql));
    }
    return text;
  }

  pqxx::result run_prepared(pqxx::transaction_base& transaction, Text& text, const Params& params) {
    if (!text.is_prepared) connection->prepare(text.name, text.sql);
    text.is_prepared = true;
    return execute_prepared(transaction, text.name, params);
  }

 public:
  static constexpr std::chrono::steady_clock::duration not_busy{0};

  Settings settings;
  std::atomic<std::chrono::steady_clock::duration> busy_since{not_busy};
  const std::shared_ptr<std::vector<Notification>> arrived = std::make_shared<std::vector<Notification>>();
  int socket = -1;  // for abort(): libpq may close its own socket at any time, and its number may be reused
  std::unique_ptr<pqxx::connection> connection;
  std::unordered_map<std::string, Text> texts;  // by the names of the statements
  enum class SetUp { nothing, session, each_transaction } set_up = SetUp::nothing;
  std::unique_ptr<pqxx::work> open_transaction;
  std::map<Channel, std::unique_ptr<Subscription>> subscriptions;  // after the connection, because they end first
};

Connection::Connection(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Rows Connection::run(const Statement& statement, const Params& params) {
  const Impl::Busy busy{*impl_};
  return translated(statement.name, *impl_->connection, [&] {
    if (impl_->open_transaction) {
      return Rows{std::make_shared<Rows::Impl>(impl_->run(*impl_->open_transaction, statement, params))};
    }
    return Rows{std::make_shared<Rows::Impl>(impl_->run_alone(statement, params))};
  });
}

void Connection::run_script(std::string_view name, std::string_view text) {
  const Impl::Busy busy{*impl_};
  translated(name, *impl_->connection,
             [&] { impl_->open_transaction->exec(in_front(name, with_schema(text, impl_->settings.schema))); });
}

void Connection::begin() {
  const Impl::Busy busy{*impl_};
  translated("begin", *impl_->connection, [&] {
    auto transaction = std::make_unique<pqxx::work>(*impl_->connection);
    impl_->set_up_transaction(*transaction);
    impl_->open_transaction = std::move(transaction);
  });
}

void Connection::commit() {
  const Impl::Busy busy{*impl_};
  const auto transaction = std::move(impl_->open_transaction);
  translated("commit", *impl_->connection, [&] { transaction->commit(); });
}

void Connection::rollback() noexcept {
  const Impl::Busy busy{*impl_};
  impl_->open_transaction.reset();  // an unfinished pqxx::work rolls back, or the server has done so
}

void Connection::listen(Channel channel) {
  if (impl_->subscriptions.contains(channel)) return;
  const Impl::Busy busy{*impl_};
  translated("listen", *impl_->connection, [&] {
    const std::string name = impl_->settings.schema + "." + std::string{to_text(channel)};
    impl_->subscriptions.emplace(channel,
                                 std::make_unique<Subscription>(*impl_->connection, name, channel, impl_->arrived));
  });
}

void Connection::unlisten() {
  const Impl::Busy busy{*impl_};
  translated("unlisten", *impl_->connection, [&] {
    impl_->subscriptions.clear();
    if (!impl_->connection->is_open()) throw pqxx::broken_connection{"the connection is closed"};
    impl_->arrived->clear();
  });
}

std::vector<Notification> Connection::wait(std::chrono::nanoseconds timeout, int wake_fd) {
  return translated("wait", *impl_->connection, [&] {
    // get_notifs and LISTEN ignore a connection that is gone, and such a connection has no socket to tell of it.
    if (!impl_->connection->is_open()) throw pqxx::broken_connection{"the connection is closed"};
    impl_->connection->get_notifs();  // libpq may have read some already; the socket does not tell of those
    if (impl_->arrived->empty()) {
      std::array<pollfd, 2> fds{{{impl_->connection->sock(), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
      const auto left = std::max(timeout, std::chrono::nanoseconds{0});
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
      ::ppoll(fds.data(), fds.size(), &time, nullptr);
      if (fds[0].revents != 0) impl_->connection->get_notifs();
      if (fds[1].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(wake_fd, &count, sizeof count);  // resets the eventfd; it may have been reset already
      }
    }
    return std::exchange(*impl_->arrived, {});
  });
}

void Connection::abort() noexcept { (void)::shutdown(impl_->socket, SHUT_RDWR); }

void Connection::set_up_session() {
  const Settings& settings = impl_->settings;
  if (settings.statement_timeout.count() == 0) return;
  if (settings.pooled) {
    impl_->set_up = Impl::SetUp::each_transaction;
    return;
  }
  const Impl::Busy busy{*impl_};
  translated("set up the session", *impl_->connection, [&] {
    pqxx::nontransaction{*impl_->connection}.exec(set_up_text(settings.statement_timeout, Scope::session));
  });
  impl_->set_up = Impl::SetUp::session;
}

bool Connection::is_closed_by_server() const noexcept {
  pollfd state{impl_->socket, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;  // POLLIN would not tell: the server's last words before it closes may be unread
}

std::optional<std::chrono::steady_clock::time_point> Connection::busy_since() const noexcept {
  const std::chrono::steady_clock::duration since = impl_->busy_since;
  if (since == Impl::not_busy) return std::nullopt;
  return std::chrono::steady_clock::time_point{since};
}

const Settings& Connection::settings() const noexcept { return impl_->settings; }

}  // namespace dogged::db
