// See sql_call.hpp.
#include <algorithm>
#include <sstream>

#include <dogged/client.hpp>
#include <dogged/detail/sql_call.hpp>

#include "client/enqueue_statement.hpp"
#include "client/json_limit.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "sql/client.hpp"

namespace dogged::detail {
namespace {

constexpr std::string_view lease_lost = "LE001";      // schema/complete_in.sql
constexpr std::string_view step_on_record = "ST001";  // schema/steps.sql
constexpr std::string_view undefined_function = "42883";
constexpr std::string_view undefined_schema = "3F000";

SqlCall make_call(db::BoundStatement bound, const std::string& schema) {
  return {db::with_schema(bound.statement.text, schema), std::move(bound.params).values()};
}

EnqueueOutcome outcome_from(std::string_view text) {
  for (const auto outcome : {EnqueueOutcome::enqueued, EnqueueOutcome::existed, EnqueueOutcome::updated}) {
    if (to_text(outcome) == text) return outcome;
  }
  throw SchemaMismatch("an enqueue answers \"" + std::string{text} + "\", which this program does not know");
}

}  // namespace

bool any_is_unique(std::span<const NewTask> tasks) noexcept {
  return std::any_of(tasks.begin(), tasks.end(), [](const NewTask& task) { return task.is_unique(); });
}

std::vector<Enqueued> enqueued_from(std::string_view answer, std::size_t tasks) {
  std::vector<Enqueued> enqueued;
  std::istringstream lines{std::string{answer}};
  std::string outcome;
  TaskId first = 0;
  TaskId last = 0;
  while (lines >> outcome >> first >> last) {
    const EnqueueOutcome of_all = outcome_from(outcome);
    for (TaskId id = first; id <= last; ++id) enqueued.push_back({id, of_all});
  }
  if (enqueued.size() != tasks) {
    throw SchemaMismatch("an enqueue of " + std::to_string(tasks) + " tasks answers with " +
                         std::to_string(enqueued.size()));
  }
  return enqueued;
}

SqlCall enqueue_call(std::span<const NewTask> tasks, const std::string& schema) {
  db::require_schema_name(schema);
  const NewTasks enqueued{tasks};
  for (const NewTask& task : enqueued.kinds()) {
    if (task.options.wait_for_room == milliseconds{0}) continue;
    throw InvalidInput("task \"" + task.name.substr(0, limits::name_bytes) + "\": wait_for_room is " +
                           std::to_string(task.options.wait_for_room.count()) + " ms, in a transaction of its caller",
                       "leave it out, and do the whole transaction again after QueueFull; a Client can wait");
  }
  return make_call(enqueue_statement(enqueued), schema);
}

std::vector<SqlCall> prepare_calls(std::span<const NewTask> tasks, const std::string& schema) {
  std::vector<SqlCall> calls;
  const NewTask* last = nullptr;  // a call is mostly for tasks of one kind
  for (const NewTask& task : tasks) {
    if (!makes_queue(task) || (last != nullptr && last->key_queue == task.key_queue)) continue;
    calls.push_back(make_call(sql::PrepareTask{.name = task.name, .queue = task.key_queue}, schema));
    last = &task;
  }
  return calls;
}

SqlCall completion_call(const Context::Completion& completion, const std::string& result_json) {
  if (const std::size_t bytes = detail::bytes_as_jsonb(result_json); bytes > completion.max_result_bytes) {
    throw TaskError{codes::invalid_result, too_long_as_json("the result", bytes, completion.max_result_bytes)};
  }
  return make_call(sql::CompleteIn{.task_id = completion.task_id,
                                   .attempt = completion.attempt,
                                   .worker_id = completion.worker_id,
                                   .result = result_json.empty() ? std::nullopt : std::optional{result_json},
                                   .running_us = completion.running_for.count(),
                                   .own_trace = completion.own_trace},
                   completion.schema);
}

SqlCall step_call(const StepInTransaction& step, const std::string& schema) {
  return make_call(sql::StepIn{.task_id = step.task_id,
                               .attempt = step.attempt,
                               .worker_id = step.worker_id,
                               .name = step.name,
                               .result = step.result_json,
                               .began_us_ago = step.began_ago.count()},
                   schema);
}

void explain_refusal(const std::string& server_text, const std::string& sqlstate, std::span<const NewTask> tasks) {
  db::ServerMessage parts = db::parse_server_message(server_text);
  // A commit of this attempt was in doubt, and was not visible when the handler looked for the record. This happens
  // while a synchronous replica is awaited, for example. The next attempt finds the record.
  if (sqlstate == step_on_record) throw Snooze{limits::min_delay, parts.message};
  if (sqlstate == lease_lost) throw LeaseLost(parts.message, parts.hint);
  if (sqlstate == undefined_function || sqlstate == undefined_schema) {
    throw SchemaMismatch(
        "this transaction's database has no dogged schema that fits: " + parts.message,
        "connect to the database that holds the queue, name its schema, or run `dogged migrate` there");
  }
  if (sqlstate == db::queue_full) throw QueueFull(parts.message, parts.hint, sqlstate);
  if (sqlstate == db::unique_conflict) throw UniqueConflict(parts.message, parts.hint, sqlstate);
  if (!db::is_callers_mistake(sqlstate)) return;
  explain_refused(tasks);
  throw InvalidInput(parts.message, parts.hint);
}

}  // namespace dogged::detail
