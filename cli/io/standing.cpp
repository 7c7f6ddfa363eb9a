// Where tasks stand, and waiting for their end.
#include "cli/io/standing.hpp"

#include <algorithm>
#include <iterator>

#include "cli/io/interrupt.hpp"
#include "cli/io/task_rows.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};

TaskIds those_still_live(db::Connection& connection, const TaskIds& ids) {
  TaskIds live;
  for (const auto& [id] : connection.run(sql::LiveTasks{.ids = ids})) live.push_back(id);
  return live;
}

}  // namespace

Standings look_at(db::Connection& connection, const TaskIds& ids) {
  Standings standings;
  for (sql::TaskStatuses::Row& row : connection.run(sql::TaskStatuses{.ids = ids})) {
    standings[row.id] = {.name = std::move(row.name),
                         .status = status_of(row.status),
                         .attempt = row.attempt,
                         .worker = std::move(row.worker),
                         .due_at = time_from_microseconds(row.due_at_us),
                         .finished_at = time_from_microseconds(row.finished_at_us),
                         .result = std::move(row.result),
                         .error_code = std::move(row.error_code),
                         .error_message = std::move(row.error_message),
                         .now = time_from_microseconds(row.now_us)};
  }
  return standings;
}

void wait_for_end(db::Connection& connection, TaskIds ids, std::optional<milliseconds> longest,
                  const std::function<void(const TaskIds& ended, const Standings& standings)>& on_end) {
  stop_on_interrupt();
  std::sort(ids.begin(), ids.end());
  const auto begin = steady_clock::now();
  const auto left = [&] {
    const auto passed = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
    return longest ? std::max(*longest - passed, milliseconds{0}) : longest_pause;
  };
  for (milliseconds wait = first_pause; !ids.empty() && left() > milliseconds{0} && !was_interrupted();
       wait = std::min(2 * wait, longest_pause)) {
    pause(std::min(wait, left()));
    TaskIds live = those_still_live(connection, ids);
    TaskIds ended;
    std::set_difference(ids.begin(), ids.end(), live.begin(), live.end(), std::back_inserter(ended));
    if (!ended.empty()) on_end(ended, look_at(connection, ended));
    ids = std::move(live);
  }
}

}  // namespace dogged::cli
