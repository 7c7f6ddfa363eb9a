// worker_main: from the command line to a running worker, and signals.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <linux/close_range.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <dogged/worker.hpp>

#include "client/database_url.hpp"
#include "client/exit_codes.hpp"
#include "configured_retries.hpp"
#include "definition.hpp"
#include "wake_fd.hpp"
#include "worker.hpp"
#include "worker_options.hpp"

namespace dogged {
namespace {

runtime::WakeFd* stop_fd = nullptr;  // for the signal handler; set before it is installed

// Two signals may be handled at once, by two threads.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler uses it");

extern "C" void request_stop(int signal) {
  // By itself, since a process that is the first of its container is spared what a signal does by default.
  if (stop_requested.exchange(true)) ::_exit(128 + signal);
  const int saved = errno;
  stop_fd->wake();
  errno = saved;
}

/// The first SIGTERM or SIGINT asks for a shutdown in order; a second one ends the process at once. A handler that
/// writes to a closed pipe must not take the worker with it.
void handle_signals(runtime::WakeFd& stop) {
  stop_fd = &stop;
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::shared_ptr<spdlog::logger> make_log(const std::string& level) {
  auto log = spdlog::stderr_color_mt("dogged");
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ [%n] %v");
  log->set_level(spdlog::level::from_str(level));
  return log;
}

void print_tasks(const runtime::Definitions& definitions) {
  for (const auto& [name, definition] : definitions) {
    std::cout << name << "\n  queue " << definition.queue << "\n  retry " << definition.declared.policy_text
              << "\n  auto_retry_for";
    for (const std::string& code : definition.declared.rules.auto_retry_for) std::cout << " " << code;
    if (definition.declared.rules.auto_retry_for.empty()) std::cout << " (none: no failure is retried)";
    std::cout << "\n";
  }
}

void tell_of_unregistered(const RetryConfigFile& file, const runtime::Definitions& definitions, spdlog::logger& log) {
  for (const runtime::UnregisteredTask& task : runtime::unregistered_tasks(file, definitions)) {
    log.log(task.suggestion.empty() ? spdlog::level::info : spdlog::level::warn,
            "file {} /tasks/{}: this program does not register such a task{}", file.name, task.name, task.suggestion);
  }
}

/// By the file, if there is one, and the environment.
void configure_retries(runtime::Definitions& definitions, const std::optional<std::string>& path, spdlog::logger& log) {
  std::optional<RetryConfigFile> file;
  if (path) file = runtime::read_retry_config(*path);
  const auto configured = runtime::configure_retries(definitions, file ? &*file : nullptr, process_environment);
  for (const std::string& change : configured.changes) log.info("{}", change);
  for (const std::string& warning : configured.warnings) log.warn("{}", warning);
  if (file) tell_of_unregistered(*file, definitions, log);
}

/// Replaces this process by a new one of the same program, arguments and process id, which ends the threads that
/// nothing else can end. Whatever files and connections handlers left open are closed.
void start_anew(char** argv, std::int64_t lease, spdlog::logger& log) {
  log.warn("starting anew");
  log.flush();
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  std::string variable = std::string{runtime::previous_lease_variable} + "=" + std::to_string(lease);
  std::vector<char*> environment;  // in a copy: handlers that were given up may be reading the one that there is
  for (char** entry = ::environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.insert(environment.end(), {variable.data(), nullptr});
  ::execve("/proc/self/exe", argv, environment.data());
  log.error("cannot start anew: {}; ending instead", std::strerror(errno));
}

/// While it lives, exit() ends the process without destructors. A handler, or what it calls, that calls exit() would
/// have destroyed what other threads use, and the process might hang in that with its heartbeat alive.
class ExitGuard {
 public:
  ExitGuard() {
    process = ::getpid();
    std::atexit([] {
      if (process == 0) return;
      if (process == ::getpid()) {  // not in a child that a handler forked
        std::fputs("exit() was called while the worker ran: its tasks are rescued when its lease has lapsed\n", stderr);
      }
      std::_Exit(EXIT_FAILURE);
    });
  }
  ~ExitGuard() { process = 0; }
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;

 private:
  inline static std::atomic<pid_t> process{0};
};

int run(int argc, char** argv, const ExceptionMapper& exceptions) {
  runtime::WorkerOptions options;
  if (const auto exit_code = runtime::parse_worker_options(argc, argv, options)) return *exit_code;
  if (detail::registration_failed()) throw Error("out of memory while tasks were registered, before main began");
  runtime::Definitions definitions = runtime::make_definitions(detail::registered_tasks(), exceptions);
  const auto log = make_log(options.log_level);
  configure_retries(definitions, options.retry_config, *log);
  if (options.list_tasks) {
    print_tasks(definitions);
    return static_cast<int>(ExitCode::ok);
  }

  runtime::WakeFd stop;
  handle_signals(stop);
  runtime::Worker worker{std::move(options.settings), std::move(definitions), log, stop};
  const ExitGuard guard;
  const runtime::ShutdownResult result = worker.run();
  if (result.restart && !stop.wait(std::chrono::milliseconds{0})) start_anew(argv, worker.id(), *log);
  if (result.carries_threads) {
    log->flush();
    std::_Exit(static_cast<int>(ExitCode::ok));  // handlers still run: destructors would take away what they use
  }
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

int worker_main(int argc, char** argv, const ExceptionMapper& exceptions) {
  try {
    return run(argc, argv, exceptions);
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return static_cast<int>(exit_code_for(error));
  }
}

}  // namespace dogged
