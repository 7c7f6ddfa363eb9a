// A registered task as the worker uses it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/detail/registered_task.hpp>
#include <dogged/exception_mapper.hpp>
#include <dogged/task_options.hpp>

#include "lifecycle/lifecycle.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// The source of each retry setting of a declaration: setting -> RetryOrigin::text. Empty if no source was asked for.
using RetrySources = std::map<std::string, std::string>;

/// The settings that decide after an attempt.
struct Declaration {
  lifecycle::Rules rules;
  std::string policy_text;    ///< of rules.policy, as attempts record it
  RetrySources sources = {};  ///< they change no decision

  /// For logs: `fixed intervals=1m jitter=none, retried for HTTP_503, no dead letters (by environment …)`. Leaves out
  /// sources that are no configuration.
  [[nodiscard]] std::string to_text() const;
};

/// Whether a failure and a snooze have the same consequences under both.
[[nodiscard]] bool decide_alike(const Declaration& one, const Declaration& other);

class CustomPolicies;

/// A registered task: a member for each setting of its registration, as this worker applies it.
struct Definition {
  std::string name;
  std::string queue;
  Declaration declared;               ///< by this program
  std::shared_ptr<InForce> in_force;  ///< the declaration that counts
  milliseconds timeout{0};            ///< 0: none
  ExceptionMapper exceptions;         ///< for exceptions of the handler other than TaskError
  Middlewares middleware;             ///< the worker's, then the task's
  std::string circuit;                ///< empty: none
  CircuitBreakerSettings circuit_settings;
  std::vector<std::string> redact;  ///< JSON pointers into args and result
  bool completes_in_transaction = false;
  detail::ErasedHandler run;
  int args_version = 1;                            ///< of its key
  std::shared_ptr<const CustomPolicies> policies;  ///< of this worker, for declarations of others
};

/// From what TASK_REGISTER declared. Throws InvalidInput that lists every mistake at once: no task at all, or tasks
/// that are registered twice. `exceptions`: for tasks without a mapper of their own. `middleware`: around that of each
/// task.
[[nodiscard]] Definitions make_definitions(const std::vector<detail::RegisteredTask>& registered,
                                           const ExceptionMapper& exceptions = {}, const Middlewares& middleware = {});

}  // namespace dogged::runtime
