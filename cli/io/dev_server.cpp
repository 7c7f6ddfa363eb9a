// The private PostgreSQL of a directory.
#include "cli/io/dev_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/failure.hpp"
#include "client/database_url.hpp"
#include "private_server/cluster.hpp"

namespace dogged::cli {
namespace {

namespace fs = std::filesystem;

constexpr int start_attempts = 5;

[[noreturn]] void fail(const std::string& message, std::string hint = {}) {
  throw Failure(ExitCode::not_done, message, std::move(hint));
}

using private_server::bindable_port;
using private_server::CommandResult;
using private_server::find_pg_binaries;
using private_server::last_lines;
using private_server::owner_of;
using private_server::PgBinaries;
using private_server::require_success;
using private_server::run;
using private_server::User;

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

// --- URL, password and port
// -------------------------------------------------------------------------------------------

struct Access {
  std::string password;
  int port = 0;
};

std::string url_of(const Access& access) {
  return private_server::url_of(access.password, access.port, private_server::role_and_database);
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

// --- the running server
// -----------------------------------------------------------------------------------------------

struct Postmaster {
  pid_t pid = 0;
  int port = 0;
};

/// The command line of the process, or nothing if the process has ended. Everyone may read it, unlike the process's
/// directory.
std::vector<std::string> words_of(const fs::path& process) {
  std::istringstream stream{read_file(process / "cmdline")};
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

/// Whether the process is the postmaster of `data`: after a crash or a reboot its number may be another program's. In a
/// container that may not trace, the process's directory in /proc is closed to root. Then the words of pg_ctl decide.
bool is_postmaster_of(const fs::path& data, pid_t pid) {
  const fs::path process = "/proc/" + std::to_string(pid);
  const std::vector<std::string> words = words_of(process);
  if (words.empty() || fs::path{words.front()}.filename() != "postgres") return false;
  std::error_code closed;
  const fs::path place = fs::read_symlink(process / "cwd", closed);
  return closed ? std::find(words.begin(), words.end(), data.string()) != words.end() : place == data;
}

/// By postmaster.pid: its first line is the process, its fourth the port. Nothing where the process is not there or is
/// another program.
std::optional<Postmaster> find_postmaster(const fs::path& data) {
  std::istringstream stream{read_file(data / "postmaster.pid")};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.size() < 4) return std::nullopt;
  const Postmaster found{std::atoi(lines[0].c_str()), std::atoi(lines[3].c_str())};
  return is_postmaster_of(data, found.pid) ? std::optional{found} : std::nullopt;
}

int major_version_of(const fs::path& data) { return std::atoi(read_file(data / "PG_VERSION").c_str()); }

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

DevServerState DevServer::up() try {
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
} catch (const private_server::Interrupted& error) {
  throw Failure(ExitCode::interrupted, error.message());
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
  // The URL holds a password, and the data belongs into no repository.
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
  const User user = *private_server::user_for_new_server();
  home_ = fs::canonical(home_);
  if (private_server::can_be_given_to(user, home_)) return;
  fs::remove(home_);
  std::string elsewhere = "/var/tmp/dogged-XXXXXX";
  if (mkdtemp(elsewhere.data()) == nullptr || !private_server::can_be_given_to(user, elsewhere)) {
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
  private_server::make_cluster(binaries, draft, user,
                               {.made_by = "`dogged dev up`", .settings = "shared_buffers = '128MB'\n"});
  fs::rename(draft, data());
}

/// A password and its URL, unless there is one from an earlier run.
void DevServer::make_url() {
  fs::remove(data() / "postmaster.pid");  // left by a crash or a reboot: find_postmaster saw that no process uses it
  if (read_access(own_)) return;
  const Access access{private_server::random_password(), 0};
  const PgBinaries binaries = find_pg_binaries(major_version_of(data()));
  private_server::set_password(binaries, data(), owner_of(data()), access.password);
  write_private_file(own_ / dev::stopped_url_file, url_of(access) + "\n");
}

/// On the port that it had, so that its URL stays, or on another one if that is taken by now.
void DevServer::start() {
  Access access = *read_access(own_);
  const PgBinaries binaries = find_pg_binaries(major_version_of(data()));
  for (int attempt = 1;; ++attempt) {
    access.port = private_server::free_port(access.port);
    write_private_file(own_ / dev::stopped_url_file, url_of(access) + "\n");
    const CommandResult result = private_server::start(binaries, data(), log(), access.port, owner_of(data()));
    if (result.exit_status == 0) return;
    const bool port_was_taken = bindable_port(access.port) == 0;
    if (!port_was_taken || attempt == start_attempts) require_success(result, "starting PostgreSQL", log());
  }
}

}  // namespace dogged::cli
