// The tasks of fault_worker, shared with the producers and the checker: their args, and the rules by which they end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <dogged/task.hpp>

namespace dogged::faults {

using namespace std::chrono_literals;

/// The behaviour of a task. Each task below says which of the fields matter.
struct Plan {
  std::int64_t key = 0;    ///< of the producer: no two tasks of a run have the same
  int runs_ms = 0;         ///< how long an attempt takes
  int failures = 0;        ///< so many retries are spent on failing
  std::string code = {};   ///< with this error code
  int deaths = 0;          ///< so many attempts do what kills the process
  std::string way = {};    ///< of rough: leave_child, exit_child, exit, throw_in_destructor, allocate
  std::string gate = {};   ///< a file: an attempt waits until it exists
  int sleep_ms = 0;        ///< stepwise sleeps so long behind its second step; 0: it does not
  std::string event = {};  ///< stepwise waits for it behind its third step; empty: it does not
  int event_ms = 0;        ///< no longer than this
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Plan, key, runs_ms, failures, code, deaths, way, gate, sleep_ms, event,
                                                event_ms)

/// Ends at once, or after runs_ms.
inline constexpr Task<Plan> quick{"faults.quick"};
/// Takes runs_ms, and waits for its gate; throws as soon as its stop token is set.
inline constexpr Task<Plan> slow{"faults.slow"};
/// Fails with `code`, of which FLAKY is retried, until `failures` retries are spent.
inline constexpr Task<Plan> flaky{"faults.flaky"};
/// Has a timeout. While fewer than `failures` retries are spent it outlasts it by runs_ms and heeds no stop token.
inline constexpr Task<Plan> deaf{"faults.deaf"};
/// Kills its process with SIGKILL in its first `deaths` attempts.
inline constexpr Task<Plan> killer{"faults.killer"};
/// Takes runs_ms, and waits for its gate; is not run again after it was lost.
inline constexpr Task<Plan> once{"faults.once"};
/// Does what its `way` says in its first `deaths` attempts.
inline constexpr Task<Plan> rough{"faults.rough"};

/// Runs its steps, sleeps and waits as its plan says. Its first `deaths` attempts kill its process with SIGKILL:
/// attempt n in step n + 1. Each step gives the number of the attempt that ran it.
inline constexpr Task<Plan> stepwise{"faults.stepwise"};
inline constexpr int steps_of_stepwise = 4;
/// Takes runs_ms, and is unique by a key of the call: while it lives, or until its attempt begins.
inline constexpr Task<Plan> unique{"faults.unique"};
inline constexpr Task<Plan> unique_pending{"faults.unique_pending", {.unique = Unique{.while_ = UniqueWhile::pending}}};

/// The rules of each task, from which its TASK_REGISTER is made and by which the checker judges its attempts.
struct Rules {
  int max_retries = 0;
  std::string_view retried_code = {};  ///< the only one in auto_retry_for
  bool retry_lost = true;
  /// The most that there can be: a fault that hits any worker must not dead-letter a task that did nothing.
  int max_losses = 100;
  std::optional<UniqueWhile> unique_while = {};  ///< none: it has no unique key
};
inline constexpr Rules patient{};
inline constexpr Rules unique_rules{.unique_while = UniqueWhile::live};
inline constexpr Rules unique_pending_rules{.unique_while = UniqueWhile::pending};
inline constexpr Rules flaky_rules{.max_retries = 3, .retried_code = "FLAKY"};
inline constexpr Rules deaf_rules{.max_retries = 2, .retried_code = "TIMEOUT"};
inline constexpr Rules killer_rules{.max_losses = 3};
inline constexpr Rules once_rules{.retry_lost = false};

/// Throws InvalidInput for the name of another task.
[[nodiscard]] inline Rules rules_of(std::string_view task_name) {
  if (task_name == quick.name() || task_name == slow.name()) return patient;
  if (task_name == unique.name()) return unique_rules;
  if (task_name == unique_pending.name()) return unique_pending_rules;
  if (task_name == flaky.name()) return flaky_rules;
  if (task_name == deaf.name()) return deaf_rules;
  if (task_name == killer.name() || task_name == rough.name() || task_name == stepwise.name()) return killer_rules;
  if (task_name == once.name()) return once_rules;
  throw InvalidInput("fault_worker has no task " + std::string{task_name});
}

inline constexpr const char* queue_name = "faults";
/// Names the file of the handlers' own log in the environment of a fault_worker.
inline constexpr const char* log_variable = "DOGGED_FAULTS_LOG";

}  // namespace dogged::faults
