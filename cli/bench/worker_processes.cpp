// See worker_processes.hpp.
#include "cli/bench/worker_processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/scene.hpp"
#include "cli/bench/worker/worker_program.hpp"
#include "cli/failure.hpp"
#include "private_server/child_process.hpp"

extern char** environ;

namespace dogged::cli::bench {
namespace {

constexpr int fd_in_worker = 3;

/// Whether the variable would change the retries of workers (docs/worker.md). A benchmark uses the retries that its own
/// tasks declare.
bool changes_retries(std::string_view variable) {
  constexpr std::array<std::string_view, 7> names{
      "RETRY_MAX_ATTEMPTS",       "RETRY_MAX_RETRIES",    "RETRY_INITIAL_BACKOFF_MS", "RETRY_MAX_BACKOFF_MS",
      "RETRY_BACKOFF_MULTIPLIER", "RETRY_JITTER_ENABLED", "DOGGED_RETRY_CONFIG"};
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(names.begin(), names.end(), [&](std::string_view setting) { return name.ends_with(setting); });
}

/// `variables` go before what this process has under the same names, and so hide it.
pid_t start(std::vector<std::string> words, std::vector<std::string> variables, const Memory& memory) {
  std::vector<char*> argv = private_server::c_strings(words);
  variables.push_back(std::string{memory_variable} + "=" + std::to_string(fd_in_worker));
  std::vector<char*> environment = private_server::c_strings(variables);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!changes_retries(*entry)) environment.insert(environment.end() - 1, *entry);
  }

  const int fd = ::fcntl(memory.fd(), F_DUPFD_CLOEXEC, fd_in_worker + 1);  // dup2 to itself would leave it to be closed
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "fcntl");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, fd, fd_in_worker);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(fd);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a worker process");
  return pid;
}

/// The most that was resident since the program began. Not ru_maxrss, which begins with what the parent had.
double peak_memory_mb(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + std::string_view{"VmHWM:"}.size()) / 1024;
  }
  return 0;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return "exited with " + std::to_string(WEXITSTATUS(status));
  return "was ended by signal " + std::to_string(WTERMSIG(status));
}

Failure ended_by_itself(int status) {
  return Failure{ExitCode::not_done, "a worker process of the benchmark " + how_it_ended(status),
                 "what it said stands above"};
}

}  // namespace

WorkerProcesses::WorkerProcesses(const Settings& settings, const Memory& memory) {
  try {
    start_all(settings, memory);
  } catch (...) {
    end();
    throw;
  }
}

void WorkerProcesses::start_all(const Settings& settings, const Memory& memory) {
  for (int i = 0; i < settings.processes; ++i) {
    std::vector<std::string> words{"dogged",      worker_program,
                                   "--schema",    settings.schema,
                                   "--queues",    std::string{bench_queue} + ":" + std::to_string(settings.concurrency),
                                   "--name",      "bench " + std::to_string(::getpid()) + "." + std::to_string(i + 1),
                                   "--log-level", "warn"};
    std::vector<std::string> variables;  // not a word: passwords are nothing for ps to show
    if (!settings.database_url.empty()) variables.push_back("DATABASE_URL=" + settings.database_url);
    pids_.push_back(start(std::move(words), std::move(variables), memory));
  }
}

WorkerProcesses::~WorkerProcesses() { end(); }

void WorkerProcesses::end() noexcept {
  for (const pid_t pid : pids_) ::kill(pid, SIGTERM);
  for (const pid_t pid : pids_) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pids_.clear();
}

void WorkerProcesses::require_alive() {
  for (auto pid = pids_.begin(); pid != pids_.end(); ++pid) {
    int status = 0;
    if (::waitpid(*pid, &status, WNOHANG) != *pid) continue;
    pids_.erase(pid);
    require_not_interrupted();  // a signal that ends this program has reached the workers too, perhaps sooner
    throw ended_by_itself(status);
  }
}

double WorkerProcesses::cpu_seconds() const {
  double ticks = 0;
  for (const pid_t pid : pids_) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    std::string text;
    std::getline(file, text);
    std::istringstream fields{text.substr(std::min(text.size(), text.rfind(')') + 1))};  // its name may hold spaces
    std::string skipped;
    for (int i = 3; i < 14; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Usage WorkerProcesses::stop() {
  Usage usage;
  for (const pid_t pid : pids_) usage.max_memory_mb = std::max(usage.max_memory_mb, peak_memory_mb(pid));
  for (const pid_t pid : pids_) ::kill(pid, SIGTERM);
  int bad_status = 0;
  for (const pid_t pid : std::exchange(pids_, {})) {
    int status = 0;
    rusage used{};
    while (::wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
    }
    usage.cpu_seconds += seconds(used.ru_utime) + seconds(used.ru_stime);
    if (status != 0) bad_status = status;
  }
  require_not_interrupted();  // Ctrl-C and SIGHUP reach them too, and a second signal ends a worker at once
  if (bad_status != 0) throw ended_by_itself(bad_status);
  return usage;
}

}  // namespace dogged::cli::bench
