// A task in the database, as the command line shows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/policy.hpp>

#include "cli/render/moment.hpp"
#include "lifecycle/transition.hpp"

namespace dogged::cli {

struct AttemptView {
  std::int64_t task_id = 0;
  int attempt = 1;
  std::string name;
  std::string queue;
  lifecycle::Outcome outcome = lifecycle::Outcome::succeeded;
  std::int64_t worker_id = 0;
  std::string worker;
  Time claimed_at;
  Time started_at;
  Time finished_at;
  std::optional<Time> lease_ended_at;  ///< of the worker that ran it, if it was lost; for one task's history only
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  std::optional<std::string> error_details;  ///< JSON text
  bool will_retry = false;
  std::optional<Time> next_retry_at;
  std::optional<std::string> policy;
  std::optional<std::int64_t> backoff_ms;
  std::optional<std::int64_t> delay_ms;
  std::optional<std::int64_t> retry_after_ms;
  std::optional<std::string> trace_context;
};

/// A step of an attempt that has ended.
struct StepView {
  std::string name;
  int attempt = 1;
  bool counts = true;  ///< a later attempt gets its result
  std::string result;  ///< JSON text
  std::optional<std::string> worker;
  Time started_at;
  Time finished_at;
};

struct DefinitionView {
  std::string name;
  std::string queue;
  RetryPolicy policy;
  std::vector<std::string> auto_retry_for;
  std::optional<std::int64_t> timeout_ms;
  bool retry_lost = true;
  int max_losses = 3;
  int max_snoozes = 1000;
  bool dead_letter = true;
  std::string version;
  int args_version = 1;
  Time updated_at;
  /// Where its retry settings come from: setting -> source.
  std::map<std::string, std::string, std::less<>> retry_sources;
  std::optional<std::string> circuit;
  std::optional<CircuitBreakerSettings> circuit_settings;  ///< none if the circuit's row was deleted
};

/// How far a task has come, as its handler has said last.
struct ProgressView {
  int attempt = 1;
  std::optional<double> fraction;  ///< 0 to 1
  std::string message;
  Time reported_at;
};

/// The wait of a pending task by its handler's own doing.
enum class WaitKind { sleep, event, snooze };

[[nodiscard]] std::string_view to_text(WaitKind kind);
[[nodiscard]] std::optional<WaitKind> wait_kind_from_text(std::string_view text);

/// A wait that is not over.
struct WaitView {
  WaitKind kind = WaitKind::sleep;
  std::optional<std::string> name;  ///< of the sleep or the event; none: a snooze has no name
  Time until;
};

struct TaskView {
  std::int64_t id = 0;
  lifecycle::Status status = lifecycle::Status::pending;
  std::string queue;
  std::string name;
  int priority = 0;
  std::string args;  ///< JSON text
  Time enqueued_at;
  Time run_at;
  std::optional<Time> next_retry_at;
  std::optional<Time> expires_at;
  int attempt = 0;
  int retry_count = 0;
  int losses = 0;
  int snoozes = 0;
  std::optional<std::int64_t> worker_id;
  std::optional<std::string> worker;
  std::optional<Time> claimed_at;
  std::optional<Time> cancel_requested_at;
  std::optional<Time> finished_at;
  std::optional<std::string> result;  ///< JSON text
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  std::optional<std::string> trace_context;
  std::vector<std::string> tags;
  std::optional<std::int64_t> parent_id;
  int args_version = 1;
  std::optional<std::string> unique_key;
  std::optional<ProgressView> progress;
  std::optional<WaitView> wait;
  bool is_queue_paused = false;
  std::optional<Time> queue_paused_until;  ///< of a paused one; none: until it is resumed
  Time now;                                ///< the database's clock when it was read

  /// When it is due, if it waits.
  [[nodiscard]] Time due_at() const { return next_retry_at.value_or(run_at); }
  /// The task's time has come, and no worker has taken the task.
  [[nodiscard]] bool is_due() const { return status == lifecycle::Status::pending && due_at() <= now; }
};

/// For good, whether it is kept as a dead letter or not.
[[nodiscard]] inline bool has_failed(const TaskView& task) noexcept {
  return task.status == lifecycle::Status::failed || task.status == lifecycle::Status::discarded;
}

/// A task above or below another one.
struct Relative {
  std::int64_t id = 0;
  std::optional<std::int64_t> parent_id;
  std::optional<std::string> name;  ///< none: it is gone, as its status is
  std::optional<lifecycle::Status> status;
  std::int64_t children = 0;  ///< all of them, however few are listed
};

/// The tasks above a task and below it.
struct Lineage {
  std::vector<Relative> ancestors;    ///< its parent first
  std::int64_t children = 0;          ///< of the task itself
  std::vector<Relative> descendants;  ///< level by level
};

/// A task with all that tells its story.
struct TaskHistory {
  TaskView task;
  std::optional<DefinitionView> definition;
  std::vector<AttemptView> attempts;             ///< in their order
  std::vector<StepView> steps = {};              ///< in the order in which they began
  bool is_served = false;                        ///< a worker runs that would take it
  std::optional<Time> lease_until;               ///< of the worker that holds it, while it runs
  std::optional<std::string> worker_state = {};  ///< the same: as by dogged.worker_state
  /// The latest version of the args that a running worker knows, of the workers that serve the queue and know the name.
  std::optional<int> known_args_version = {};
  Lineage lineage = {};
};

}  // namespace dogged::cli
