// The workloads of `dogged bench`. Each function is one round: it does the work on the scene, checks the result, and
// adds its figures. Each task must have ended once, with its attempts. The functions throw Failure for a wrong result,
// for a worker process that ends by itself, and after Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/bench/core/figures.hpp"
#include "cli/bench/scene.hpp"
#include "cli/bench/server.hpp"

namespace dogged::cli::bench {

struct Workload {
  std::int64_t tasks = 0;
  int workers = 1;       ///< processes
  int concurrency = 10;  ///< of each
  int failures = 0;      ///< of each task, before it succeeds
  int batch = 1000;      ///< tasks of one bulk enqueue
  int clients = 64;
  std::int64_t rate = 0;                 ///< tasks a second
  std::chrono::milliseconds time{5000};  ///< how long to go on
  std::chrono::milliseconds settle{0};   ///< how long idle workers are left alone before they are watched
  std::chrono::milliseconds every{20};   ///< on average between two single tasks
};

/// Enqueues all tasks, then starts the workers, and measures how fast they end them.
void drain(Scene& scene, const Server& server, const Workload& workload, Figures& figures);
/// Bulk, one at a time, and one at a time by many clients.
void enqueue(Scene& scene, const Workload& workload, Figures& figures);
/// From the call of enqueue to the first line of the handler, where the workers are idle.
void latency(Scene& scene, const Workload& workload, Figures& figures);
/// How long after they were due tasks and retries began.
void schedule(Scene& scene, const Workload& workload, Figures& figures);
/// The cost of workers that have nothing to do.
void idle(Scene& scene, const Server& server, const Workload& workload, Figures& figures);
/// Producers and workers together; `on_second` is given a line each second.
void steady(Scene& scene, const Server& server, const Workload& workload, Figures& figures,
            const std::function<void(const std::string& line)>& on_second);

}  // namespace dogged::cli::bench
