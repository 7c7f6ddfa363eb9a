// The worker's side: declare which function handles a task, and run.
//
//   Receipt deliver(dogged::Context& ctx, const Delivery& delivery);
//   TASK_REGISTER(deliver, deliver_webhook,
//                 .queue = "webhooks",
//                 .retry = dogged::Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h},
//                 .auto_retry_for = {"HTTP_429", "HTTP_503", "CONNECT_TIMEOUT"},
//                 .timeout = 10s);
//   int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
//
// Build it with `dogged_add_worker(name SOURCES …)`: a linker drops registrations that stand in a static library.
#pragma once

#include <type_traits>

#include <spdlog/spdlog.h>

#include <dogged/detail/registration.hpp>
#include <dogged/exception_mapper.hpp>
#include <dogged/task.hpp>

namespace dogged {

/// Runs a worker for every task that TASK_REGISTER declared in this program, until SIGTERM or SIGINT. Reads its
/// settings from the command line and the environment; `--help` teaches them. Call it once, from main. `exceptions`
/// gives codes to what handlers throw, for tasks without TaskOptions::exceptions of their own.
///
/// Returns 0 after a shutdown on request, and otherwise what `dogged --help` lists under "Exit codes": 2 for a
/// mistake on the command line or in a registration, 3 for a database that cannot be reached, 4 for a schema that is
/// missing or does not fit, 5 for another error of the database, 1 for anything else. A handler that calls exit() ends
/// the process at once, with 1 and without destructors, as a crash does.
int worker_main(int argc, char** argv, const ExceptionMapper& exceptions = {});

}  // namespace dogged

/// TASK_REGISTER(handler, task, options…): this program handles `task`, a dogged::Task<Args, Result>, with
/// `handler(dogged::Context&, const Args&) -> Result`; options are the fields of dogged::TaskOptions, in their order.
/// At namespace scope, in any source file of the worker. Mistakes are compile errors; a task that is registered
/// twice is reported by worker_main, which then refuses to start. Handlers run on several threads at once.
#define TASK_REGISTER(handler, task, ...) \
  DOGGED_TASK_REGISTER_NUMBERED_(__COUNTER__, handler, task __VA_OPT__(, ) __VA_ARGS__)
// One step more than it seems to need: a number beside ## is pasted as it was written, here as __COUNTER__.
#define DOGGED_TASK_REGISTER_NUMBERED_(number, handler, task, ...) \
  DOGGED_TASK_REGISTER_PASTED_(number, handler, task __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_REGISTER_PASTED_(number, handler, task, ...) \
  DOGGED_TASK_REGISTER_IN_(dogged_registration_##number##_, handler, task __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_REGISTER_IN_(scope, handler, task, ...)                           \
  namespace {                                                                         \
  namespace scope {                                                                   \
  constexpr ::dogged::TaskOptions dogged_options_{__VA_ARGS__};                       \
  static_assert(::dogged::detail::accept_options(dogged_options_));                   \
  const ::dogged::detail::Registration dogged_entry_{handler, task, dogged_options_}; \
  }                                                                                   \
  }                                                                                   \
  static_assert(true, "a semicolon belongs after TASK_REGISTER(...)")
