// See retention.hpp.
#include "retention/retention.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "db/connection.hpp"
#include "sql/retention.hpp"

namespace dogged::retention {
namespace {

/// `outcome`: as drop_oldest_day.sql and thin_kept_day.sql give it. Nothing: no day was due.
std::optional<Outcome> outcome_of(std::string_view outcome) {
  if (outcome == "nothing") return std::nullopt;
  for (const Outcome known : {Outcome::dropped, Outcome::thinned, Outcome::postponed, Outcome::busy}) {
    if (outcome == to_text(known)) return known;
  }
  throw std::logic_error("an outcome of retention that is none: " + std::string{outcome});
}

class Round {
 public:
  Round(db::Connection& connection, const std::function<bool()>& goes_on)
      : connection_(connection), goes_on_(goes_on) {}

  void drop_days(const std::string& table) {
    while (goes_on_()) {
      if (!note_day(db::one(connection_.run(sql::DropOldestDay{.table = table})), table)) return;
      if (!steps.back().is_done()) return;
    }
  }

  void thin_kept_days(const std::string& table) {
    if (!goes_on_()) return;
    for (const auto& [day] : connection_.run(sql::KeptDaysToThin{.table = table})) {
      if (!goes_on_()) return;
      if (note_day(db::one(connection_.run(sql::ThinKeptDay{.table = table, .day = day})), table)) {
        steps.back().is_thinning = true;
      }
    }
  }

  void forget_workers() {
    if (!goes_on_()) return;
    note_forgotten("workers", db::one(connection_.run(sql::ForgetWorkers{})).forgotten);
  }

  void forget_steps() {
    if (!goes_on_()) return;
    note_forgotten("waits and checkpoints", db::one(connection_.run(sql::ForgetSteps{})).forgotten);
  }

  std::vector<Step> steps;

 private:
  /// `day`: a row of drop_oldest_day.sql or thin_kept_day.sql. False if no day was due.
  template <class Row>
  bool note_day(const Row& day, const std::string& table) {
    const std::optional<Outcome> outcome = outcome_of(day.outcome);
    if (outcome) steps.push_back({.what = day.partition.value_or(table), .outcome = *outcome, .rows = day.rows_kept});
    return outcome.has_value();
  }

  void note_forgotten(const char* rows, std::int64_t count) {
    if (count > 0) steps.push_back({.what = rows, .outcome = Outcome::forgotten, .rows = count});
  }

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

std::string_view to_text(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::dropped:
      return "dropped";
    case Outcome::thinned:
      return "thinned";
    case Outcome::forgotten:
      return "forgotten";
    case Outcome::postponed:
      return "postponed";
    case Outcome::busy:
      break;
  }
  return "busy";
}

std::ostream& operator<<(std::ostream& out, Outcome outcome) { return out << to_text(outcome); }

}  // namespace dogged::retention
