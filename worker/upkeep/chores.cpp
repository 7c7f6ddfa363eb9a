// See chores.hpp.
#include "upkeep/chores.hpp"

#include <utility>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "sql/retention.hpp"

namespace dogged::runtime {

Chores::Chores(Service::Settings service, const Settings& settings, std::shared_ptr<spdlog::logger> log)
    : settings_(settings), log_(std::move(log)), service_(std::move(service)) {
  service_.start([this] { run(); });
}

void Chores::run() {
  TimePoint due_at = SteadyClock::now() + settings_.first;
  while (!service_.is_stopping()) {
    if (service_.wait_until(due_at)) continue;
    try {
      make_partitions();
      const bool is_complete = apply_retention();
      tidy_left_rows();
      due_at = SteadyClock::now() + (is_complete ? settings_.interval : settings_.again_if_left);
      service_.session().succeeded();
      service_.session().close();
    } catch (const std::exception& error) {
      service_.session().close();
      service_.recover_from(error);
    }
  }
}

void Chores::make_partitions() {
  const auto [made] = db::one(service_.session().connection().run(sql::MakePartitions{}));
  if (made > 0)
    log_->log(event("partitions_made"), spdlog::level::debug, "made {} partitions for the coming days", made);
}

bool Chores::apply_retention() {
  // Until a round comes to its end: thinning that was postponed or broke off need not wait for the next day that is
  // dropped.
  const retention::Extent extent = std::exchange(extent_, retention::Extent::everything);
  bool is_complete = true;
  bool is_thinned = true;
  const auto goes_on = [this] { return !service_.is_stopping(); };
  for (const retention::Step& step : retention::apply(service_.session().connection(), extent, goes_on)) {
    is_complete = is_complete && step.is_done();
    is_thinned = is_thinned && (step.is_done() || !step.is_thinning);
    if (step.what == "workers") {
      log_->log(event("retention"), spdlog::level::info, "retention: forgot {} workers that ended long ago",
                *step.rows);
    } else if (!step.is_done()) {
      log_->log(event("retention"), spdlog::level::debug, "retention: {} is {}", step.what, step.outcome);
    } else if (step.rows.value_or(0) > 0) {
      log_->log(event("retention"), spdlog::level::info, "retention: {} {}; {} rows that are kept longer stay",
                step.outcome, step.what, *step.rows);
    } else {
      log_->log(event("retention"), spdlog::level::info, "retention: {} {}", step.outcome, step.what);
    }
  }
  if (is_thinned && goes_on()) extent_ = retention::Extent::days;
  return is_complete;
}

void Chores::tidy_left_rows() {
  while (!service_.is_stopping()) {
    const auto [calls, keys] = db::one(service_.session().connection().run(sql::TidyLeftRows{}));
    if (calls == 0 && keys == 0) return;
  }
}

}  // namespace dogged::runtime
