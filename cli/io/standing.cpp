// Where tasks stand, and waiting for their end.
#include "cli/io/standing.hpp"

#include <algorithm>
#include <iterator>

#include "cli/io/interrupt.hpp"
#include "cli/io/task_rows.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};

TaskIds those_still_live(db::Connection& connection, const TaskIds& ids) {
  TaskIds live;
  for (const db::Row& row : connection.run(sql::live_tasks, db::Params{}.add(ids))) live.push_back(row.number("id"));
  return live;
}

}  // namespace

Standings look_at(db::Connection& connection, const TaskIds& ids) {
  Standings standings;
  for (const db::Row& row : connection.run(sql::task_statuses, db::Params{}.add(ids))) {
    standings[row.number("id")] = {.name = std::string{row.text("name")},
                                   .status = status_of(row),
                                   .attempt = static_cast<int>(row.number("attempt")),
                                   .worker = row.maybe_text("worker"),
                                   .due_at = maybe_time_of(row, "due_at_us"),
                                   .finished_at = maybe_time_of(row, "finished_at_us"),
                                   .result = row.maybe_text("result"),
                                   .error_code = row.maybe_text("error_code"),
                                   .error_message = row.maybe_text("error_message"),
                                   .now = time_of(row, "now_us")};
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
