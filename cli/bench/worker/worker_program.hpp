// The worker processes of `dogged bench`: this same program, started again under another name.
#pragma once

namespace dogged::cli::bench {

/// argv[1] of such a process.
inline constexpr const char* worker_program = "bench-worker";
inline constexpr const char* bench_queue = "bench";

/// Does nothing in its handler; fails as often as its args say, and is tried again after 1 ms.
inline constexpr const char* task_name = "bench";
/// The same, tried again after 2 s ± 25 %.
inline constexpr const char* late_task_name = "bench.late";

/// A worker with these two tasks, which notes in the Memory of its parent what its handlers do. Gives the exit code.
int run_worker_program(int argc, char** argv);

}  // namespace dogged::cli::bench
