// See worker_program.hpp.
#include "cli/bench/worker/worker_program.hpp"

#include <csignal>
#include <iostream>
#include <optional>

#include <sys/prctl.h>

#include <dogged/worker.hpp>

#include "cli/bench/worker/memory.hpp"

namespace dogged::cli::bench {

struct Run {
  std::int64_t slot = -1;  ///< where to note when it began; -1: nowhere
  int failures = 0;        ///< how many attempts fail
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Run, slot, failures)

namespace {

std::optional<Memory> memory;

void run(Context& context, const Run& args) {
  if (args.slot >= 0) memory->note_begun(static_cast<std::size_t>(args.slot));
  memory->note_handled();
  if (context.retry_count() < args.failures) throw TaskError{"BENCH_FAILURE", "as the benchmark wants it"};
}

void run_late(Context& context, const Run& args) { run(context, args); }

constexpr Task<Run> task{task_name};
constexpr Task<Run> late_task{late_task_name};

TASK_REGISTER(run, task, .queue = bench_queue, .retry = Fixed{.interval = milliseconds{1}, .max_retries = 20},
              .auto_retry_for = {"BENCH_FAILURE"});
TASK_REGISTER(run_late, late_task, .queue = bench_queue,
              .retry = Fixed{.interval = milliseconds{2000}, .max_retries = 20}, .auto_retry_for = {"BENCH_FAILURE"});

}  // namespace

int run_worker_program(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a benchmark that is killed leaves no worker behind
  try {
    memory.emplace(Memory::of_parent());
  } catch (const Error& error) {
    std::cerr << "dogged: " << error.what() << "\n";
    return 2;
  }
  if (memory->is_orphaned()) return 1;  // it was, before it could ask to be told
  return worker_main(argc, argv);
}

}  // namespace dogged::cli::bench
