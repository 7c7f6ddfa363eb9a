// See process.hpp.
#include "process.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dogged::faults {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  ::_exit(126);
}

void become(const private_server::User& user) {
  if (::setgroups(1, &user.gid) != 0 || ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0) give_up("setuid");
}

void redirect_output(const char* file) {
  const int fd = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) give_up(file);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
}

/// Between fork and exec in a program with threads: nothing here may allocate.
[[noreturn]] void run_child(const Process::Start& start, pid_t parent, char* const* argv, char* const* environment) {
  ::setpgid(0, 0);
  if (!start.output.empty()) redirect_output(start.output.c_str());
  const rlimit no_core{0, 0};  // many are killed
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (start.user) become(*start.user);
  if (::chdir("/") != 0) give_up("/");                // ours may be closed to the other user
  ::prctl(PR_SET_PDEATHSIG, start.signal_if_we_die);  // after setuid, which forgets it
  if (::getppid() != parent) ::_exit(126);            // it died before we asked
  ::execve(argv[0], argv, environment);
  give_up(argv[0]);
}

}  // namespace

Process::Process(const Start& start) {
  std::vector<std::string> arguments = start.argv;
  std::vector<std::string> variables = start.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> environment = pointers_to(variables);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) run_child(start, parent, argv.data(), environment.data());
  ::setpgid(pid_, pid_);  // in parent and child, because either may come first
}

Process::~Process() {
  ::kill(-pid_, SIGKILL);  // the group outlives its leader while a child of it is there
  if (!exit_status_) ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) {
  if (!has_ended()) ::kill(pid_, number);
}

bool Process::has_ended() { return exit_status().has_value(); }

std::optional<int> Process::exit_status() {
  int status = 0;
  if (!exit_status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return exit_status_;
}

std::optional<int> Process::wait(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (!has_ended() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  return exit_status_;
}

}  // namespace dogged::faults
