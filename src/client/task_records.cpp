// See task_records.hpp.
#include "client/task_records.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "client/task_status.hpp"
#include "db/connection.hpp"
#include "sql/client.hpp"

namespace dogged {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

TimePoint time_at(std::int64_t us) { return TimePoint{std::chrono::microseconds{us}}; }

std::optional<TimePoint> time_at(std::optional<std::int64_t> us) {
  return us ? std::optional{time_at(*us)} : std::nullopt;
}

std::optional<milliseconds> duration_of(std::optional<std::int64_t> ms) {
  return ms ? std::optional{milliseconds{*ms}} : std::nullopt;
}

std::string text_of(std::optional<std::string> text) { return std::move(text).value_or(""); }

AttemptRecord record_of(sql::FindAttempts::Row row) {
  AttemptRecord record;
  record.attempt = row.attempt;
  if (row.outcome) record.outcome = attempt_outcome_of(*row.outcome);
  record.worker = text_of(std::move(row.worker));
  record.due_at = time_at(row.due_at_us);
  record.claimed_at = time_at(row.claimed_at_us);
  record.started_at = time_at(row.started_at_us);
  record.finished_at = time_at(row.finished_at_us);
  record.error_code = text_of(std::move(row.error_code));
  record.error_message = text_of(std::move(row.error_message));
  record.error_details_json = text_of(std::move(row.error_details));
  record.will_retry = row.will_retry.value_or(false);
  record.next_retry_at = time_at(row.next_retry_at_us);
  record.policy = text_of(std::move(row.policy));
  record.backoff = duration_of(row.backoff_ms);
  record.delay = duration_of(row.delay_ms);
  record.retry_after = duration_of(row.retry_after_ms);
  return record;
}

TaskRecord record_of(sql::FindTask::Row row) {
  TaskRecord record;
  record.id = row.id;
  record.name = std::move(row.name);
  record.queue = std::move(row.queue);
  record.status = task_status_of(row.status);
  record.state = std::move(row.state);
  record.since = time_at(row.since_us);
  record.next_run_at = time_at(row.next_run_at_us);
  record.attempts = row.attempts;
  record.retry_count = row.retry_count;
  record.max_retries = row.max_retries;
  record.losses = row.losses;
  record.snoozes = row.snoozes;
  record.last_error_code = text_of(std::move(row.last_error_code));
  record.last_error_message = text_of(std::move(row.last_error_message));
  record.worker = text_of(std::move(row.worker));
  record.priority = row.priority;
  record.args_json = std::move(row.args);
  record.result_json = text_of(std::move(row.result));
  record.enqueued_at = time_at(row.enqueued_at_us);
  record.run_at = time_at(row.run_at_us);
  record.claimed_at = time_at(row.claimed_at_us);
  record.finished_at = time_at(row.finished_at_us);
  record.cancel_requested_at = time_at(row.cancel_requested_at_us);
  record.trace_context = text_of(std::move(row.trace_context));
  nlohmann::json::parse(row.tags).get_to(record.tags);
  record.parent_id = row.parent_id;
  record.args_version = row.args_version;
  if (row.progress_attempt) {
    record.progress = TaskProgress{.attempt = *row.progress_attempt,
                                   .fraction = row.progress,
                                   .message = text_of(std::move(row.progress_message)),
                                   .reported_at = time_at(row.progress_at_us.value())};
  }
  return record;
}

}  // namespace

std::vector<AttemptRecord> read_attempts(db::Connection& connection, TaskId id) {
  std::vector<AttemptRecord> records;
  for (auto& row : connection.run(sql::FindAttempts{.task_id = id})) records.push_back(record_of(std::move(row)));
  return records;
}

std::optional<TaskRecord> read_task(db::Connection& connection, TaskId id) {
  std::optional<TaskRecord> record;
  connection.transaction([&] {
    // An attempt that ends between the statements would be missing, or there twice.
    connection.run(sql::OneSnapshot{});
    auto rows = connection.run(sql::FindTask{.task_id = id});
    if (rows.empty()) return;
    record = record_of(db::one(std::move(rows)));
    record->timeline = read_attempts(connection, id);
  });
  return record;
}

}  // namespace dogged
