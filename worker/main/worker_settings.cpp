// See worker_settings.hpp.
#include "main/worker_settings.hpp"

#include <atomic>
#include <optional>
#include <variant>

#include <unistd.h>

#include <dogged/detail/names.hpp>

#include "client/log_event.hpp"
#include "db/conninfo.hpp"
#include "main/configured_retries.hpp"
#include "tasks/custom_policies.hpp"
#include "tasks/in_force.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"
#include "text/escaped.hpp"
#include "text/message.hpp"

namespace dogged::runtime {
namespace {

constexpr int most_at_once = 1'000;  // of a queue
constexpr int most_abandoned_threads = 10'000;
constexpr milliseconds usual_poll_interval{10'000};
constexpr milliseconds usual_poll_interval_without_notifications{1'000};

/// host:pid. From the second worker of a process on, host:pid:number.
std::string new_worker_name() {
  static std::atomic<int> made{0};
  const int number = ++made;
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host = "worker";
  return std::string{host.c_str()}.substr(0, 100) + ":" + std::to_string(::getpid()) +
         (number == 1 ? "" : ":" + std::to_string(number));
}

void require_concurrency(const std::string& name, int value) {
  if (value >= 1 && value <= most_at_once) return;
  throw InvalidInput(name + " is " + std::to_string(value) + "; it must be 1 to " + std::to_string(most_at_once));
}

void require_queues(const WorkerOptions& options) {
  require_concurrency("WorkerOptions::default_concurrency", options.default_concurrency);
  for (const auto& [queue, concurrency] : options.queues) {
    if (!detail::is_valid_name(queue)) {
      throw InvalidInput("WorkerOptions::queues has " + in_quotes(queue) + ", which is no queue's name",
                         "a queue is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit");
    }
    require_concurrency("WorkerOptions::queues: the concurrency of " + queue, concurrency);
  }
}

void tell_of_unregistered(const RetryConfigFile& file, const Definitions& definitions, spdlog::logger& log) {
  for (const UnregisteredTask& task : unregistered_tasks(file, definitions)) {
    log.log(event("task_not_registered"), task.suggestion.empty() ? spdlog::level::info : spdlog::level::warn,
            "file {} /tasks/{}: this program does not register such a task{}", file.name, task.name, task.suggestion);
  }
}

/// Last, when it is known which policy each task has.
void bind_policies(Definitions& definitions, const WorkerOptions& options, const std::shared_ptr<spdlog::logger>& log) {
  const auto policies = std::make_shared<const CustomPolicies>(options.policies, log);
  for (auto& [name, definition] : definitions) {
    definition.policies = policies;
    if (!std::holds_alternative<Custom>(definition.declared.rules.policy)) continue;
    policies->bind(name, definition.declared.rules);
    definition.in_force = std::make_shared<InForce>(definition.declared);
  }
}

}  // namespace

std::string to_text(const DurationRange& range) {
  return "it must be " + duration_to_text(range.least) + " to " + duration_to_text(range.most);
}

void require_in(const std::string& name, milliseconds value, const DurationRange& range) {
  if (value >= range.least && value <= range.most) return;
  throw InvalidInput(name + " is " + duration_to_text(value) + "; " + to_text(range));
}

void require_worker_name(const std::string& name, const std::string& value) {
  if (value.empty() || value.size() > limits::name_bytes) {
    throw InvalidInput(name + " has " + std::to_string(value.size()) + " bytes; it must be 1 to 128");
  }
  if (escaped(value) != value) {
    throw InvalidInput(name + " is \"" + escaped(value) + "\": it must be UTF-8 without control characters",
                       "others show it in their logs; letters, digits, spaces and signs are fine");
  }
  if (db::without_passwords(value) != value) {
    throw InvalidInput(name + " looks like a database URL, and everyone would see its password",
                       "name the worker by other words, such as its host and what it does");
  }
}

void require_thread_limit(const std::string& name, int value) {
  if (value >= 0 && value <= most_abandoned_threads) return;
  throw InvalidInput(name + " is " + std::to_string(value) + "; it must be 0 to 10000");
}

WorkerSettings settings_of(const WorkerOptions& options) {
  db::require_schema_name(options.schema);
  require_queues(options);
  require_thread_limit("WorkerOptions::max_abandoned_threads", options.max_abandoned_threads);
  WorkerSettings settings;
  settings.database.url = options.database_url;
  settings.database.schema = options.schema;
  settings.database.application_name = "dogged worker";
  settings.name = options.name.empty() ? new_worker_name() : options.name;
  settings.queues = options.queues;
  settings.default_concurrency = options.default_concurrency;
  settings.create_queues = options.create_queues;
  settings.heartbeat = options.heartbeat;
  settings.lease = options.lease;
  settings.grace = options.grace;
  settings.stop_grace = options.stop_grace;
  settings.max_abandoned_threads = options.max_abandoned_threads;
  settings.poll_interval = options.poll_interval.value_or(options.poll_only ? usual_poll_interval_without_notifications
                                                                            : usual_poll_interval);
  settings.poll_only = options.poll_only;
  settings.log_retries = options.log_retries;
  settings.previous_lease = options.previous_lease;
  settings.tracer = options.tracer;
  require_worker_name("WorkerOptions::name", settings.name);
  require_in("WorkerOptions::heartbeat", settings.heartbeat, ranges::heartbeat);
  require_in("WorkerOptions::lease", settings.lease, ranges::lease);
  require_in("WorkerOptions::grace", settings.grace, ranges::grace);
  require_in("WorkerOptions::stop_grace", settings.stop_grace, ranges::grace);
  require_in("WorkerOptions::poll_interval", settings.poll_interval, ranges::poll_interval);
  require_sound(settings);
  return settings;
}

Definitions definitions_of(const WorkerOptions& options, const Tasks& tasks,
                           const std::shared_ptr<spdlog::logger>& log) {
  Definitions definitions = make_definitions(tasks.all(), options.exceptions, options.middleware);
  std::optional<RetryConfigFile> file;
  if (!options.retry_config.empty()) file = read_retry_config(options.retry_config);
  const ConfiguredRetries configured = configure_retries(definitions, file ? &*file : nullptr, options.environment);
  bind_policies(definitions, options, log);
  for (const std::string& change : configured.changes) {
    log->log(event("retries_configured"), spdlog::level::info, "{}", change);
  }
  for (const std::string& warning : configured.warnings) {
    log->log(event("retry_config_warning"), spdlog::level::warn, "{}", warning);
  }
  if (file) tell_of_unregistered(*file, definitions, *log);
  return definitions;
}

}  // namespace dogged::runtime
