// From rows of the database to views of tasks, and to their JSON.
#include "cli/io/task_rows.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>
#include <dogged/trace_context.hpp>

#include "cli/render/story.hpp"
#include "text/number_text.hpp"

namespace dogged::cli {
namespace {

std::int64_t count_ms(microseconds duration) { return std::chrono::round<milliseconds>(duration).count(); }

void add_document(JsonObject& json, std::string_view key, const std::optional<std::string>& document) {
  json.add_json(key, document.value_or("null"));
}

std::optional<std::string> trace_id_of(const std::optional<std::string>& trace_context) {
  const auto trace = TraceContext::from_text(trace_context.value_or(""));
  return trace ? std::optional{trace->trace_id_text()} : std::nullopt;
}

/// An enum of the database that this program knows as well, or the schema is newer.
template <class Value>
Value known(const std::optional<Value>& value, std::string_view text) {
  if (!value) throw SchemaMismatch("the database says \"" + std::string{text} + "\", which this program does not know");
  return *value;
}

std::string to_json(const ProgressView& progress) {
  return JsonObject{}
      .add_json("fraction", progress.fraction ? number_to_text(*progress.fraction) : "null")
      .add("message", progress.message)
      .add("attempt", progress.attempt)
      .add("reported_at", progress.reported_at)
      .text();
}

std::string to_json(const WaitView& wait) {
  return JsonObject{}.add("for", to_text(wait.kind)).add("name", wait.name).add("until", wait.until).text();
}

JsonObject members_of(const TaskView& task) {
  JsonObject json;
  json.add("id", task.id)
      .add("status", lifecycle::to_text(task.status))
      .add("queue", task.queue)
      .add("name", task.name)
      .add("priority", task.priority)
      .add_json("args", task.args)
      .add("enqueued_at", task.enqueued_at)
      .add("run_at", task.run_at)
      .add("next_retry_at", task.next_retry_at)
      .add("expires_at", task.expires_at)
      .add("attempt", task.attempt)
      .add("retry_count", task.retry_count)
      .add("losses", task.losses)
      .add("worker_id", task.worker_id)
      .add("worker", task.worker)
      .add("claimed_at", task.claimed_at)
      .add("cancel_requested_at", task.cancel_requested_at)
      .add("finished_at", task.finished_at);
  add_document(json, "result", task.result);
  json.add("error_code", task.error_code)
      .add("error_message", task.error_message)
      .add("trace_context", task.trace_context)
      .add("trace_id", trace_id_of(task.trace_context))
      .add_json("tags", json_strings(task.tags))
      .add("parent_id", task.parent_id)
      .add("args_version", task.args_version)
      .add("snoozes", task.snoozes)
      .add("unique_key", task.unique_key)
      .add_json("progress", task.progress ? to_json(*task.progress) : "null")
      .add_json("wait", task.wait ? to_json(*task.wait) : "null");
  return json;
}

template <class Row>
TaskView task_from(Row row) {
  TaskView task;
  task.id = row.id;
  task.status = status_of(row.status);
  task.queue = std::move(row.queue);
  task.name = std::move(row.name);
  task.priority = row.priority;
  task.args = std::move(row.args);
  task.enqueued_at = time_from_microseconds(row.enqueued_at_us);
  task.run_at = time_from_microseconds(row.run_at_us);
  task.next_retry_at = time_from_microseconds(row.next_retry_at_us);
  task.expires_at = time_from_microseconds(row.expires_at_us);
  task.attempt = row.attempt;
  task.retry_count = row.retry_count;
  task.losses = row.losses;
  task.snoozes = row.snoozes;
  task.worker_id = row.worker_id;
  task.worker = std::move(row.worker);
  task.claimed_at = time_from_microseconds(row.claimed_at_us);
  task.cancel_requested_at = time_from_microseconds(row.cancel_requested_at_us);
  task.finished_at = time_from_microseconds(row.finished_at_us);
  task.result = std::move(row.result);
  task.error_code = std::move(row.error_code);
  task.error_message = std::move(row.error_message);
  task.trace_context = std::move(row.trace_context);
  nlohmann::json::parse(row.tags).get_to(task.tags);
  task.parent_id = row.parent_id;
  task.args_version = row.args_version;
  task.unique_key = std::move(row.unique_key);
  if (row.progress_attempt) {
    task.progress = ProgressView{.attempt = *row.progress_attempt,
                                 .fraction = row.progress,
                                 .message = std::move(row.progress_message).value_or(""),
                                 .reported_at = time_from_microseconds(row.progress_at_us.value())};
  }
  if (row.waits_for) {
    task.wait = WaitView{.kind = known(wait_kind_from_text(*row.waits_for), *row.waits_for),
                         .name = std::move(row.waits_for_name),
                         .until = time_from_microseconds(row.waits_until_us.value())};
  }
  task.is_queue_paused = row.is_queue_paused;
  if (task.is_queue_paused) task.queue_paused_until = time_from_microseconds(row.queue_paused_until_us);
  task.now = time_from_microseconds(row.now_us);
  return task;
}

template <class Row>
AttemptView attempt_from(Row row) {
  AttemptView attempt;
  attempt.task_id = row.task_id;
  attempt.attempt = row.attempt;
  attempt.name = std::move(row.name);
  attempt.queue = std::move(row.queue);
  attempt.outcome = known(lifecycle::outcome_from_text(row.outcome), row.outcome);
  attempt.worker_id = row.worker_id;
  attempt.worker = std::move(row.worker).value_or("worker " + std::to_string(attempt.worker_id));
  attempt.claimed_at = time_from_microseconds(row.claimed_at_us);
  attempt.started_at = time_from_microseconds(row.started_at_us);
  attempt.finished_at = time_from_microseconds(row.finished_at_us);
  attempt.error_code = std::move(row.error_code);
  attempt.error_message = std::move(row.error_message);
  attempt.error_details = std::move(row.error_details);
  attempt.will_retry = row.will_retry;
  attempt.next_retry_at = time_from_microseconds(row.next_retry_at_us);
  attempt.policy = std::move(row.policy);
  attempt.backoff_ms = row.backoff_ms;
  attempt.delay_ms = row.delay_ms;
  attempt.retry_after_ms = row.retry_after_ms;
  attempt.trace_context = std::move(row.trace_context);
  return attempt;
}

}  // namespace

lifecycle::Status status_of(std::string_view text) { return known(lifecycle::status_from_text(text), text); }

TaskView task_of(sql::ShowTask::Row row) { return task_from(std::move(row)); }
TaskView task_of(sql::ListTasks::Row row) { return task_from(std::move(row)); }

AttemptView attempt_of(sql::TaskAttempts::Row row) {
  const auto lease_ended_at_us = row.lease_ended_at_us;
  AttemptView attempt = attempt_from(std::move(row));
  attempt.lease_ended_at = time_from_microseconds(lease_ended_at_us);
  return attempt;
}
AttemptView attempt_of(sql::ListAttempts::Row row) { return attempt_from(std::move(row)); }

StepView step_of(sql::TaskSteps::Row row) {
  return {.name = std::move(row.name),
          .attempt = row.attempt,
          .counts = row.counts,
          .result = std::move(row.result),
          .worker = std::move(row.worker),
          .started_at = time_from_microseconds(row.started_at_us),
          .finished_at = time_from_microseconds(row.finished_at_us)};
}

DefinitionView definition_of(sql::ListDefinitions::Row row) {
  DefinitionView definition;
  definition.name = std::move(row.name);
  definition.queue = std::move(row.queue);
  definition.policy = policy_from_json(row.retry_policy);
  nlohmann::json::parse(row.auto_retry_for).get_to(definition.auto_retry_for);
  definition.timeout_ms = row.timeout_ms;
  definition.retry_lost = row.retry_lost;
  definition.max_losses = row.max_losses;
  definition.max_snoozes = row.max_snoozes;
  definition.dead_letter = row.dead_letter;
  definition.version = std::move(row.version);
  definition.args_version = row.args_version;
  definition.updated_at = time_from_microseconds(row.updated_at_us);
  nlohmann::json::parse(row.retry_sources).get_to(definition.retry_sources);
  definition.circuit = std::move(row.circuit);
  if (row.failure_threshold) {
    definition.circuit_settings =
        CircuitBreakerSettings{.failure_threshold = *row.failure_threshold,
                               .recovery_timeout = milliseconds{row.recovery_timeout_ms.value()},
                               .success_threshold = row.success_threshold.value()};
  }
  return definition;
}

std::string to_json(const TaskView& task) { return members_of(task).text(); }

std::string to_json(const AttemptView& attempt) {
  JsonObject json;
  json.add("task_id", attempt.task_id)
      .add("attempt", attempt.attempt)
      .add("name", attempt.name)
      .add("queue", attempt.queue)
      .add("outcome", lifecycle::to_text(attempt.outcome))
      .add("worker_id", attempt.worker_id)
      .add("worker", attempt.worker)
      .add("claimed_at", attempt.claimed_at)
      .add("started_at", attempt.started_at)
      .add("finished_at", attempt.finished_at)
      .add("ran_ms", count_ms(attempt.finished_at - attempt.started_at))
      .add("error_code", attempt.error_code)
      .add("error_message", attempt.error_message);
  add_document(json, "error_details", attempt.error_details);
  json.add("will_retry", attempt.will_retry)
      .add("next_retry_at", attempt.next_retry_at)
      .add("policy", attempt.policy)
      .add("backoff_ms", attempt.backoff_ms)
      .add("delay_ms", attempt.delay_ms)
      .add("retry_after_ms", attempt.retry_after_ms)
      .add("trace_context", attempt.trace_context)
      .add("trace_id", trace_id_of(attempt.trace_context));
  return json.text();
}

/// As in RetryConfig::to_json, except for the time.
std::string circuit_json(const std::optional<CircuitBreakerSettings>& settings) {
  if (!settings) return "null";
  return JsonObject{}
      .add("failure_threshold", settings->failure_threshold)
      .add("recovery_timeout_ms", std::int64_t{settings->recovery_timeout.count()})
      .add("success_threshold", settings->success_threshold)
      .text();
}

std::string to_json(const DefinitionView& definition) {
  JsonObject sources;
  for (const auto& [setting, source] : definition.retry_sources) sources.add(setting, source);
  return JsonObject{}
      .add("name", definition.name)
      .add("queue", definition.queue)
      .add("policy", policy_to_text(definition.policy))
      .add_json("auto_retry_for", json_strings(definition.auto_retry_for))
      .add("timeout_ms", definition.timeout_ms)
      .add("retry_lost", definition.retry_lost)
      .add("max_losses", definition.max_losses)
      .add("dead_letter", definition.dead_letter)
      .add("version", definition.version)
      .add("updated_at", definition.updated_at)
      .add_json("retry_sources", sources.text())
      .add("circuit", definition.circuit)
      .add_json("circuit_breaker", circuit_json(definition.circuit_settings))
      .add("args_version", definition.args_version)
      .add("max_snoozes", definition.max_snoozes)
      .text();
}

std::string to_json(const StepView& step) {
  return JsonObject{}
      .add("name", step.name)
      .add("attempt", step.attempt)
      .add("counts", step.counts)
      .add("started_at", step.started_at)
      .add("finished_at", step.finished_at)
      .add("ran_ms", count_ms(step.finished_at - step.started_at))
      .add("worker", step.worker)
      .add_json("result", step.result)
      .text();
}

/// The descendants that are children of task `id`.
std::string children_json(const Lineage& lineage, std::int64_t id) {
  std::vector<std::string> children;
  for (const Relative& child : lineage.descendants) {
    if (child.parent_id != id || !child.name || !child.status) continue;
    children.push_back(JsonObject{}
                           .add("id", child.id)
                           .add("name", *child.name)
                           .add("status", lifecycle::to_text(*child.status))
                           .add("children_count", child.children)
                           .text());
  }
  return json_array(children);
}

std::string to_json(const TaskHistory& history) {
  const TaskView& task = history.task;
  JsonObject json = members_of(task);
  const std::optional<int> most = max_retries_of(history);
  json.add("max_retries", most ? std::optional{std::int64_t{*most}} : std::nullopt);
  if (task.status == lifecycle::Status::pending) {
    json.add("due_in_ms", std::max<std::int64_t>(count_ms(task.due_at() - task.now), 0));
  } else {
    json.add_null("due_in_ms");
  }
  json.add("is_served", history.is_served)
      .add("is_queue_paused", task.is_queue_paused)
      .add("queue_paused_until", task.queue_paused_until)
      .add("lease_until", history.lease_until)
      .add("worker_state", history.worker_state);
  json.add("running_ms", count_ms(time_running(history)));
  const std::string why = why_it_failed(history);
  if (why.empty()) {
    json.add_null("failed_because");
  } else {
    json.add("failed_because", why);
  }
  json.add_json("definition", history.definition ? to_json(*history.definition) : "null");
  std::vector<std::string> attempts;
  for (const AttemptView& attempt : history.attempts) attempts.push_back(to_json(attempt));
  std::vector<std::string> steps;
  for (const StepView& step : history.steps) steps.push_back(to_json(step));
  return json.add_json("attempts", json_array(attempts))
      .add("children_count", history.lineage.children)
      .add_json("children", children_json(history.lineage, task.id))
      .add("known_args_version", history.known_args_version)
      .add_json("steps", json_array(steps))
      .text();
}

}  // namespace dogged::cli
