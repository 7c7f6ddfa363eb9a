// Runs a program to its end.
#include "private_server/child_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dogged::private_server {
namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

std::vector<std::string> environment_of_child() {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable{*entry};
    if (!variable.starts_with("PG") && !variable.starts_with("LC_") && !variable.starts_with("LANG")) {
      result.emplace_back(variable);
    }
  }
  result.emplace_back("LC_ALL=C");
  return result;
}

[[noreturn]] void give_up(const char* what) {
  const std::string message = std::string{what} + ": " + std::strerror(errno) + "\n";
  if (write(STDERR_FILENO, message.data(), message.size()) < 0) _exit(125);
  _exit(126);
}

bool become(const User& user) { return setgroups(1, &user.gid) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0; }

[[noreturn]] void run_child(const Command& command, int input, int output, char* const* argv, char* const* envp) {
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (command.own_session) setsid();
  if (command.user && !become(*command.user)) give_up(command.user->name.c_str());
  if (chdir(command.directory.c_str()) != 0) give_up(command.directory.c_str());
  execve(argv[0], argv, envp);
  give_up(argv[0]);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start_in_background(const Command& command, int input) {
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = environment_of_child();
  const std::vector<char*> argv = c_strings(arguments);
  const std::vector<char*> envp = c_strings(variables);
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t child = nothing < 0 ? -1 : fork();
  if (child == 0) run_child(command, input, nothing, argv.data(), envp.data());
  const int error = errno;
  if (nothing >= 0) close(nothing);
  if (child < 0) throw std::system_error(error, std::generic_category(), "fork");
  return child;
}

CommandResult run(const Command& command) {
  Pipe input;
  Pipe output;
  // The input fits into the pipe, so a child that ends early cannot send us SIGPIPE.
  if (write(input.writer(), command.input.data(), command.input.size()) < 0) {
    throw std::system_error(errno, std::generic_category(), "write");
  }
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = environment_of_child();
  const std::vector<char*> argv = c_strings(arguments);
  const std::vector<char*> envp = c_strings(variables);

  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) run_child(command, input.reader(), output.writer(), argv.data(), envp.data());
  input.close_writer();
  output.close_writer();
  CommandResult result;
  result.output = read_all(output.reader());
  result.exit_status = wait_for(child);
  return result;
}

}  // namespace dogged::private_server
