// worker_main: from the command line to a running worker, and signals.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <linux/close_range.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <dogged/worker.hpp>

#include "client/database_url.hpp"
#include "client/escaping_log.hpp"
#include "client/exit_codes.hpp"
#include "client/log_event.hpp"
#include "client/standard_descriptors.hpp"
#include "db/conninfo.hpp"
#include "main/worker_options.hpp"
#include "main/worker_settings.hpp"
#include "tasks/definition.hpp"
#include "tasks/schedules.hpp"
#include "text/duration.hpp"
#include "text/escaped.hpp"

namespace dogged {
namespace {

// For the signal handler. Two threads may each handle a signal at once.
std::atomic<Worker*> signalled{nullptr};
std::atomic<int> signals_under_way{0};
std::atomic<std::int64_t> stop_requested_ms{0};  // by CLOCK_MONOTONIC; 0: not yet
static_assert(std::atomic<Worker*>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler uses them");

// `timeout`, and shells that pass Ctrl-C on, send a signal to the process and to its group: that is one request.
constexpr std::int64_t one_request_ms = 500;

std::int64_t monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void end_at_once(int signal) {
  constexpr std::string_view line =
      "a second signal: this worker ends at once, and others rescue its tasks when its lease has lapsed\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  // The process ends by itself: the kernel spares the first process of a container the default action of a signal.
  ::_exit(128 + signal);
}

extern "C" void request_stop(int signal) {
  const int saved = errno;
  std::int64_t requested_ms = 0;
  const std::int64_t now_ms = monotonic_ms();
  if (!stop_requested_ms.compare_exchange_strong(requested_ms, now_ms)) {
    if (now_ms - requested_ms >= one_request_ms) end_at_once(signal);
    errno = saved;
    return;
  }
  ++signals_under_way;
  if (Worker* const worker = signalled) worker->request_stop();
  --signals_under_way;
  errno = saved;
}

/// The first SIGTERM or SIGINT asks for a shutdown in order, and another one half a second later or more ends the
/// process at once. SIGPIPE is ignored, so that a handler that writes to a closed pipe does not end the worker. A
/// signal that arrives while a worker that could not start is destroyed finds no worker.
class Signals {
 public:
  explicit Signals(Worker& worker) {
    signalled = &worker;
    struct sigaction action {};
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() {
    signalled = nullptr;
    while (signals_under_way > 0) std::this_thread::yield();
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
};

std::shared_ptr<spdlog::logger> make_log(const runtime::CommandLine& line) {
  auto log = spdlog::stderr_color_mt("dogged");
  log->set_formatter(formatter_of(line.log_format));
  log->set_level(spdlog::level::from_str(line.log_level));
  return escaping(log);
}

void print_tasks(const runtime::Definitions& definitions) {
  for (const auto& [name, definition] : definitions) {
    std::cout << name << "\n  queue " << definition.queue << "\n  retry " << definition.declared.policy_text
              << "\n  auto_retry_for";
    for (const std::string& code : definition.declared.rules.auto_retry_for) std::cout << " " << code;
    if (definition.declared.rules.auto_retry_for.empty()) std::cout << " (none: no failure is retried)";
    std::cout << "\n  dead_letter " << (definition.declared.rules.dead_letter ? "yes" : "no") << "\n";
    if (definition.timeout > std::chrono::milliseconds{0}) {
      std::cout << "  timeout " << duration_to_text(definition.timeout) << "\n";
    }
    if (definition.circuit.empty()) continue;
    const CircuitBreakerSettings& circuit = definition.circuit_settings;
    std::cout << "  circuit " << definition.circuit << " failure_threshold=" << circuit.failure_threshold
              << " recovery_timeout=" << duration_to_text(circuit.recovery_timeout)
              << " success_threshold=" << circuit.success_threshold << "\n";
  }
}

void print_schedules(const std::vector<detail::DeclaredSchedule>& schedules) {
  for (const detail::DeclaredSchedule& schedule : schedules) {
    std::cout << "schedule " << schedule.name << "\n  spec " << schedule.spec << "\n  time_zone "
              << schedule.options.time_zone << "\n  task " << schedule.task() << "\n";
  }
}

/// Prints the declarations that a worker makes when it starts. The function throws as start() does. The function cannot
/// find mistakes that only the database knows.
void print_declarations(const WorkerOptions& options, const std::shared_ptr<spdlog::logger>& log) {
  const Tasks tasks = Tasks::registered();
  const runtime::Definitions definitions = runtime::definitions_of(options, tasks, log);
  (void)runtime::declarations_of(tasks.schedules(), definitions);
  print_tasks(definitions);
  print_schedules(tasks.schedules());
}

/// Replaces this process by a new one with the same program, arguments and process id. Nothing else ends abandoned
/// threads. Files and connections that handlers left open are closed.
void start_anew(char** argv, std::int64_t lease, spdlog::logger& log) {
  log.log(event("worker_restarts"), spdlog::level::warn, "starting anew");
  log.flush();
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  std::string variable{runtime::previous_lease_variable};
  variable.append("=").append(std::to_string(lease));  // of `+` GCC 12 warns that memcpy reads beyond an array
  std::vector<char*> environment;  // a copy, because abandoned handlers may be reading the environment
  for (char** entry = ::environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.insert(environment.end(), {variable.data(), nullptr});
  ::execve("/proc/self/exe", argv, environment.data());
  log.log(event("restart_failed"), spdlog::level::err, "cannot start anew: {}; ending instead", std::strerror(errno));
}

/// While it lives, exit() ends the process without destructors. Otherwise exit() in a handler would destroy what other
/// threads use, and the process might hang with its heartbeat alive.
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

struct Failure {
  std::string message;  // without passwords
  std::string hint;
  ExitCode code;
};

Failure failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {db::without_passwords(error.message()), error.hint(), exit_code_for(error)};
  } catch (const std::exception& error) {
    return {db::without_passwords(error.what()), "", exit_code_for(error)};
  }
}

/// For a mistake in the command line, before there is a log.
int print(const char* program, const Failure& failure) {
  std::cerr << program << ": " << escaped(failure.message) << "\n";
  if (!failure.hint.empty()) std::cerr << "hint: " << failure.hint << "\n";
  return static_cast<int>(failure.code);
}

int log_failure(spdlog::logger& log, const Failure& failure) {
  log.log(event("worker_failed"), spdlog::level::err, "{}{}{}", failure.message,
          failure.hint.empty() ? "" : "; hint: ", failure.hint);
  return static_cast<int>(failure.code);
}

int work(char** argv, WorkerOptions options) {
  const auto log = options.log;
  Worker worker{std::move(options)};
  const Signals signals{worker};
  worker.start();
  const ExitGuard guard;
  const WorkerEnd end = worker.wait();
  const int code = end.error ? log_failure(*log, failure_of(end.error)) : static_cast<int>(ExitCode::ok);
  const bool starts_anew = end.reason == WorkerEnd::Reason::too_many_abandoned_threads && stop_requested_ms == 0;
  if (starts_anew) start_anew(argv, end.lease, *log);
  if (end.abandoned_threads > 0) {
    log->flush();
    std::_Exit(code);  // handlers still run, and use objects that destructors would destroy
  }
  return code;
}

int run(int argc, char** argv, WorkerOptions options) {
  runtime::CommandLine line{.worker = std::move(options)};
  if (const auto exit_code = runtime::parse_command_line(argc, argv, line)) return *exit_code;
  if (!line.worker.log) line.worker.log = make_log(line);
  const auto log = line.worker.log;
  if (line.list_tasks) {
    print_declarations(line.worker, log);
    return static_cast<int>(ExitCode::ok);
  }

  try {
    return work(argv, std::move(line.worker));
  } catch (...) {
    return log_failure(*log, failure_of(std::current_exception()));
  }
}

}  // namespace

int worker_main(int argc, char** argv, WorkerOptions options) {
  open_standard_descriptors(O_WRONLY);
  try {
    return run(argc, argv, std::move(options));
  } catch (...) {
    return print(argv[0], failure_of(std::current_exception()));
  }
}

}  // namespace dogged
