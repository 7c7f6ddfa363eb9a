// Carries out how a worker shuts down. shutdown.hpp decides the steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/shutdown.hpp"

namespace dogged::runtime {

struct Common;
class Services;

/// How a run of a worker ended.
struct ShutdownResult {
  std::size_t given_back = 0;   ///< tasks that were claimed and not started; no attempt was spent
  std::size_t interrupted = 0;  ///< attempts that still ran at the end; they run again, and no retry was spent
  std::size_t left_behind = 0;  ///< tasks that could not be given back or written; `running` until they are rescued
  std::size_t abandoned_threads = 0;  ///< threads of handlers that were given up and still run
  bool has_too_many = false;          ///< the run ended because of too many abandoned threads
};

/// Leaves the threads that were abandoned to the caller. Throws nothing: a step that fails is logged.
[[nodiscard]] ShutdownResult shut_down(Services& services, Common& common, std::int64_t worker_id, Shutdown shutdown);

/// The worker holds no lease any more. False, which is logged, if PostgreSQL could not be told.
bool sign_off(Common& common, std::int64_t worker_id) noexcept;

}  // namespace dogged::runtime
