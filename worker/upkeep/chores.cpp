// See chores.hpp.
#include "upkeep/chores.hpp"

#include <string>
#include <utility>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "retention/retention.hpp"
#include "sql/retention.hpp"
#include "text/counted.hpp"

namespace dogged::runtime {
namespace {

std::string text_of(const retention::Step& step) {
  const std::string outcome{to_text(step.outcome)};
  switch (step.outcome) {
    case retention::Outcome::dropped:
    case retention::Outcome::thinned:
      return outcome + " " + step.what +
             (step.rows.value_or(0) > 0 ? "; " + counted(*step.rows, "row") + " kept longer" : "");
    case retention::Outcome::forgotten:
      return outcome + " " + counted(step.rows.value_or(0), "row") + " of " + step.what;
    case retention::Outcome::postponed:
    case retention::Outcome::busy:
      break;
  }
  return step.what + " is " + outcome;
}

}  // namespace

Chores::Chores(Service::Settings service, const ChoresPlan::Settings& settings, std::shared_ptr<spdlog::logger> log)
    : log_(std::move(log)), plan_(settings, SteadyClock::now()), service_(std::move(service)) {
  service_.start([this] { run(); });
}

void Chores::run() {
  const auto next = [this] {
    if (service_.is_stopping()) plan_.on_stopping();
    return plan_.next(SteadyClock::now());
  };
  const auto fail = [this](const std::exception&) {
    plan_.on_failure();
    service_.session().close();
  };
  service_.run_plan(
      next, [this](const ChoresPlan::Action& action) { carry_out(action); }, fail);
}

void Chores::carry_out(const ChoresPlan::Action& action) {
  switch (action.step) {
    case ChoresPlan::Step::wait:
      (void)service_.wait_until(action.until);
      return;
    case ChoresPlan::Step::make_partitions:
      return make_partitions();
    case ChoresPlan::Step::apply_retention:
      return apply_retention(action.extent);
    case ChoresPlan::Step::tidy:
      return tidy();
    case ChoresPlan::Step::disconnect:
      service_.session().succeeded();
      service_.session().close();
      return plan_.on_disconnected();
    case ChoresPlan::Step::end:
      return;
  }
}

void Chores::make_partitions() {
  const auto [made] = db::one(service_.session().connection().run(sql::MakePartitions{}));
  if (made > 0)
    log_->log(event("partitions_made"), spdlog::level::debug, "made {} partitions for the coming days", made);
  plan_.on_partitions_made();
}

void Chores::apply_retention(retention::Extent extent) {
  const auto goes_on = [this] { return !service_.is_stopping(); };
  const std::vector<retention::Step> steps = retention::apply(service_.session().connection(), extent, goes_on);
  for (const retention::Step& step : steps) {
    log_->log(event("retention"), step.is_done() ? spdlog::level::info : spdlog::level::debug, "retention: {}",
              text_of(step));
  }
  plan_.on_retention_applied(steps);
}

void Chores::tidy() {
  const auto [calls, keys] = db::one(service_.session().connection().run(sql::TidyLeftRows{}));
  plan_.on_tidied(calls > 0 || keys > 0, SteadyClock::now());
}

}  // namespace dogged::runtime
