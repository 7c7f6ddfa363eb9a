// See upkeep.hpp.
#include "upkeep.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "rescue.hpp"
#include "retry/duration.hpp"
#include "sql_statements.hpp"
#include "worker_row.hpp"

namespace dogged::runtime {
namespace {

constexpr std::chrono::hours chores_interval{1};
constexpr milliseconds rescue_while_locked{250};  // what is to be rescued is locked by someone
constexpr milliseconds shortest_until_lapse{50};
// What expires: tasks whose transaction was longer under way are found when all are looked at.
constexpr milliseconds longest_late_commit{60'000};
constexpr std::chrono::minutes between_looks_at_all{10};
constexpr std::chrono::minutes longest_between_comparisons{10};
constexpr int heartbeats_between_looks = 6;  // of a worker that two others came before

/// By a row of differing_definitions.sql.
Declaration declaration_of(const db::Row& row) {
  Declaration stored;
  stored.rules.policy = policy_from_json(row.text("retry_policy"));
  for (const auto& code : nlohmann::json::parse(row.text("auto_retry_for"))) {
    stored.rules.auto_retry_for.push_back(code.get<std::string>());
  }
  stored.rules.retry_lost = row.boolean("retry_lost");
  stored.rules.max_losses = static_cast<int>(row.number("max_losses"));
  stored.rules.dead_letter = row.boolean("dead_letter");
  stored.policy_text = policy_to_text(stored.rules.policy);
  nlohmann::json::parse(row.text("retry_sources")).get_to(stored.sources);
  return stored;
}

}  // namespace

Upkeep::Upkeep(Session session, Settings settings, const Lease& lease, const Definitions& definitions,
               std::function<void()> on_rescued, std::shared_ptr<spdlog::logger> log)
    : session_(std::move(session)),
      settings_(settings),
      lease_(lease),
      definitions_(definitions),
      on_rescued_(std::move(on_rescued)),
      log_(std::move(log)),
      chores_at_(SteadyClock::now() + settings.first_chores),  // the worker has made partitions before it began
      may_end_leases_at_(SteadyClock::now() + (settings.lets_others_renew ? settings.heartbeat : milliseconds{0})),
      look_at_(SteadyClock::now()) {
  thread_.start([this] { run(); });
}

Upkeep::~Upkeep() { stop(); }

void Upkeep::look() {
  {
    const std::scoped_lock lock{mutex_};
    woken_ = true;
  }
  changed_.notify_all();
}

void Upkeep::stop() {
  stop_.request_stop();
  look();
  thread_.join(session_, std::chrono::seconds{1});
}

void Upkeep::run() {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    try {
      if (step()) session_.succeeded();
    } catch (const std::exception& error) {
      session_.recover_from(error, stop);
      // Others have lost the server as well, perhaps: they get the time to renew their leases before any is ended.
      may_end_leases_at_ = SteadyClock::now() + settings_.heartbeat;
      look_at_ = SteadyClock::now();
      must_compare_ = true;  // workers may have begun meanwhile
    }
  }
}

bool Upkeep::step() {
  {
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, look_at_, [this] { return woken_ || stop_.stop_requested(); });
    must_compare_ = std::exchange(woken_, false) || must_compare_;
  }
  if (stop_.stop_requested()) return false;
  const std::optional<Outlook> found = rescue();
  if (!found) return false;
  expire(*found);
  if (SteadyClock::now() >= chores_at_) do_chores();
  // A worker registers a moment before it declares its tasks.
  const auto since_compared = SteadyClock::now() - compared_at_;
  if (must_compare_ || since_compared >= longest_between_comparisons ||
      found->newest_began_ago < since_compared + 2 * heartbeats_between_looks * settings_.heartbeat) {
    compare_definitions();
    compared_at_ = found->asked_at;
    must_compare_ = false;
  }
  return true;
}

std::optional<Upkeep::Outlook> Upkeep::rescue() {
  if (SteadyClock::now() < may_end_leases_at_) {
    (void)session_.connection();  // the time counts from when the server is back
    look_at_ = may_end_leases_at_;
    return std::nullopt;
  }
  Rescued rescued;
  Outlook next = outlook();
  bool lets_renew = false;
  if (next.has_lapsed()) {
    lets_renew = lets_others_renew();
  } else {
    put_off_at_.reset();
  }
  if (next.has_to_rescue || (next.has_lapsed() && !lets_renew)) {
    if (!lets_renew) end_lapsed_leases(session_.connection(), lease_.id(), *log_);
    rescued = rescue_lost_tasks(session_.connection(), lease_.id(), *log_);
    if (rescued.tasks > 0) on_rescued_();
    next = outlook();
  }
  const milliseconds longest = (next.comes_first ? 1 : heartbeats_between_looks) * settings_.heartbeat;
  milliseconds wait = longest;
  if (!rescued.all) {
    wait = rescue_while_locked;
  } else if (lets_renew) {
    wait = settings_.heartbeat;
  } else if (next.lapses_in) {  // one that has lapsed and was not ended is held up by a claim under way
    wait = std::clamp(*next.lapses_in + milliseconds{1}, std::min(shortest_until_lapse, longest), longest);
  }
  look_at_ = SteadyClock::now() + wait;
  return next;
}

/// Where this worker has not had the server for a while, or has stood still itself, the others may have fared alike:
/// they get a heartbeat's time, and until its own lease was renewed once more. Once for each time that leases are found
/// lapsed: it may be that it always takes so long.
bool Upkeep::lets_others_renew() {
  const auto now = SteadyClock::now();
  if (!put_off_at_) {
    if (lease_.is_renewed_steadily(now, settings_.heartbeat)) return false;
    put_off_at_ = now;
    log_->info(
        "leases of other workers have lapsed; this worker's own was not renewed in time either: they get at least {} "
        "to renew them",
        duration_to_text(settings_.heartbeat));
    return true;
  }
  return now < *put_off_at_ + settings_.heartbeat || lease_.renewed_at() < *put_off_at_;
}

Upkeep::Outlook Upkeep::outlook() {
  Outlook found;
  found.asked_at = SteadyClock::now();
  if (found.asked_at < expire_all_at_) {
    found.look_back_ms = std::chrono::ceil<milliseconds>(found.asked_at - expired_at_ + longest_late_commit).count();
  }
  const db::Rows rows =
      session_.connection().run(sql::upkeep_due, db::Params{}.add(lease_.id()).add(found.look_back_ms));
  const db::Row row = rows.one();
  found.has_to_rescue = row.boolean("has_to_rescue");
  if (const auto ms = row.maybe_number("lapses_in_ms")) found.lapses_in = milliseconds{*ms};
  found.has_expired = row.boolean("has_expired");
  found.comes_first = row.boolean("comes_first");
  found.newest_began_ago = milliseconds{row.maybe_number("newest_began_ms_ago").value_or(0)};
  return found;
}

/// Tasks that wait, in whatever queue, and whose time is over. Not later than a heartbeat of the first workers after
/// it.
void Upkeep::expire(const Outlook& found) {
  std::map<std::pair<std::string, std::string>, std::size_t> expired;
  while (found.has_expired && !stop_.stop_requested()) {
    const db::Rows batch = session_.connection().run(sql::expire, db::Params{}.add(found.look_back_ms));
    for (const db::Row& row : batch) ++expired[{std::string{row.text("name")}, std::string{row.text("queue")}}];
    if (batch.empty()) break;
    if (SteadyClock::now() >= look_at_) (void)rescue();  // there may be very many
  }
  expired_at_ = found.asked_at;
  if (!found.look_back_ms) expire_all_at_ = found.asked_at + between_looks_at_all;
  for (const auto& [task, count] : expired) {
    log_->info("event=expired name={} queue={} tasks={}", task.first, task.second, count);
  }
}

void Upkeep::do_chores() {
  chores_at_ = SteadyClock::now() + settings_.chores_again;  // before one may fail: then the rest goes on meanwhile
  const auto made = session_.connection().run(sql::make_partitions).one().number("made");
  if (made > 0) log_->debug("made {} partitions for the coming days", made);
  while (!stop_.stop_requested() && session_.connection().run(sql::tidy_producer_calls).one().number("forgotten") > 0) {
  }
  if (apply_retention()) chores_at_ = SteadyClock::now() + chores_interval;
}

bool Upkeep::apply_retention() {
  const auto goes_on = [this] {
    if (SteadyClock::now() >= look_at_) (void)rescue();  // a round may be long
    return !stop_.stop_requested();
  };
  // Until a round comes to its end: thinning that was put off, or broke off, need not wait for the next day that is
  // dropped.
  const retention::Extent extent = std::exchange(retention_extent_, retention::Extent::everything);
  bool is_complete = true;
  bool is_thinned = true;
  for (const retention::Step& step : retention::apply(session_.connection(), extent, goes_on)) {
    is_complete = is_complete && step.is_done();
    is_thinned = is_thinned && (step.is_done() || !step.is_thinning);
    if (step.what == "workers") {
      log_->info("retention: forgot {} workers that ended long ago", *step.rows);
    } else if (!step.is_done()) {
      log_->debug("retention: {} is {}", step.what, step.outcome);
    } else if (step.rows.value_or(0) > 0) {
      log_->info("retention: {} {}; {} rows that are kept longer stay", step.outcome, step.what, *step.rows);
    } else {
      log_->info("retention: {} {}", step.outcome, step.what);
    }
  }
  if (is_thinned && !stop_.stop_requested()) retention_extent_ = retention::Extent::days;
  return is_complete;
}

/// The newest declaration of a task counts for all workers, so that what becomes of a failure does not depend on which
/// of them ran it.
void Upkeep::compare_definitions() {
  std::set<std::string> differing;
  for (const db::Row& row : session_.connection().run(sql::differing_definitions, definition_params(definitions_))) {
    const std::string name{row.text("name")};
    differing.insert(name);
    Declaration stored;
    try {
      stored = declaration_of(row);
    } catch (const std::exception& error) {
      if (unreadable_.insert(name).second) {
        log_->warn(
            "task {}: its declaration by a worker of version {} cannot be read here, and does not count here: {}", name,
            row.text("version"), error.what());
      }
      continue;
    }
    unreadable_.erase(name);
    InForce& in_force = *definitions_.find(name)->second.in_force;
    if (decide_alike(stored, in_force.current())) continue;
    log_->warn(
        "task {}: a worker of version {} that started later declares it differently; its declaration counts from now "
        "on, here as well: {}",
        name, row.text("version"), stored.to_text());
    in_force.replace_by(std::move(stored));
    adopted_.insert(name);
  }
  for (auto name = adopted_.begin(); name != adopted_.end();) {
    if (differing.contains(*name)) {
      ++name;
      continue;
    }
    const Definition& definition = definitions_.find(*name)->second;
    log_->info("task {}: this worker's own declaration counts again: {}", *name, definition.declared.to_text());
    definition.in_force->replace_by(definition.declared);
    name = adopted_.erase(name);
  }
}

}  // namespace dogged::runtime
