// See claimer.hpp.
#include "claim/claimer.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/invariant.hpp"
#include "claim/core/queue_changes.hpp"
#include "claim/statements.hpp"
#include "client/log_event.hpp"
#include "db/errors.hpp"
#include "retry/operation_counts.hpp"
#include "sql/claim.hpp"
#include "tasks/definition.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::runtime {
namespace {

std::vector<std::string> names_of(const Definitions& definitions) {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions) names.push_back(name);
  return names;
}

std::vector<Outlet> outlets_of(const Executors& executors) {
  std::vector<Outlet> outlets;
  for (const auto& executor : executors.all()) outlets.push_back({executor.get(), executor->concurrency()});
  return outlets;
}

std::optional<milliseconds> due_in(const sql::Look::Row& seen) {
  return seen.due_in_ms ? std::optional{milliseconds{*seen.due_in_ms}} : std::nullopt;
}

}  // namespace

Claimer::Claimer(Service::Settings service, const Settings& settings, Surroundings around,
                 const std::shared_ptr<Tally>& tally, std::shared_ptr<spdlog::logger> log)
    : around_(std::move(around)),
      log_(std::move(log)),
      names_(names_of(*around_.definitions)),
      args_versions_(args_versions_of(*around_.definitions, names_)),
      queue_names_(around_.executors->queues()),
      outlets_(outlets_of(*around_.executors)),
      plan_(settings, queue_names_, SteadyClock::now()),
      giving_back_(*service.session, plan_, around_.lease->id(), *around_.circuits, tally, log_, queue_names_),
      handing_out_(*service.session, plan_, giving_back_, *around_.definitions, *around_.circuits, outlets_, log_),
      service_(std::move(service).woken_by(around_.inbox->wake())) {
  service_.start([this] { run(); });
}

void Claimer::run() {
  const auto next = [this] {
    hand_over_circuit_events();
    return next_action();
  };
  service_.run_plan(
      next, [this](const Action& action) { carry_out(action); }, [this](const std::exception& error) { fail(error); });
}

ClaimPlan::Action Claimer::next_action() {
  if (service_.is_stopping()) plan_.on_stopping();
  plan_.on_lease(around_.lease->get().state());
  plan_.on_told(around_.inbox->take(), SteadyClock::now());
  return plan_.next(SteadyClock::now(), capacity());
}

void Claimer::fail(const std::exception& error) {
  const bool connection_lost = dynamic_cast<const ConnectionError*>(&error) != nullptr;
  plan_.on_failure(connection_lost, SteadyClock::now());
  if (connection_lost) around_.circuits->forget();
}

ClaimPlan::Capacity Claimer::capacity() const {
  ClaimPlan::Capacity capacity;
  capacity.can_report = around_.completer->is_ready();
  capacity.backlog = around_.completer->backlog();
  for (const Outlet& outlet : outlets_) {
    capacity.demand.push_back(outlet.executor->demand());
    capacity.holds_waiting = capacity.holds_waiting || outlet.executor->has_waiting();
  }
  return capacity;
}

/// Every attempt that the worker knows to run under it. Some of these attempts may have ended a moment ago.
std::vector<Attempt> Claimer::held() const {
  std::vector<Attempt> attempts = around_.executors->held();
  const std::vector<Attempt> reports = around_.completer->held();  // last: a task that moves on meanwhile is found here
  attempts.insert(attempts.end(), reports.begin(), reports.end());
  return attempts;
}

/// The completer writes what this thread has noted of circuits.
void Claimer::hand_over_circuit_events() const {
  if (around_.circuits->writes_at() <= SteadyClock::now()) around_.completer->note_circuit_events();
}

void Claimer::carry_out(const Action& action) {
  using Step = ClaimPlan::Step;
  switch (action.step) {
    case Step::begin_session:
      return begin_session();
    case Step::listen:
      return listen();
    case Step::give_back_unknown:
      return giving_back_.release_unknown(held());
    case Step::give_back_paused:
      return give_back_paused(action.paused);
    case Step::give_back_stale:
      return give_back_stale();
    case Step::end_expired:
      return giving_back_.expire(around_.executors->take_expired());
    case Step::look_for_missed:
      return look_for_missed(action.queues);
    case Step::refresh_circuits:
      return around_.circuits->refresh(connection());
    case Step::follow_queues:
      return follow_queues();
    case Step::promote: {
      const auto promoted = connection().run(sql::Promote{.queues = queue_names_});
      return plan_.on_promoted(static_cast<std::size_t>(promoted), SteadyClock::now());
    }
    case Step::ask_due_time:
      return ask_due_time();
    case Step::wake_others:
      connection().run(sql::WakeOthers{.worker_id = around_.lease->id(), .queues = queue_names_});
      return plan_.on_others_woken();
    case Step::claim:
      return claim(action.queues);
    case Step::settle:
      return settle(action.question);
    case Step::sum_up:
      return sum_up();
    case Step::wake_up:
      connection().run(sql::WakeUp{.worker_id = around_.lease->id(), .claim_session = plan_.certainty().session()});
      return plan_.on_awake();
    case Step::fall_asleep:
      return fall_asleep();
    case Step::ask_oldest_transaction: {
      const auto [oldest] = db::one(connection().run(sql::OldestTransaction{}));
      return plan_.on_oldest_transaction(oldest, SteadyClock::now());
    }
    case Step::hear:
      return hear(action);
    case Step::end:
      return;
  }
}

/// Waits for claims and releases of earlier sessions that are under way. Claims and releases that arrive later change
/// nothing.
void Claimer::begin_session() {
  connection().run(sql::BeginClaimSession{.worker_id = around_.lease->id(), .claim_session = plan_.next_session()});
  plan_.on_session_begun(SteadyClock::now());
}

void Claimer::listen() {
  for (const auto channel : {db::Channel::wake, db::Channel::queues, db::Channel::circuits}) {
    connection().listen(channel);
  }
  plan_.on_listening(SteadyClock::now());
}

void Claimer::hear(const Action& action) {
  session().succeeded();  // every question before a wait is answered
  note_end_of_throttling();
  const TimePoint now = SteadyClock::now();
  const bool waits = action.until > now && around_.inbox->begin_wait(action.until, action.for_room);
  const auto patience = waits ? action.until - now : SteadyClock::duration{0};
  const std::vector<db::Notification> said = connection().wait(patience, service_.wake_fd());
  for (const db::Notification& notification : said) {
    switch (notification.channel) {
      case db::Channel::wake:
        plan_.on_notified(notification.payload, SteadyClock::now());
        break;
      case db::Channel::queues:
        plan_.on_queues_changed();
        break;
      case db::Channel::circuits:
        plan_.on_circuits_changed();
        break;
      default:  // not listened to
        break;
    }
  }
}

void Claimer::give_back_paused(const std::vector<std::size_t>& paused) {
  std::vector<ClaimedTask> not_begun;
  for (const std::size_t index : paused) {
    for (ClaimedTask& task : outlets_[index].executor->take_back()) not_begun.push_back(std::move(task));
  }
  if (!not_begun.empty()) giving_back_.release(not_begun);
}

void Claimer::give_back_stale() {
  const auto stale = around_.executors->take_back_older_than(ClaimPlan::longest_wait_for_thread);
  if (!stale.empty()) giving_back_.release(stale);
}

void Claimer::look_for_missed(const std::vector<QueueClaim>& drained) {
  const auto seen = db::one(connection().run(look_for(drained, names_, queue_names_, args_versions_)));
  plan_.on_missed(seen.has_ready, due_in(seen), SteadyClock::now());
}

void Claimer::ask_due_time() {
  const auto seen = db::one(connection().run(look_for({}, names_, queue_names_, args_versions_)));
  plan_.on_due_time(due_in(seen), SteadyClock::now());
}

void Claimer::follow_queues() {
  const TimePoint asked_at = SteadyClock::now();
  const auto all = read_queue_settings(connection(), queue_names_);
  plan_.on_following(asked_at);
  for (std::size_t i = 0; i < queue_names_.size(); ++i) {
    const auto found = all.find(queue_names_[i]);
    follow(i, found == all.end() ? QueueSettings{} : found->second, SteadyClock::now());
  }
}

void Claimer::follow(std::size_t index, const QueueSettings& settings, TimePoint now) {
  Outlet& outlet = outlets_[index];
  const std::string& queue = queue_names_[index];
  if (plan_.on_queue_settings(index, settings.is_paused, settings.resumes_in, now)) {
    if (settings.is_paused) {
      log_->log(event("queue_paused"), spdlog::level::info,
                "queue {} is paused{}: nothing is claimed from it, and what runs goes on", queue,
                settings.resumes_in ? " for " + duration_to_text(*settings.resumes_in) : std::string{});
    } else {
      log_->log(event("queue_resumed"), spdlog::level::info, "queue {} goes on", queue);
    }
  }
  const QueueTerms before{.concurrency = outlet.executor->concurrency(),
                          .retry_budget = outlet.retries ? std::optional{outlet.retries->settings()} : std::nullopt};
  const QueueChanges changes = changes_of(before, settings, outlet.own_concurrency);
  if (changes.concurrency) {
    change_concurrency(*outlet.executor, *changes.concurrency, settings);
  } else {
    outlet.executor->start_missing_threads();
  }
  if (changes.retry_budget) change_retry_budget(outlet, settings);
}

void Claimer::change_concurrency(Executor& executor, std::size_t concurrency, const QueueSettings& settings) {
  log_->log(event("concurrency_changed"), spdlog::level::info, "queue {}: runs {} at once from now on, not {}: {}",
            executor.queue(), counted(concurrency, "task"), executor.concurrency(),
            settings.concurrency ? "that is set for the queue" : "as this worker was started with");
  executor.set_concurrency(concurrency);
}

void Claimer::change_retry_budget(Outlet& outlet, const QueueSettings& settings) {
  outlet.retries = settings.retry_budget ? std::make_unique<RetryThrottle>(*settings.retry_budget) : nullptr;
  if (settings.retry_budget) {
    log_->log(event("retry_budget_changed"), spdlog::level::info,
              "queue {}: at most {} % of what begins are retries from now on, or {} a second", outlet.executor->queue(),
              100 * settings.retry_budget->share, settings.retry_budget->min_retries_per_second);
  } else {
    log_->log(event("retry_budget_changed"), spdlog::level::info, "queue {}: its retries are not bounded any more",
              outlet.executor->queue());
  }
}

void Claimer::note_end_of_throttling() {
  for (const Outlet& outlet : outlets_) {
    if (!outlet.retries) continue;
    if (const auto count = outlet.retries->take_end(SteadyClock::now())) {
      log_->log(event("retries_not_throttled"), spdlog::level::info,
                "queue {}: its retries are within their budget again; {} times one was deferred",
                outlet.executor->queue(), *count);
    }
  }
}

void Claimer::claim(const std::vector<QueueClaim>& claims) {
  sql::Claim claim = claim_of(around_.lease->id(), claims, names_, plan_.certainty().session(), args_versions_);
  const TimePoint asked_at = SteadyClock::now();
  auto tasks = counted_operation(QueueOperation::receive, no_label, [&] { return connection().run(std::move(claim)); });
  handing_out_.hand_out(claims, std::move(tasks), asked_at);
  session().succeeded();
}

void Claimer::settle(const Settling::Question& question) {
  sql::SettleWatermarks settle{.next_transaction = question.positions.next_transaction,
                               .queues = {},
                               .afters = {},
                               .uptos = {},
                               .names = names_,
                               .versions = args_versions_};
  for (const auto& [queue, range] : plan_.queues().unsettled(question.positions.last, question.from_beginning)) {
    settle.queues.push_back(queue_names_[queue]);
    settle.afters.push_back(range.after);
    settle.uptos.push_back(range.upto);
  }
  const TimePoint asked_at = SteadyClock::now();
  const std::vector<sql::SettleWatermarks::Row> parts = connection().run(std::move(settle));
  require_invariant(!parts.empty(), "the answer about watermarks has bounds, also where no part was asked for");
  std::vector<ServedQueues::Settled> settled;
  for (const sql::SettleWatermarks::Row& part : parts) {
    if (!part.settled) continue;
    const auto queue = std::find(queue_names_.begin(), queue_names_.end(), part.queue);
    require_invariant(queue != queue_names_.end(), "a settled part is of a queue that was asked for");
    settled.push_back({static_cast<std::size_t>(queue - queue_names_.begin()), *part.settled});
  }
  const sql::SettleWatermarks::Row& bounds = parts.front();
  plan_.on_settled(question, {bounds.oldest, bounds.next, bounds.last_position}, settled, asked_at, SteadyClock::now());
}

void Claimer::sum_up() {
  std::vector<std::int64_t> ids = plan_.certainty().unreleased();
  for (const Attempt& attempt : held()) ids.push_back(attempt.id);
  const auto sum = connection().run(sql::SumUpClaims{.worker_id = around_.lease->id(),
                                                     .claim_session = plan_.certainty().session(),
                                                     .from_claim = plan_.sum().last_entry(),
                                                     .ids = std::move(ids)});
  plan_.on_summed_up(sum.empty() ? 0 : sum.front().id, SteadyClock::now());
}

void Claimer::fall_asleep() {
  connection().run(sql::FallAsleep{.worker_id = around_.lease->id()});
  const auto [oldest, next] = db::one(connection().run(sql::TransactionBounds{}));
  plan_.on_asleep({oldest, next}, SteadyClock::now());
}

bool Claimer::give_back(const std::vector<ClaimedTask>& tasks, TimePoint until) {
  service_.expect_answers_within(std::chrono::duration_cast<milliseconds>(until - SteadyClock::now()));
  LastRelease last{!tasks.empty(), until};
  LastRelease::Action action = last.next(plan_.certainty(), SteadyClock::now());
  while (action.step != LastRelease::Step::given_back && action.step != LastRelease::Step::given_up) {
    try {
      carry_out(action, last, tasks);
    } catch (const std::exception& error) {
      if (db::is_defect(error)) {
        log_->log(event("give_back_failed"), spdlog::level::err,
                  "claimer: {}; the tasks that it holds are left to be rescued", error.what());
        service_.note_defect(std::current_exception());
        return false;
      }
      plan_.on_failure(dynamic_cast<const ConnectionError*>(&error) != nullptr, SteadyClock::now());
      session().recover_from(error, {});
    }
    hand_over_circuit_events();
    action = last.next(plan_.certainty(), SteadyClock::now());
  }
  return action.step == LastRelease::Step::given_back;
}

void Claimer::carry_out(const LastRelease::Action& action, LastRelease& last, const std::vector<ClaimedTask>& tasks) {
  switch (action.step) {
    case LastRelease::Step::begin_session:
      return begin_session();
    case LastRelease::Step::release: {
      const GivingBack::Attempts not_released = giving_back_.send_release(tasks);
      last.on_released();  // before anything else can fail
      return giving_back_.note_released(tasks, not_released);
    }
    case LastRelease::Step::give_back_unknown:
      return giving_back_.release_unknown(held());
    case LastRelease::Step::wait:
      return session().pause(std::chrono::ceil<milliseconds>(action.until - SteadyClock::now()), {});
    case LastRelease::Step::given_back:
    case LastRelease::Step::given_up:
      return;
  }
}

}  // namespace dogged::runtime
