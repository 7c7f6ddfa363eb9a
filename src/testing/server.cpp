// A private PostgreSQL of a test process.
//
// A shell keeps the server. The shell waits for the other end of a socket to close, which happens when the test process
// ends in any way. Then it ends PostgreSQL and deletes the directory. The shell runs as PostgreSQL's user, which owns
// both.
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dogged/detail/mutex.hpp>
#include <dogged/testing.hpp>

#include "db/connection.hpp"
#include "migrate/migrate.hpp"
#include "private_server/cluster.hpp"
#include "sql/testing.hpp"

namespace dogged::testing {
namespace {

namespace fs = std::filesystem;

constexpr int start_attempts = 5;

/// A crash costs nothing here. Without autovacuum no other session is connected to the database that is copied.
constexpr const char* server_settings =
    "fsync = off\n"
    "synchronous_commit = off\n"
    "full_page_writes = off\n"
    "wal_level = minimal\n"
    "max_wal_senders = 0\n"
    "autovacuum = off\n"
    "max_connections = 200\n"
    "shared_buffers = '128MB'\n";

/// $0: pg_ctl, $1: the directory. The second try finds a server that was about to start when its test ended. A server
/// that neither try finds ends by itself, within a minute of losing its directory.
constexpr const char* keeper_script =
    "read -r line; cd /; "
    "\"$0\" stop -D \"$1/data\" -m immediate -w || { sleep 1; \"$0\" stop -D \"$1/data\" -m immediate -w; }; "
    "rm -rf \"$1\"";

/// A new directory that `user` (null: we) can work in.
fs::path make_directory(const std::optional<private_server::User>& user) {
  std::error_code not_there;
  for (const fs::path& parent : {fs::temp_directory_path(not_there), fs::path{"/tmp"}, fs::path{"/var/tmp"}}) {
    std::string directory = parent / "dogged-test-XXXXXX";
    if (parent.empty() || mkdtemp(directory.data()) == nullptr) continue;
    if (!user || private_server::can_be_given_to(*user, directory)) return directory;
    fs::remove(directory);
  }
  throw Error("there is no directory for a private PostgreSQL: neither $TMPDIR nor /tmp nor /var/tmp can be used" +
                  (user ? " by the user " + user->name + ", as whom it has to run" : ""),
              "set TMPDIR to a directory that everyone may pass and write to");
}

}  // namespace

namespace detail {

class RunningServer {
 public:
  explicit RunningServer(std::string schema)
      : schema_((db::require_schema_name(schema), std::move(schema))),
        binaries_(private_server::find_pg_binaries(std::nullopt)),
        user_(private_server::user_for_new_server()),
        directory_(make_directory(user_)),
        password_(private_server::random_password()) {
    try {
      start_keeper();
      make_server();
    } catch (...) {
      end();
      throw;
    }
  }
  ~RunningServer() { end(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  /// Gives its name.
  std::string make_database() {
    const dogged::detail::Lock lock{mutex_};
    const std::string name = "test_" + std::to_string(++databases_);
    execute(statements_for(name).create_statement);
    return name;
  }

  void drop_database(const std::string& name) {
    if (is_fork()) return;
    const dogged::detail::Lock lock{mutex_};
    execute(statements_for(name).drop_statement);
  }

  [[nodiscard]] std::string url_of(const std::string& database) const {
    return private_server::url_of(password_, port_, database);
  }

 private:
  void start_keeper() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    socket_ = ends[0];
    keeper_ = private_server::start_in_background(
        {.argv = {"/bin/sh", "-c", keeper_script, binaries_.directory / "pg_ctl", directory_},
         .directory = directory_,
         .user = user_,
         .own_session = true},
        ends[1]);
    close(ends[1]);
  }

  void make_server() {
    const fs::path data = directory_ / "data";
    private_server::make_cluster(binaries_, data, user_,
                                 {.made_by = "dogged::testing::Server", .settings = server_settings, .durable = false});
    private_server::set_password(binaries_, data, user_, password_);
    start_server(data);
    db::Connection connection{{.url = url_of(private_server::role_and_database), .schema = schema_}};
    migrate::apply(connection);
    const dogged::detail::Lock lock{mutex_};
    administrator_ = std::make_unique<db::Connection>(db::Settings{.url = url_of("postgres")});
  }

  void start_server(const fs::path& data) {
    const fs::path log = directory_ / "log";
    for (int attempt = 1;; ++attempt) {
      port_ = private_server::free_port(0);
      const private_server::CommandResult result = private_server::start(binaries_, data, log, port_, user_);
      if (result.exit_status == 0) return;
      const bool port_was_taken = private_server::bindable_port(port_) == 0;
      if (!port_was_taken || attempt == start_attempts) {
        private_server::require_success(result, "starting PostgreSQL" + private_server::last_lines(log, 10));
      }
    }
  }

  [[nodiscard]] sql::TestingDatabaseStatements::Row statements_for(const std::string& name) DOGGED_REQUIRES(mutex_) {
    return db::one(administrator_->run(
        sql::TestingDatabaseStatements{.database = name, .copied_database = private_server::role_and_database}));
  }

  void execute(const std::string& statement) DOGGED_REQUIRES(mutex_) {
    administrator_->run({.name = statement, .text = statement});
  }

  /// A child of the test process, such as a death test, has a copy of this, and must leave the server to its parent.
  [[nodiscard]] bool is_fork() const { return getpid() != owner_; }

  /// A line, because the closing of the socket is not seen where a child of the test process holds it as well. Without
  /// the mutex: nobody else uses the server any more, and a child has the mutex as another thread held it at the fork.
  void end() DOGGED_THREAD_SAFETY(no_thread_safety_analysis) {
    if (is_fork()) {
      // To close it would end the parent's session. Held here, a leak detector does not take it for lost.
      [[maybe_unused]] static const db::Connection* const never_closed = administrator_.release();
      return;
    }
    administrator_.reset();
    if (socket_ < 0) return;
    while (send(socket_, "\n", 1, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
    close(socket_);
    if (keeper_ <= 0) return;
    while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  const pid_t owner_ = getpid();
  const std::string schema_;
  const private_server::PgBinaries binaries_;
  const std::optional<private_server::User> user_;
  const fs::path directory_;
  const std::string password_;
  int port_ = 0;
  int socket_ = -1;
  pid_t keeper_ = 0;
  dogged::detail::Mutex mutex_;
  std::unique_ptr<db::Connection> administrator_ DOGGED_GUARDED_BY(mutex_);
  int databases_ DOGGED_GUARDED_BY(mutex_) = 0;
};

}  // namespace detail

Server::Server(const std::string& schema) : server_(std::make_shared<detail::RunningServer>(schema)) {}
Server::~Server() = default;

Database Server::database() { return Database{server_, server_->make_database()}; }

Database::Database(std::shared_ptr<detail::RunningServer> server, std::string name)
    : server_(std::move(server)), name_(std::move(name)), url_(server_->url_of(name_)) {}

Database::~Database() {
  if (!server_) return;
  try {
    server_->drop_database(name_);
  } catch (const Error&) {  // a server that was ended under us has dropped it already
  }
}

Database::Database(Database&&) noexcept = default;

Database& Database::operator=(Database&& other) noexcept {
  std::swap(server_, other.server_);
  std::swap(name_, other.name_);
  std::swap(url_, other.url_);
  return *this;
}

const std::string& Database::url() const noexcept { return url_; }

}  // namespace dogged::testing
