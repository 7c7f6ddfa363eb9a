// A registered task as the worker uses it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dogged/detail/registration.hpp>
#include <dogged/exception_mapper.hpp>

#include "lifecycle/lifecycle.hpp"

namespace dogged::runtime {

/// Where each retry setting of a declaration comes from: setting -> RetryOrigin::text. Empty where nobody has asked.
using RetrySources = std::map<std::string, std::string>;

/// What decides after an attempt.
struct Declaration {
  lifecycle::Rules rules;
  std::string policy_text;    ///< of rules.policy, as attempts record it
  RetrySources sources = {};  ///< what they say changes no decision

  /// For logs: `fixed intervals=1m jitter=none, retried for HTTP_503, no dead letters (by environment …)`; sources that
  /// are no configuration are left out.
  [[nodiscard]] std::string to_text() const;
};

/// Whether a failure has the same consequences under both.
[[nodiscard]] bool decide_alike(const Declaration& one, const Declaration& other);

/// The declaration that counts: this program's, or that of a worker that started later and declares the task
/// differently. Thread-safe; what current() gave stays valid.
class InForce {
 public:
  explicit InForce(Declaration declared) { replace_by(std::move(declared)); }

  [[nodiscard]] const Declaration& current() const noexcept { return *current_; }
  void replace_by(Declaration declaration);

 private:
  std::mutex mutex_;
  std::deque<Declaration> all_;  // few: one for each deployment that changes a policy while this process runs
  std::atomic<const Declaration*> current_{nullptr};
};

struct Definition {
  std::string name;
  std::string queue;
  Declaration declared;               ///< by this program
  std::shared_ptr<InForce> in_force;  ///< what counts
  milliseconds timeout{0};            ///< 0: none
  ExceptionMapper exceptions;         ///< what the handler throws besides TaskError
  std::string circuit;                ///< empty: none
  CircuitBreakerSettings circuit_settings;
  std::vector<std::string> redact;  ///< JSON pointers into args and result
  detail::ErasedHandler run;
};

/// By task name.
using Definitions = std::map<std::string, Definition, std::less<>>;

/// From what TASK_REGISTER declared. Throws InvalidInput that lists every mistake at once: no task at all, or tasks
/// that are registered twice.
/// `exceptions`: for tasks that name no mapper of their own.
[[nodiscard]] Definitions make_definitions(const std::vector<detail::RegisteredTask>& registered,
                                           const ExceptionMapper& exceptions = {});

}  // namespace dogged::runtime
