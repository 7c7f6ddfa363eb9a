// See task_wait.hpp.
#include "client/task_wait.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dogged/retry.hpp>

#include "client/noted_retries.hpp"
#include "client/passing_error.hpp"
#include "client/task_status.hpp"
#include "migrate/migrate.hpp"
#include "sql/client.hpp"

namespace dogged {
namespace {

constexpr milliseconds first_pause{20};  // between two looks, doubled
constexpr milliseconds longest_pause{500};
constexpr milliseconds between_announcements{10'000};  // workers remember one for three times as long
constexpr milliseconds shortest_try{100};              // if the time is over before the server has answered once

TaskOutcome outcome_of(sql::TaskOutcome::Row row) {
  return {.id = row.id,
          .name = std::move(row.name),
          .status = task_status_of(row.status),
          .attempts = row.attempt,
          .result_json = std::move(row.result).value_or(""),
          .error_code = std::move(row.error_code).value_or(""),
          .error_message = std::move(row.error_message).value_or("")};
}

std::optional<TaskProgress> progress_of(std::vector<sql::TaskProgress::Row> rows) {
  if (rows.empty()) return std::nullopt;
  sql::TaskProgress::Row& row = rows.front();
  return TaskProgress{
      .attempt = row.attempt,
      .fraction = row.fraction,
      .message = std::move(row.message),
      .reported_at = std::chrono::system_clock::time_point{std::chrono::microseconds{row.reported_at_us}}};
}

}  // namespace

TaskOutcome TaskWait::wait(TaskId id, milliseconds timeout, const OnProgress& on_progress) {
  const auto until = SteadyClock::now() + timeout;
  announce_at_ = SteadyClock::now();
  milliseconds pause = first_pause;
  std::optional<TaskProgress> told;
  while (true) {
    Seen seen = look(id, until, on_progress != nullptr);
    if (seen.progress && seen.progress != told) {
      on_progress(*seen.progress);
      told = std::move(seen.progress);
    }
    const auto now = SteadyClock::now();
    if (seen.task.has_ended() || now >= until) return std::move(seen.task);
    wait_for_news(id, std::min<SteadyClock::time_point>(until, now + pause));
    pause = std::min(2 * pause, longest_pause);
  }
}

bool TaskWait::rest() noexcept {
  try {
    if (!connection_) return false;
    connection_->unlisten();
    listens_ = false;
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Polls, and repeats the poll while it fails for a passing reason. Stops when the wait's time is over, but polls at
/// least once.
TaskWait::Seen TaskWait::look(TaskId id, SteadyClock::time_point until, bool with_progress) {
  RetryOptions options = noted_retries("wait", settings_.retry, settings_.log);
  options.deadline = std::min<SteadyClock::time_point>(SteadyClock::now() + settings_.retry_for,
                                                       std::max(until, SteadyClock::now() + shortest_try));
  const auto result = retry_if(
      settings_.retry,
      [&] {
        try {
          return look_once(id, with_progress);
        } catch (const ConnectionError&) {
          connection_.reset();
          throw;
        }
      },
      is_passing, options);
  if (!result && result.error) std::rethrow_exception(result.error);
  return result.value();
}

TaskWait::Seen TaskWait::look_once(TaskId id, bool with_progress) {
  connect();
  std::vector<sql::TaskOutcome::Row> rows = connection_->run(sql::TaskOutcome{.task_id = id});
  if (rows.empty()) {
    throw InvalidInput("there is no task " + std::to_string(id),
                       "a task is there once its transaction has committed, and when it has ended, for a limited time");
  }
  Seen seen{outcome_of(db::one(std::move(rows)))};
  if (with_progress) seen.progress = progress_of(connection_->run(sql::TaskProgress{.task_id = id}));
  if (!seen.task.has_ended() && SteadyClock::now() >= announce_at_) {
    connection_->run(sql::AnnounceWait{.task_id = id});
    announce_at_ = SteadyClock::now() + between_announcements;
  }
  return seen;
}

/// Waits until a notification of the task's end, or until the time is over.
void TaskWait::wait_for_news(TaskId id, SteadyClock::time_point until) {
  try {
    for (auto now = SteadyClock::now(); now < until; now = SteadyClock::now()) {
      for (const db::Notification& ended : connection_->wait(std::chrono::ceil<milliseconds>(until - now), -1)) {
        if (ended.payload == std::to_string(id)) return;
      }
    }
  } catch (const ConnectionError&) {  // the next look connects again
    connection_.reset();
    std::this_thread::sleep_until(until);
  }
}

void TaskWait::connect() {
  if (connection_ && connection_->is_closed_by_server()) connection_.reset();
  try {
    if (!connection_) {
      listens_ = false;
      connection_.emplace(settings_.database);
      migrate::require_current(*connection_);
    }
    if (!listens_) connection_->listen(db::Channel::ended);
    listens_ = true;
  } catch (...) {  // half set up is no connection
    connection_.reset();
    throw;
  }
}

}  // namespace dogged
