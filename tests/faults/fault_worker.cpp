// The worker process of the fault tests. The handlers succeed, fail, hang and die as the args of their task say
// (tasks.hpp), and write their own log.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dogged/worker.hpp>

#include "handler_log.hpp"
#include "tasks.hpp"

using dogged::Context;
using dogged::faults::Plan;

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace faults = dogged::faults;

/// Thrown by a handler that heeds its stop token.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("the stop token was set") {}
};

const faults::HandlerLog& handler_log() {
  static const faults::HandlerLog log{[] {
    const char* file = std::getenv(faults::log_variable);
    if (file == nullptr) throw std::runtime_error(std::string{faults::log_variable} + " is not set");
    return std::filesystem::path{file};
  }()};
  return log;
}

/// Runs a handler's work between a start and an end in the log.
template <class Work>
void recorded(const Context& context, Work&& work) {
  handler_log().start(context);
  try {
    work();
  } catch (const dogged::TaskError& error) {
    handler_log().end(context, error.code().view());
    throw;
  } catch (const Stopped&) {
    handler_log().end(context, faults::stopped);
    throw;
  }
  handler_log().end(context, faults::succeeded);
}

/// runs_ms and the gate, in small steps. `context` is asked to stop by its token where `heeds` says so.
enum class Heeds { stop_token, nothing };
void take_time(const Context& context, const Plan& plan, Heeds heeds) {
  const auto until = Clock::now() + std::chrono::milliseconds{plan.runs_ms};
  const auto is_over = [&] {
    return Clock::now() >= until && (plan.gate.empty() || std::filesystem::exists(plan.gate));
  };
  while (!is_over()) {
    if (heeds == Heeds::stop_token && context.stop_token().stop_requested()) throw Stopped{};
    std::this_thread::sleep_for(2ms);
  }
}

void run_quick(Context& context, const Plan& plan) {
  recorded(context, [&] { take_time(context, plan, Heeds::nothing); });
}

void run_slow(Context& context, const Plan& plan) {
  recorded(context, [&] { take_time(context, plan, Heeds::stop_token); });
}

void run_flaky(Context& context, const Plan& plan) {
  recorded(context, [&] {
    take_time(context, plan, Heeds::stop_token);
    if (context.retry_count() < plan.failures) throw dogged::TaskError{plan.code, "as planned"};
  });
}

void run_deaf(Context& context, const Plan& plan) {
  recorded(context, [&] {
    if (context.retry_count() >= plan.failures) return;
    std::this_thread::sleep_until(context.deadline());
    take_time(context, plan, Heeds::nothing);
  });
}

void run_killer(Context& context, const Plan& plan) {
  recorded(context, [&] {
    take_time(context, plan, Heeds::nothing);
    if (context.attempt() <= plan.deaths) std::raise(SIGKILL);
  });
}

struct ThrowsWhenItGoes {
  ~ThrowsWhenItGoes() noexcept(false) { throw std::runtime_error("from a destructor"); }
};

/// The second exception while the first is in flight: std::terminate.
void throw_in_destructor() {
  const ThrowsWhenItGoes thrower;
  throw std::runtime_error("the first");
}

/// A child that stays, with copies of all connections of the worker, which dies: the server does not see them close.
void die_but_leave_child() {
  if (::fork() == 0) {
    std::this_thread::sleep_for(1min);
    ::_exit(0);
  }
  std::raise(SIGKILL);
}

/// A child that leaves through exit(), and so through the destructors of a worker that is not its own.
void fork_and_exit_child() {
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  if (child > 0) ::waitpid(child, nullptr, 0);
}

/// Until there is no more, which takes a moment at most: std::bad_alloc, in a place that must not throw.
void allocate_until_killed() noexcept {
  const rlimit little{512u << 20, 512u << 20};
  ::setrlimit(RLIMIT_AS, &little);
  std::vector<std::string> hoard;
  while (true) hoard.emplace_back(1u << 20, 'x');
}

void run_rough(Context& context, const Plan& plan) {
  recorded(context, [&] {
    take_time(context, plan, Heeds::nothing);
    if (context.attempt() > plan.deaths) return;
    if (plan.way == "leave_child") die_but_leave_child();
    if (plan.way == "exit_child") fork_and_exit_child();
    if (plan.way == "exit") std::exit(0);
    if (plan.way == "throw_in_destructor") throw_in_destructor();
    if (plan.way == "allocate") allocate_until_killed();
  });
}

void run_step(Context& context, const Plan& plan, int number) {
  const std::string name = "step-" + std::to_string(number);
  const int gave = context.step(name, [&] {
    take_time(context, plan, Heeds::nothing);
    if (context.attempt() <= plan.deaths && number == context.attempt() + 1) std::raise(SIGKILL);
    return context.attempt();
  });
  handler_log().step(context, name, gave);
}

void run_stepwise(Context& context, const Plan& plan) {
  recorded(context, [&] {
    for (int number = 1; number <= faults::steps_of_stepwise; ++number) {
      run_step(context, plan, number);
      if (number == 2 && plan.sleep_ms > 0) context.sleep(std::chrono::milliseconds{plan.sleep_ms});
      if (number == 3 && !plan.event.empty()) {
        (void)context.wait_event(plan.event, std::chrono::milliseconds{plan.event_ms});
      }
    }
  });
}

}  // namespace

TASK_REGISTER(run_quick, faults::quick, .queue = faults::queue_name, .max_losses = faults::patient.max_losses);
TASK_REGISTER(run_slow, faults::slow, .queue = faults::queue_name, .max_losses = faults::patient.max_losses);
TASK_REGISTER(run_flaky, faults::flaky, .queue = faults::queue_name,
              .retry = dogged::Exponential{.base = 20ms, .max_retries = faults::flaky_rules.max_retries},
              .auto_retry_for = {faults::flaky_rules.retried_code}, .max_losses = faults::flaky_rules.max_losses);
TASK_REGISTER(run_deaf, faults::deaf, .queue = faults::queue_name,
              .retry = dogged::Fixed{.interval = 50ms, .max_retries = faults::deaf_rules.max_retries},
              .auto_retry_for = {faults::deaf_rules.retried_code}, .timeout = 200ms,
              .max_losses = faults::deaf_rules.max_losses);
TASK_REGISTER(run_killer, faults::killer, .queue = faults::queue_name, .max_losses = faults::killer_rules.max_losses);
TASK_REGISTER(run_slow, faults::once, .queue = faults::queue_name, .retry_lost = faults::once_rules.retry_lost);
TASK_REGISTER(run_rough, faults::rough, .queue = faults::queue_name, .max_losses = faults::killer_rules.max_losses);
TASK_REGISTER(run_stepwise, faults::stepwise, .queue = faults::queue_name,
              .max_losses = faults::killer_rules.max_losses);
TASK_REGISTER(run_quick, faults::unique, .queue = faults::queue_name, .max_losses = faults::patient.max_losses);
TASK_REGISTER(run_quick, faults::unique_pending, .queue = faults::queue_name, .max_losses = faults::patient.max_losses);

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
