// See retention.hpp.
#include "retention/retention.hpp"

#include <algorithm>
#include <array>

#include "db/connection.hpp"
#include "sql/retention.hpp"

namespace dogged::retention {
namespace {

/// From a row of drop_oldest_day.sql or thin_kept_day.sql.
template <class Row>
Step step_of(const Row& day, const std::string& table) {
  return {day.partition.value_or(table), day.outcome, day.rows_kept};
}

class Round {
 public:
  Round(db::Connection& connection, const std::function<bool()>& goes_on)
      : connection_(connection), goes_on_(goes_on) {}

  void drop_days(const std::string& table) {
    while (goes_on_()) {
      Step step = step_of(db::one(connection_.run(sql::DropOldestDay{.table = table})), table);
      if (step.outcome == "nothing") return;
      steps.push_back(std::move(step));
      if (!steps.back().is_done()) return;
    }
  }

  void thin_kept_days(const std::string& table) {
    if (!goes_on_()) return;
    for (const auto& [day] : connection_.run(sql::KeptDaysToThin{.table = table})) {
      if (!goes_on_()) return;
      Step step = step_of(db::one(connection_.run(sql::ThinKeptDay{.table = table, .day = day})), table);
      step.is_thinning = true;
      if (step.outcome != "nothing") steps.push_back(std::move(step));
    }
  }

  void forget_workers() {
    if (!goes_on_()) return;
    const auto [forgotten] = db::one(connection_.run(sql::ForgetWorkers{}));
    if (forgotten > 0) steps.push_back({"workers", "forgotten", forgotten});
  }

  void forget_steps() {
    if (!goes_on_()) return;
    const auto [forgotten] = db::one(connection_.run(sql::ForgetSteps{}));
    if (forgotten > 0) steps.push_back({"waits and checkpoints", "forgotten", forgotten});
  }

  std::vector<Step> steps;

 private:
  db::Connection& connection_;
  const std::function<bool()>& goes_on_;
};

}  // namespace

std::vector<Step> apply(db::Connection& connection, Extent extent, const std::function<bool()>& goes_on) {
  Round round{connection, goes_on};
  // Tasks before attempts, so that the attempts of those that go are not copied first.
  constexpr std::array tables{"tasks_done", "tasks_failed", "task_attempts", "task_steps"};
  for (const char* table : tables) round.drop_days(table);
  round.drop_days("schedule_ticks");
  round.drop_days("events");
  const bool has_dropped =
      std::any_of(round.steps.begin(), round.steps.end(), [](const Step& step) { return step.is_done(); });
  if (has_dropped || extent == Extent::everything) {
    for (const char* table : tables) round.thin_kept_days(table);
    round.forget_workers();
    round.forget_steps();
  }
  return std::move(round.steps);
}

}  // namespace dogged::retention
