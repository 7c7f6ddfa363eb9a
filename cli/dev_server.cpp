// The private PostgreSQL of a directory.
#include "cli/dev_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/child_process.hpp"
#include "cli/failure.hpp"
#include "cli/pg_binaries.hpp"
#include "client/database_url.hpp"

namespace dogged::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* role_and_database = "dogged";
constexpr int start_attempts = 5;

[[noreturn]] void fail(const std::string& message, std::string hint = {}) {
  throw Failure(ExitCode::not_done, message, std::move(hint));
}

bool is_root() { return geteuid() == 0; }

// --- files
// ------------------------------------------------------------------------------------------------------------

std::string read_file(const fs::path& file) {
  std::ifstream stream{file};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Whole or not at all, and for our eyes only.
void write_private_file(const fs::path& file, const std::string& text) {
  const fs::path draft = file.string() + ".new";
  fs::remove(draft);
  const int descriptor = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      descriptor >= 0 && write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!written) fail("cannot write " + draft.string() + ": " + std::generic_category().message(error));
  fs::rename(draft, file);
}

std::string last_lines(const fs::path& file, std::size_t count) {
  std::istringstream stream{read_file(file)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() > count ? lines.size() - count : 0; i < lines.size(); ++i)
    text += "\n  " + lines[i];
  return text;
}

/// Held while a server is made, started or stopped: two `dogged dev up` at once make one server.
class Lock {
 public:
  explicit Lock(const fs::path& file) : descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX) != 0) {
      fail("cannot lock " + file.string() + ": " + std::generic_category().message(errno));
    }
  }
  ~Lock() { close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

// --- users
// ------------------------------------------------------------------------------------------------------------

User user_named(const char* name) {
  const passwd* entry = getpwnam(name);
  if (entry == nullptr)
    fail(std::string{"there is no user "} + name + " to run PostgreSQL as: it refuses to run as root");
  return {name, entry->pw_uid, entry->pw_gid};
}

/// Who runs a new server. Nobody else where we are not root.
std::optional<User> user_for_new_server() {
  if (!is_root()) return std::nullopt;
  return user_named(getpwnam("postgres") != nullptr ? "postgres" : "nobody");
}

/// Who owns a directory, where that is not us.
std::optional<User> owner_of(const fs::path& directory) {
  struct stat info {};
  if (!is_root() || stat(directory.c_str(), &info) != 0 || info.st_uid == 0) return std::nullopt;
  const passwd* entry = getpwuid(info.st_uid);
  return User{entry == nullptr ? std::to_string(info.st_uid) : entry->pw_name, info.st_uid, info.st_gid};
}

/// Whether `user` can reach and own the directory: its parents may be closed to them (as /root is), and some
/// file systems do not know owners.
bool can_be_given_to(const User& user, const fs::path& directory) {
  if (chown(directory.c_str(), user.uid, user.gid) != 0) return false;
  return run({.argv = {"/bin/sh", "-c", "test -w . && test -O ."}, .directory = directory, .user = user}).exit_status ==
         0;
}

// --- URL, password and port
// -------------------------------------------------------------------------------------------

std::string random_password() {
  std::array<unsigned char, 18> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0) fail("the system gives no random numbers for a password");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

struct Access {
  std::string password;
  int port = 0;
};

std::string url_of(const Access& access) {
  return std::string{"postgresql://"} + role_and_database + ":" + access.password +
         "@127.0.0.1:" + std::to_string(access.port) + "/" + role_and_database;
}

/// Reads what url_of wrote; nothing if the file is not there or is something else.
std::optional<Access> read_access(const fs::path& own) {
  for (const char* name : {dev::url_file, dev::stopped_url_file}) {
    const std::string url = read_file(own / name);
    const auto colon = url.find(':', url.find("//"));
    const auto at = url.find('@');
    const auto port = url.rfind(':');
    if (url.empty() || colon == std::string::npos || at == std::string::npos || port < at) continue;
    return Access{url.substr(colon + 1, at - colon - 1), std::atoi(url.c_str() + port + 1)};
  }
  return std::nullopt;
}

/// The port if it can be listened on, else (or for 0) 0.
int bindable_port(int wanted) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(wanted));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int reuse = 1;  // as PostgreSQL does: connections of a server that just ended do not keep its port
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0;
  close(descriptor);
  return bound ? ntohs(address.sin_port) : 0;
}

int free_port(int wanted) {
  if (wanted > 0 && bindable_port(wanted) == wanted) return wanted;
  const int port = bindable_port(0);
  if (port == 0) fail("no port of 127.0.0.1 can be listened on");
  return port;
}

// --- the running server
// -----------------------------------------------------------------------------------------------

struct Postmaster {
  pid_t pid = 0;
  int port = 0;
};

/// Whether the process works in `data`, as a postmaster does: after a reboot its number may be another
/// program's.
bool works_in(pid_t pid, const fs::path& data) {
  std::error_code no_answer;
  const fs::path place = fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd", no_answer);
  return no_answer ? true : place == data;
}

/// By postmaster.pid: its first line is the process, its fourth the port.
std::optional<Postmaster> find_postmaster(const fs::path& data) {
  std::istringstream stream{read_file(data / "postmaster.pid")};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.size() < 4) return std::nullopt;
  const Postmaster found{std::atoi(lines[0].c_str()), std::atoi(lines[3].c_str())};
  if (found.pid <= 0 || (kill(found.pid, 0) != 0 && errno == ESRCH)) return std::nullopt;
  return works_in(found.pid, data) ? std::optional{found} : std::nullopt;
}

int major_version_of(const fs::path& data) { return std::atoi(read_file(data / "PG_VERSION").c_str()); }

void require_success(const CommandResult& result, const std::string& what, const fs::path& log = {}) {
  if (result.exit_status == 0) return;
  if (result.exit_status == 128 + SIGINT) throw Failure(ExitCode::interrupted, what + " was interrupted");
  std::string output = result.output.substr(0, result.output.find_last_not_of('\n') + 1);
  fail(what + " failed:\n  " + output + (log.empty() ? "" : last_lines(log, 10)),
       log.empty() ? "" : "the whole log is " + log.string());
}

}  // namespace

DevServer::DevServer(const fs::path& directory) : own_(directory / dev::directory_name), home_(own_ / "postgres") {
  std::error_code not_there;
  const fs::path followed = fs::canonical(home_, not_there);
  if (!not_there) home_ = followed;
}

DevServerState DevServer::state() const {
  DevServerState state;
  state.data_directory = data();
  state.log = log();
  state.exists = fs::exists(data() / "PG_VERSION");
  if (!state.exists) return state;
  state.major_version = major_version_of(data());
  const auto postmaster = find_postmaster(data());
  const auto access = read_access(own_);
  if (!postmaster) return state;
  state.running = true;
  state.pid = postmaster->pid;
  state.port = postmaster->port;
  if (access) state.url = url_of({access->password, postmaster->port});
  return state;
}

DevServerState DevServer::up() {
  make_own_directory();
  const Lock lock{own_ / "lock"};
  make_home();
  make_cluster();
  if (!find_postmaster(data())) {
    make_url();
    start();
  }
  const DevServerState now = state();
  if (!now.running)
    fail("the server ended again at once:" + last_lines(log(), 10), "the whole log is " + log().string());
  if (now.url.empty()) {
    fail("the server runs, but " + (own_ / dev::url_file).string() + " with its password is gone",
         "`dogged dev down`, then `dogged dev up`, gives it a new one");
  }
  write_private_file(own_ / dev::url_file, now.url + "\n");
  fs::remove(own_ / dev::stopped_url_file);
  return now;
}

bool DevServer::down() {
  if (!fs::exists(own_)) return false;
  const Lock lock{own_ / "lock"};
  const bool ran = find_postmaster(data()).has_value();
  if (ran) {
    const PgBinaries binaries = find_pg_binaries(major_version_of(data()));
    require_success(run({.argv = {binaries.directory / "pg_ctl", "stop", "-D", data(), "-m", "fast", "-w", "-t", "60"},
                         .user = owner_of(data())}),
                    "stopping PostgreSQL", log());
  }
  if (fs::exists(own_ / dev::url_file)) fs::rename(own_ / dev::url_file, own_ / dev::stopped_url_file);
  return ran;
}

bool DevServer::remove() {
  if (!fs::exists(own_)) return false;
  const Lock lock{own_ / "lock"};
  if (fs::exists(home_) && !fs::exists(marker()) && !fs::is_empty(home_)) {
    fail(home_.string() + " was not made by `dogged dev up` (it has no " + marker().filename().string() +
         "): nothing was deleted");
  }
  if (find_postmaster(data()))
    fail("the server in " + home_.string() + " still runs", "stop it first: dogged dev down");
  const bool existed = fs::remove_all(home_) > 0;
  for (const char* name : {"postgres", dev::url_file, dev::stopped_url_file, ".gitignore", "lock"}) {
    fs::remove(own_ / name);
  }
  std::error_code holds_other_files;
  fs::remove(own_, holds_other_files);
  return existed;
}

/// Root's is passable for the user that runs PostgreSQL.
void DevServer::make_own_directory() {
  if (fs::exists(own_)) return;
  if (mkdir(own_.c_str(), 0700) != 0 && errno != EEXIST) {
    fail("cannot make " + own_.string() + ": " + std::generic_category().message(errno),
         "run `dogged dev up` in a directory that you may write to");
  }
  if (is_root()) fs::permissions(own_, fs::perms{0711});
  // The URL holds a password, and the data is nobody's source.
  std::ofstream{own_ / ".gitignore"} << "*\n";
}

void DevServer::make_home() {
  if (fs::exists(marker())) return;
  if (fs::exists(home_) && !fs::is_empty(home_)) {
    fail(home_.string() + " is there already and was not made by `dogged dev up`", "work in another directory");
  }
  fs::remove(home_);
  if (mkdir(home_.c_str(), 0700) != 0) {
    fail("cannot make " + home_.string() + ": " + std::generic_category().message(errno));
  }
  if (is_root()) make_home_for_other_user();
  std::ofstream{marker()} << "`dogged dev down --remove` deletes this directory.\n";
}

/// Elsewhere, with a link to it, if that user cannot work here.
void DevServer::make_home_for_other_user() {
  const User user = *user_for_new_server();
  home_ = fs::canonical(home_);
  if (can_be_given_to(user, home_)) return;
  fs::remove(home_);
  std::string elsewhere = "/var/tmp/dogged-XXXXXX";
  if (mkdtemp(elsewhere.data()) == nullptr || !can_be_given_to(user, elsewhere)) {
    fail("the user " + user.name + ", as whom PostgreSQL has to run, can use neither " + home_.string() + " nor " +
             elsewhere,
         "work in a directory that everyone may pass, or not as root");
  }
  fs::create_directory_symlink(elsewhere, own_ / "postgres");
  home_ = elsewhere;
}

/// In a draft that is renamed when it is complete, so that an interrupted one is begun anew.
void DevServer::make_cluster() {
  if (fs::exists(data())) return;
  const std::optional<User> user = is_root() ? owner_of(home_) : std::nullopt;
  const PgBinaries binaries = find_pg_binaries(std::nullopt);
  const fs::path draft = home_ / "data.new";
  fs::remove_all(draft);
  require_success(run({.argv = {binaries.directory / "initdb", "-D", draft, "-U", role_and_database, "--auth=trust",
                                "--encoding=UTF8", "--locale=C"},
                       .directory = home_,
                       .user = user}),
                  "initdb");
  std::ofstream{draft / "pg_hba.conf"} << "# Written by `dogged dev up`: this machine alone, with the password.\n"
                                          "host all all 127.0.0.1/32 scram-sha-256\n";
  std::ofstream{draft / "postgresql.conf", std::ios::app} << "\n# Written by `dogged dev up`.\n"
                                                             "listen_addresses = '127.0.0.1'\n"
                                                             "unix_socket_directories = ''\n"
                                                             "password_encryption = 'scram-sha-256'\n"
                                                             "shared_buffers = '128MB'\n";
  require_success(run({.argv = {binaries.directory / "postgres", "--single", "-D", draft, "postgres"},
                       .directory = home_,
                       .user = user,
                       .input = std::string{"create database "} + role_and_database + ";\n"}),
                  "making the database");
  fs::rename(draft, data());
}

/// A password and its URL, unless there is one from an earlier run.
void DevServer::make_url() {
  fs::remove(data() / "postmaster.pid");  // left by a crash or a reboot: find_postmaster saw that nobody uses it
  if (read_access(own_)) return;
  const Access access{random_password(), 0};
  const PgBinaries binaries = find_pg_binaries(major_version_of(data()));
  require_success(
      run({.argv = {binaries.directory / "postgres", "--single", "-D", data(), "postgres"},
           .directory = home_,
           .user = owner_of(data()),
           .input = std::string{"alter role "} + role_and_database + " password '" + access.password + "';\n"}),
      "setting the password");
  write_private_file(own_ / dev::stopped_url_file, url_of(access) + "\n");
}

/// On the port that it had, so that its URL stays, or on another one if that is taken by now.
void DevServer::start() {
  Access access = *read_access(own_);
  const PgBinaries binaries = find_pg_binaries(major_version_of(data()));
  for (int attempt = 1;; ++attempt) {
    access.port = free_port(access.port);
    write_private_file(own_ / dev::stopped_url_file, url_of(access) + "\n");
    const CommandResult result = run({.argv = {binaries.directory / "pg_ctl", "start", "-D", data(), "-l", log(), "-w",
                                               "-t", "60", "-o", "-p " + std::to_string(access.port)},
                                      .directory = home_,
                                      .user = owner_of(data()),
                                      .own_session = true});
    if (result.exit_status == 0) return;
    const bool port_was_taken = bindable_port(access.port) == 0;
    if (!port_was_taken || attempt == start_attempts) require_success(result, "starting PostgreSQL", log());
  }
}

}  // namespace dogged::cli
