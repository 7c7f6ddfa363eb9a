// See server.hpp.
#include "server.hpp"

#include <chrono>
#include <thread>

#include <pwd.h>
#include <unistd.h>

#include <dogged/error.hpp>

#include "db/connection.hpp"
#include "private_server/pg_binaries.hpp"

namespace dogged::faults {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Generous: recovery after an immediate shutdown on a loaded machine.
constexpr auto longest_start = 60s;

std::optional<private_server::User> user_for_server() {
  if (::geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* entry = ::getpwnam(name)) return private_server::User{name, entry->pw_uid, entry->pw_gid};
  }
  throw Error("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody");
}

}  // namespace

Server::Server(const fs::path& directory)
    : binaries_(private_server::find_pg_binaries(std::nullopt).directory),
      directory_(directory / "postgres"),
      user_(user_for_server()) {
  fs::create_directory(directory_);
  if (user_ && ::chown(directory_.c_str(), user_->uid, user_->gid) != 0) throw Error("chown " + directory_.string());
  const private_server::CommandResult made =
      private_server::run({.argv = {binaries_ / "initdb", "-D", directory_ / "data", "-U", "dogged", "-A", "trust",
                                    "-E", "UTF8", "--locale=C", "--no-sync"},
                           .directory = directory_,
                           .user = user_});
  if (made.exit_status != 0) throw Error("initdb failed: " + made.output);
  start();
}

Server::~Server() {
  if (postmaster_) stop(SIGQUIT);
}

std::string Server::url() const { return "postgresql://dogged@/postgres?host=" + directory_.string(); }

void Server::stop(int signal) {
  postmaster_->signal(signal);
  (void)postmaster_->wait(longest_start);
  postmaster_.reset();
}

void Server::start() {
  const auto until = std::chrono::steady_clock::now() + longest_start;
  do {
    // After SIGKILL a new one refuses to start until the last process of the old one has noticed and ended.
    if (!postmaster_ || postmaster_->has_ended()) spawn();
    if (answers()) return;
    std::this_thread::sleep_for(20ms);
  } while (std::chrono::steady_clock::now() < until);
  throw Error("PostgreSQL does not start; see " + (directory_ / "log").string());
}

bool Server::answers() const {
  try {
    const db::Connection connection{{.url = url(), .application_name = "dogged faults"}};
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// fsync off: processes die in these tests, the machine does not.
void Server::spawn() {
  const std::string settings[] = {"listen_addresses=",
                                  "unix_socket_directories=" + directory_.string(),
                                  "port=5432",
                                  "fsync=off",
                                  "max_connections=300",
                                  "log_min_messages=warning",
                                  "log_line_prefix=%m [%p] %q%a "};
  std::vector<std::string> argv{binaries_ / "postgres", "-D", directory_ / "data"};
  for (const std::string& setting : settings) {
    argv.emplace_back("-c");
    argv.push_back(setting);
  }
  postmaster_ = std::make_unique<Process>(
      Process::Start{.argv = argv, .output = directory_ / "log", .user = user_, .signal_if_we_die = SIGQUIT});
}

}  // namespace dogged::faults
