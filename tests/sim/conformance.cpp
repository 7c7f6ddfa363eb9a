// See conformance.hpp.
#include "conformance.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <dogged/error.hpp>

#include "claim/queue_settings.hpp"
#include "claim/statements.hpp"
#include "comparison.hpp"
#include "lease/who_holds.hpp"
#include "report/completion.hpp"
#include "sql/claim.hpp"
#include "sql/lease.hpp"
#include "sql/registration.hpp"
#include "sql/report.hpp"
#include "sql/upkeep.hpp"
#include "upkeep/rescue.hpp"

namespace dogged::sim {
namespace {

using runtime::QueueClaim;

std::string claimed(TaskId id, int attempt, int retry_count, int losses, int snoozes, runtime::Place place,
                    std::optional<std::int64_t> expires_in_minutes, const std::string& args) {
  return std::to_string(id) + "/" + std::to_string(attempt) + " retries " + std::to_string(retry_count) + " losses " +
         std::to_string(losses) + " snoozes " + std::to_string(snoozes) + " at " + std::to_string(place) +
         " expires in " + shown(expires_in_minutes) + " args " + args;
}

lifecycle::Transition transition(lifecycle::Status status, lifecycle::Outcome outcome) {
  return {.status = status, .outcome = outcome, .retry_count = 0, .losses = 0};
}

/// A status or an outcome; empty if there is none.
template <class Value>
std::string name_of(const std::optional<Value>& value) {
  return value ? std::string{to_text(*value)} : "";
}

/// Each with one thread.
std::string as_json(const Queues& queues) {
  std::string text = "{";
  for (const std::string& queue : queues) text += (text.size() > 1 ? ", \"" : "\"") + queue + "\": 1";
  return text + "}";
}

}  // namespace

Comparison::Comparison(const std::string& url, std::uint64_t seed, Mutant mutant)
    : scheduler_(seed),
      model_(scheduler_, mutant, tasks_at_once_in_postgres),
      postgres_({.url = url, .prepares = true}),
      producer_({.url = url}),
      locker_({.url = url}),
      emitter_({.url = url}),
      circuit_locker_({.url = url}),
      listener_({.url = url}) {
  model_.on_notify = [this](std::int64_t, const std::string&) { model_notified_ = true; };
  model_.on_cancel = [this](std::int64_t worker) { model_told_to_cancel_.insert(std::to_string(worker)); };
  model_.on_circuit_changed = [this](const std::string& name) { model_told_of_circuits_.insert(name); };
  model_.jitter_of = [this](TimePoint tick, milliseconds most) { return jitter_in_postgres(tick, most); };
  for (const db::Channel channel : {db::Channel::wake, db::Channel::cancel, db::Channel::circuits})
    listener_.listen(channel);
  // Only an idle connection of this comparison can hold the lock, so a statement that waits for it would never end.
  for (db::Connection* connection : {&postgres_, &producer_, &locker_, &emitter_, &circuit_locker_}) {
    connection->run({"limit_waits", "set lock_timeout = '2s'"});
  }
  sql::PublishDefinitions work{};
  work.version = "0";
  for (std::size_t i = 0; i < task_names.size(); ++i) {
    const lifecycle::Rules& rules = rules_of(i == 0 ? Kind::plain : Kind::fragile);
    work.names.push_back(task_names[i]);
    work.queues.emplace_back("default");
    work.retry_policies.emplace_back(R"({"policy":"none"})");
    work.auto_retry_for.emplace_back("[]");
    work.timeouts_ms.emplace_back(std::nullopt);
    work.retry_lost.push_back(rules.retry_lost);
    work.max_losses.push_back(rules.max_losses);
    work.max_snoozes.push_back(rules.max_snoozes);
    work.dead_letter.push_back(rules.dead_letter);
    work.circuits.emplace_back(std::nullopt);
    work.retry_sources.emplace_back("{}");
    work.redact.emplace_back("[]");
    work.args_versions.push_back(args_versions[i]);
  }
  for (const std::string& queue : queue_names) {
    (void)postgres_.run({"create_queue", "select dogged.create_queue($1::text)"}, db::Params{}.add(queue));
  }
  postgres_.run(work);
  publish_circuits();
  choose_kinds();
  register_worker();
}

void Comparison::choose_kinds() {
  // Every run has these. Without them most other kinds would never fit, and an open transaction would stay open.
  kinds_ = {{12, &Comparison::enqueue}, {8, &Comparison::end_transaction}, {4, &Comparison::end_emit},
            {14, &Comparison::claim},   {4, &Comparison::unlock},          {4, &Comparison::let_time_pass}};
  static constexpr std::pair<std::int64_t, Step> others[] = {{6, &Comparison::cancel},
                                                             {4, &Comparison::reschedule},
                                                             {4, &Comparison::replay},
                                                             {3, &Comparison::register_worker},
                                                             {5, &Comparison::heartbeat},
                                                             {3, &Comparison::begin_claim_session},
                                                             {4, &Comparison::release_unknown},
                                                             {6, &Comparison::release},
                                                             {14, &Comparison::complete},
                                                             {5, &Comparison::who_holds},
                                                             {4, &Comparison::promote},
                                                             {5, &Comparison::look},
                                                             {5, &Comparison::fall_asleep},
                                                             {2, &Comparison::wake_up},
                                                             {3, &Comparison::ask_transactions},
                                                             {4, &Comparison::sum_up_claims},
                                                             {5, &Comparison::settle_watermarks},
                                                             {4, &Comparison::ask_upkeep},
                                                             {3, &Comparison::end_lapsed_leases},
                                                             {4, &Comparison::rescue},
                                                             {4, &Comparison::lock},
                                                             {3, &Comparison::expire},
                                                             {3, &Comparison::expire_claimed},
                                                             {3, &Comparison::pause},
                                                             {1, &Comparison::stop_worker},
                                                             {4, &Comparison::complete_in},
                                                             {5, &Comparison::ask_for_record},
                                                             {2, &Comparison::ask_for_names},
                                                             {6, &Comparison::record_step},
                                                             {2, &Comparison::ask_for_checkpoint},
                                                             {3, &Comparison::save_checkpoint},
                                                             {3, &Comparison::step_in},
                                                             {10, &Comparison::wait_durably},
                                                             {8, &Comparison::emit},
                                                             {16, &Comparison::enqueue_unique},
                                                             {6, &Comparison::set_schedule},
                                                             {2, &Comparison::pause_schedule},
                                                             {2, &Comparison::backfill_schedule},
                                                             {4, &Comparison::fire_due_ticks},
                                                             {5, &Comparison::ask_circuit},
                                                             {6, &Comparison::report_to_circuit},
                                                             {1, &Comparison::change_circuit_by_hand},
                                                             {2, &Comparison::lock_circuit},
                                                             {5, &Comparison::defer},
                                                             {4, &Comparison::defer_ready},
                                                             {1, &Comparison::set_queue},
                                                             {4, &Comparison::write_progress},
                                                             {4, &Comparison::declare_schedule},
                                                             {5, &Comparison::make_call},
                                                             {2, &Comparison::read_circuits}};
  for (const auto& [often, kind] : others) kinds_.emplace_back(often * scheduler_.pick(0, 2), kind);
}

void Comparison::step() {
  last_position_before_ = model_.last_position();
  const std::size_t noted = trace_.size();
  while (trace_.size() == noted) any_step();
  compare_all();
}

void Comparison::take_lapsed_name() {
  static_assert(2 * step_of_time > lease);
  // let_time_pass does nothing during a transaction, an emit or a lock.
  end_transaction();
  end_emit();
  if (locked_circuit_) unlock_circuit();
  unlock();
  let_time_pass();
  let_time_pass();
  for (const auto& [id, worker] : model_.workers()) {
    if (worker.lease_ended || worker.stopped) continue;
    register_as(std::string{worker.name}, std::nullopt);
    return compare_all();
  }
}

void Comparison::compare_all() {
  compare_tasks();
  compare_lines();
  compare_notifications();
}

void Comparison::any_step() {
  std::int64_t all = 0;
  for (const auto& [often, kind] : kinds_) all += often;
  std::int64_t picked = scheduler_.pick(1, all);
  for (const auto& [often, kind] : kinds_) {
    picked -= often;
    if (picked <= 0) return (this->*kind)();
  }
}

// ---- choices -------------------------------------------------------------------------------------------------------

std::int64_t Comparison::any_worker() {
  const auto& workers = model_.workers();
  return std::next(workers.begin(), scheduler_.pick(0, static_cast<std::int64_t>(workers.size()) - 1))->first;
}

std::optional<TaskId> Comparison::any_task() {
  return any_task([](const Task&) { return true; });
}

std::optional<TaskId> Comparison::any_task(Task::State state) {
  return any_task([state](const Task& task) { return task.state == state; });
}

std::optional<TaskId> Comparison::any_dead_letter() {
  return any_task([](const Task& task) { return task.ended_as == "failed"; });
}

template <class Fits>
std::optional<TaskId> Comparison::any_task(Fits fits) {
  std::vector<TaskId> ids;
  for (const auto& [id, task] : model_.tasks()) {
    if (fits(task)) ids.push_back(id);
  }
  if (ids.empty()) return std::nullopt;
  return ids[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(ids.size()) - 1))];
}

const std::string& Comparison::any_queue() {
  return queue_names[static_cast<std::size_t>(scheduler_.pick(0, static_cast<std::int64_t>(queue_names.size()) - 1))];
}

Queues Comparison::some_queues() {
  Queues queues{any_queue()};
  for (const std::string& queue : queue_names) {
    if (scheduler_.chance(60)) queues.insert(queue);
  }
  return queues;
}

/// Mostly the present one.
std::int64_t Comparison::session_of(std::int64_t worker) {
  const std::int64_t session = model_.workers().at(worker).claim_session;
  return scheduler_.chance(80) ? session : std::max<std::int64_t>(0, session + scheduler_.pick(-1, 1));
}

/// Of running tasks, mostly with their right attempts.
std::vector<Attempt> Comparison::some_attempts() {
  std::vector<Attempt> attempts;
  for (const auto& [id, task] : model_.tasks()) {
    if (task.state != Task::State::running || !scheduler_.chance(40)) continue;
    attempts.push_back({id, task.attempt + (scheduler_.chance(10) ? 1 : 0)});
  }
  return attempts;
}

/// Everywhere, or a part of the places that have tasks.
std::vector<runtime::Watermarks::Range> Comparison::some_ranges() {
  constexpr auto least = std::numeric_limits<runtime::Place>::min();
  constexpr auto most = std::numeric_limits<runtime::Place>::max();
  if (scheduler_.chance(60)) return {{least, most}};
  const runtime::Place lane = runtime::place_of(scheduler_.pick(-1, 1), 0);
  const runtime::Place after = lane + scheduler_.pick(0, 20);
  const runtime::Place upto = after + scheduler_.pick(1, 40);
  if (scheduler_.chance(50)) return {{after, upto}};
  return {{least, lane - 1}, {after, upto}};  // what is more urgent, and some of the rest
}

// ---- producers and operators ---------------------------------------------------------------------------------------

void Comparison::begin_transaction() {
  if (open_) return;
  producer_.run({"begin", "begin"});
  (void)producer_.run({"draw_id", "select pg_current_xact_id()::text"});
  open_ = model_.begin();
}

void Comparison::enqueue() {
  begin_transaction();
  const bool waits = scheduler_.chance(30);
  const bool expires = scheduler_.chance(25);
  const int how_many = static_cast<int>(scheduler_.pick(1, 3));
  Database::NewTask task{.delay = waits ? milliseconds{delay} : milliseconds{0},
                         .queue = any_queue(),
                         .priority = scheduler_.chance(60) ? 0 : static_cast<int>(scheduler_.pick(-1, 1)),
                         .kind = scheduler_.chance(20) ? Kind::fragile : Kind::plain};
  if (expires) task.expires_in = task.delay + until_expiry;
  note("enqueue " + std::to_string(how_many) + " to " + task.queue + " with priority " + std::to_string(task.priority) +
       (waits ? " for later" : "") + (expires ? ", which expire" : ""));
  model_.enqueue(*open_, how_many, task);
  for (int i = 0; i < how_many; ++i) {
    (void)producer_.run(
        {"enqueue",
         "select dogged.enqueue($1::text, '[]', queue => $2::text, priority => $3::int, "
         "run_at => now() + $4::bigint * interval '1 minute', expires_at => now() + $5::bigint * interval '1 minute')"},
        db::Params{}
            .add(task_names[task.kind == Kind::fragile ? 1 : 0])
            .add(task.queue)
            .add(std::int64_t{task.priority})
            .add(in_minutes(task.delay))
            .add(task.expires_in ? std::optional{in_minutes(*task.expires_in)} : std::nullopt));
  }
}

void Comparison::end_transaction() {
  if (!open_) return;
  const bool commits = scheduler_.chance(80);
  note(commits ? "commit" : "roll back");
  producer_.run(commits ? db::Statement{"commit", "commit"} : db::Statement{"rollback", "rollback"});
  if (commits) {
    model_.commit(*open_);
  } else {
    model_.roll_back(*open_);
  }
  open_.reset();
}

void Comparison::cancel() {
  const auto id = any_task(scheduler_.chance(50) ? Task::State::pending : Task::State::running);
  if (!id || would_wait(*id)) return;
  note("cancel " + std::to_string(*id));
  model_.cancel(*id);
  (void)postgres_.run(sql::CancelTasks{.ids = {*id}});
  for (const auto& [worker, row] : model_.workers()) compare_cancelling(worker);
}

void Comparison::reschedule() {
  const auto id = any_task(Task::State::pending);
  if (!id || would_wait(*id)) return;
  const bool waits = scheduler_.chance(50);
  if (model_.tasks().at(*id).expires_at) return;  // an error where the task would expire before
  note("reschedule " + std::to_string(*id) + (waits ? " for later" : ""));
  (void)model_.reschedule(*id, waits ? milliseconds{delay} : milliseconds{0});
  (void)postgres_.run({"reschedule", "select dogged.reschedule($1::bigint, now() + $2::bigint * interval '1 minute')"},
                      db::Params{}.add(*id).add(waits ? std::int64_t{delay.count()} : std::int64_t{0}));
}

void Comparison::replay() {
  const auto id = scheduler_.chance(50) ? any_dead_letter() : any_task(Task::State::ended);
  if (!id || model_.is_being_taken(model_.tasks().at(*id).key)) return;  // PostgreSQL would wait
  const bool waits = scheduler_.chance(50);
  const ReplaySteps steps = scheduler_.chance(50) ? ReplaySteps::again : ReplaySteps::keep;
  note("replay " + std::to_string(*id) + (waits ? " for later" : "") + ", steps " + std::string{to_text(steps)});
  const bool model = model_.replay(*id, waits ? milliseconds{delay} : milliseconds{0}, steps);
  const test::Rows postgres = postgres_.run(
      {"replay",
       "select result from dogged.replay_many(array[$1::bigint], now() + $2::bigint * interval '1 minute', "
       "steps => $3::text)"},
      db::Params{}.add(*id).add(waits ? std::int64_t{delay.count()} : std::int64_t{0}).add(to_text(steps)));
  require_alike("replayed", model, postgres.one().text("result") == "replayed");
}

/// Half of the pauses end by themselves. The pause of a paused queue changes its end.
void Comparison::pause() {
  const std::string& queue = any_queue();
  Random random = scheduler_.stream(std::uint64_t{1} << 34, ++queue_changes_);
  if (model_.is_paused(queue) && random.chance(70)) {
    note("resume " + queue);
    model_.resume(queue);
    (void)postgres_.run({"resume", "select dogged.resume_queue($1::text)"}, db::Params{}.add(queue));
  } else {
    const std::optional<milliseconds> resumes_in =
        random.chance(50) ? std::optional<milliseconds>{delay} : std::nullopt;
    note("pause " + queue + (resumes_in ? " for a while" : ""));
    model_.pause(queue, resumes_in);
    (void)postgres_.run(
        {"pause", "select dogged.pause_queue($1::text, clock_timestamp() + $2::bigint * interval '1 minute')"},
        db::Params{}.add(queue).add(resumes_in ? std::optional{in_minutes(*resumes_in)} : std::nullopt));
  }
  compare_queues();
}

void Comparison::compare_queues() {
  const auto resumes_in = [](const runtime::QueueSettings& settings) {
    return settings.resumes_in ? std::optional{in_minutes(*settings.resumes_in)} : std::nullopt;
  };
  const auto all = runtime::read_queue_settings(postgres_, queue_names);
  for (const std::string& queue : queue_names) {
    const runtime::QueueSettings model = model_.queue_settings(queue);
    const runtime::QueueSettings& postgres = all.at(queue);
    require_alike(queue + " is paused", model.is_paused, postgres.is_paused);
    require_alike(queue + " resumes in", resumes_in(model), resumes_in(postgres));
    require_alike("the concurrency of " + queue, model.concurrency, postgres.concurrency);
    require_alike("the retry budget of " + queue + " is the model's", true,
                  model.retry_budget == postgres.retry_budget);
  }
}

// ---- leases --------------------------------------------------------------------------------------------------------

/// The process id of a worker is its id, so that it can be named when its lease is ended.
void Comparison::register_worker() {
  const auto count = static_cast<std::int64_t>(model_.workers().size());
  if (count == 6) return;
  std::optional<std::int64_t> previous;
  if (count > 0 && scheduler_.chance(40)) previous = any_worker();
  std::string name = "worker " + std::to_string(count + 1);
  if (count > 0 && scheduler_.chance(40)) name = model_.workers().at(any_worker()).name;
  register_as(name, previous);
}

void Comparison::register_as(const std::string& name, std::optional<std::int64_t> previous) {
  note("register " + name + ", after " + shown(previous));
  const Queues queues = some_queues();
  const std::optional<std::int64_t> lease_id = model_.register_worker(name, lease, previous, queues);
  const std::int64_t number = lease_id.value_or(0);
  postgres_.run(sql::EndLeaseOfName{.name = name});
  if (previous) {
    postgres_.run(sql::EndLease{.worker_id = *previous, .pid = static_cast<int>(*previous), .host = "here"});
  }
  const auto registered = postgres_.run(sql::RegisterWorker{.name = name,
                                                            .host = "here",
                                                            .pid = static_cast<int>(number),
                                                            .version = "0",
                                                            .queues = as_json(queues),
                                                            .task_names = task_names,
                                                            .lease_ms = milliseconds{lease}.count(),
                                                            .args_versions = std::nullopt});
  require_alike("worker", number, registered.empty() ? 0 : registered.front().id);
  const auto holders = postgres_.run(sql::NameHolder{.name = name});
  require_alike("holder", model_.name_holder(name).value().id, db::one(holders).id);
  if (lease_id) model_.listen(*lease_id);
}

void Comparison::heartbeat() {
  const std::int64_t worker = any_worker();
  note("heartbeat of worker " + std::to_string(worker));
  const auto renewed = postgres_.run(sql::Heartbeat{.is_stopping = false,
                                                    .fenced = 0,
                                                    .abandoned_threads = 0,
                                                    .clock_ahead_ms = 0,
                                                    .clock_uncertainty_ms = 0,
                                                    .worker_id = worker});
  require_alike("renewed", model_.heartbeat(worker, lease), !renewed.empty());
}

void Comparison::begin_claim_session() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker) + scheduler_.pick(0, 1);
  note("worker " + std::to_string(worker) + " begins claim session " + std::to_string(session));
  model_.begin_claim_session(worker, session);
  postgres_.run(sql::BeginClaimSession{.worker_id = worker, .claim_session = session});
}

void Comparison::ask_upkeep() {
  const std::int64_t worker = any_worker();
  note("worker " + std::to_string(worker) + " asks for upkeep");
  const runtime::Outlook model = model_.upkeep_due(worker);
  const auto postgres = db::one(postgres_.run(sql::UpkeepDue{.worker_id = worker, .back_ms = std::nullopt}));
  require_alike("has_to_rescue", model.has_to_rescue, postgres.has_to_rescue);
  require_alike("has_expired", model.has_expired, postgres.has_expired);
  require_alike("comes_first", model.comes_first, postgres.comes_first);
  require_alike("lapses", model.lapses_in.has_value(), postgres.lapses_in_ms.has_value());
  if (model.lapses_in) {
    require_alike("lapses_in", in_minutes(*model.lapses_in), in_minutes(milliseconds{*postgres.lapses_in_ms}));
  }
}

void Comparison::end_lapsed_leases() {
  const std::int64_t worker = any_worker();
  note("worker " + std::to_string(worker) + " ends lapsed leases");
  require_alike("leases ended", model_.end_lapsed_leases(worker), runtime::end_lapsed_leases(postgres_, worker, *log_));
}

void Comparison::stop_worker() {
  const std::int64_t worker = any_worker();
  note("worker " + std::to_string(worker) + " stops");
  model_.stop_worker(worker);
  postgres_.run(sql::StopWorker{.worker_id = worker});
}

void Comparison::expire() {
  note("expire");
  require_alike("expired", model_.expire(), postgres_.run(sql::Expire{.back_ms = std::nullopt}).size());
}

void Comparison::rescue() {
  const std::int64_t worker = any_worker();
  note("worker " + std::to_string(worker) + " rescues");
  for (const std::int64_t lost : compare_workers_to_rescue()) mark_rescued(lost);
  compare_lines();
  const auto [tasks, all] = rescue_in_model(worker);
  const runtime::Rescued postgres = runtime::rescue_lost_tasks(postgres_, worker, {log_});
  require_alike("rescued", tasks, postgres.tasks);
  require_alike("all rescued", all, postgres.all);
}

/// With their claims. Gives the workers.
std::vector<std::int64_t> Comparison::compare_workers_to_rescue() {
  const auto line_of = [](std::int64_t worker, std::int64_t claim, std::int64_t tasks) {
    return "claim " + std::to_string(claim) + " of " + std::to_string(worker) + " names " + std::to_string(tasks);
  };
  const std::vector<std::int64_t> workers = model_.workers_to_rescue();
  std::set<std::int64_t> postgres;
  for (const auto& [id, name] : postgres_.run(sql::WorkersToRescue{})) postgres.insert(id);
  require_alike("workers to rescue", std::set(workers.begin(), workers.end()), postgres);
  Lines claims, claims_in_postgres;
  for (const std::int64_t worker : workers) {
    for (const auto& [id, tasks] : model_.claims_of(worker)) claims.insert(line_of(worker, id, tasks));
    for (const auto& [id, tasks] : postgres_.run(sql::ClaimsOf{.worker_id = worker})) {
      claims_in_postgres.insert(line_of(worker, id, tasks));
    }
  }
  require_alike("claims of lost workers", claims, claims_in_postgres);
  return workers;
}

/// As if the statement of another rescuer arrived late. PostgreSQL and the model must not mark a worker with tasks
/// left.
void Comparison::mark_rescued(std::int64_t lost) {
  bool postgres = false;
  postgres_.transaction([&] {
    postgres = !postgres_.run(sql::LockRescue{.worker_id = lost}).empty();
    if (postgres) postgres_.run(sql::MarkRescued{.worker_id = lost});
  });
  require_alike("marked", model_.mark_rescued(lost), postgres);
}

/// As Rescue in rescue.cpp. Gives how many tasks were rescued, and whether all were.
std::pair<std::size_t, bool> Comparison::rescue_in_model(std::int64_t worker) {
  using Step = runtime::RescueTasks::Step;
  runtime::RescueTasks plan{tasks_looked_for_in_model};
  std::size_t rescued = 0;
  for (;;) {
    const runtime::RescueTasks::Action action = plan.next();
    switch (action.step) {
      case Step::list_workers:
      case Step::list_left:
        plan.on_workers(model_.workers_to_rescue());
        break;
      case Step::list_claims:
        plan.on_claims(model_.claims_of(action.worker));
        break;
      case Step::rescue_batch: {
        const std::size_t tasks = model_.rescue_batch(worker, action.worker, action.claims).value();
        rescued += tasks;
        plan.on_batch(tasks);
        break;
      }
      case Step::mark_rescued:
        (void)model_.mark_rescued(action.worker);
        plan.on_marked();
        break;
      case Step::done:
        return {rescued, plan.has_rescued_all()};
    }
  }
}

// ---- claims --------------------------------------------------------------------------------------------------------

void Comparison::claim() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  std::vector<QueueClaim> claims;
  std::string text = "worker " + std::to_string(worker) + " claims";
  for (const std::string& queue : some_queues()) {
    claims.push_back({.queue = queue,
                      .how_many = static_cast<std::size_t>(scheduler_.pick(1, 3)),
                      .ranges = some_ranges(),
                      .of_all = true});
    text += " " + std::to_string(claims.back().how_many) + " of " + queue;
  }
  note(text + " in session " + std::to_string(session));
  std::set<std::string> model, postgres;
  for (const std::vector<Database::Claimed>& of_queue : model_.claim(worker, claims, session)) {
    for (const Database::Claimed& task : of_queue) {
      const auto expires = task.expires_in ? std::optional{in_minutes(*task.expires_in)} : std::nullopt;
      model.insert(claimed(task.id, task.attempt, task.retry_count, task.losses, task.snoozes, task.place, expires,
                           as_json(task.args)));
    }
  }
  for (const sql::Claim::Row& task :
       postgres_.run(runtime::claim_of(worker, claims, task_names, session, args_versions))) {
    const auto expires =
        task.expires_in_ms ? std::optional{in_minutes(milliseconds{*task.expires_in_ms})} : std::nullopt;
    postgres.insert(claimed(task.id, task.attempt, task.retry_count, task.losses, task.snoozes.value_or(0), task.place,
                            expires, task.args));
  }
  require_alike("claimed", model, postgres);
}

void Comparison::expire_claimed() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  const std::vector<Attempt> attempts = some_attempts();
  note("worker " + std::to_string(worker) + " ends what has expired, in session " + std::to_string(session));
  sql::ExpireClaimed expire{.worker_id = worker, .claim_session = session, .ids = {}, .attempts = {}};
  for (const Attempt& attempt : attempts) {
    expire.ids.push_back(attempt.id);
    expire.attempts.push_back(attempt.number);
  }
  std::set<TaskId> postgres;
  for (const sql::ExpireClaimed::Row& task : postgres_.run(expire)) postgres.insert(task.id);
  require_alike("expired", model_.expire_claimed(worker, attempts, session), postgres);
}

template <class Released>
void Comparison::cancel_released(const std::vector<Released>& released) {
  std::vector<TaskId> ids;
  for (const Released& task : released) {
    if (task.cancel_requested) ids.push_back(task.id);
  }
  if (!ids.empty()) (void)postgres_.run(sql::CancelTasks{.ids = ids});
}

void Comparison::wake_others(std::int64_t worker) {
  const Queues& queues = queues_of(worker);
  postgres_.run(sql::WakeOthers{.worker_id = worker, .queues = {queues.begin(), queues.end()}});
}

void Comparison::release_unknown() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  std::vector<Attempt> known = some_attempts();
  for (const TaskId id : model_.live()) {
    const Attempt attempt{id, model_.tasks().at(id).attempt};
    if (has_steps(attempt)) known.push_back(attempt);
  }
  note("worker " + std::to_string(worker) + " releases what it does not know, in session " + std::to_string(session));
  sql::ReleaseUnknown release{.worker_id = worker, .claim_session = session, .known_ids = {}, .known_attempts = {}};
  for (const Attempt& attempt : known) {
    release.known_ids.push_back(attempt.id);
    release.known_attempts.push_back(attempt.number);
  }
  const Database::Unknown model = model_.release_unknown(worker, known, session);
  std::size_t released = 0;
  std::set<TaskId> locked;
  postgres_.transaction([&] {
    const auto unknown = postgres_.run(release);
    for (const sql::ReleaseUnknown::Row& task : unknown) {
      if (task.released) {
        ++released;
      } else {
        locked.insert(task.id);
      }
    }
    cancel_released(unknown);
  });
  require_alike("released", model.released, released);
  require_alike("locked", std::set<TaskId>(model.locked.begin(), model.locked.end()), locked);
}

void Comparison::release() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  std::vector<Attempt> attempts = some_attempts();
  std::erase_if(attempts, [this](const Attempt& attempt) { return has_steps(attempt); });
  note("worker " + std::to_string(worker) + " releases " + std::to_string(attempts.size()) + " in session " +
       std::to_string(session));
  sql::Release release{.worker_id = worker, .claim_session = session, .ids = {}, .attempts = {}};
  std::set<TaskId> postgres;
  for (const Attempt& attempt : attempts) {
    release.ids.push_back(attempt.id);
    release.attempts.push_back(attempt.number);
    postgres.insert(attempt.id);
  }
  std::set<TaskId> model;
  for (const Attempt& attempt : model_.release(worker, attempts, session)) model.insert(attempt.id);
  postgres_.transaction([&] {
    const auto released = postgres_.run(release);
    cancel_released(released);
    for (const sql::Release::Row& task : released) postgres.erase(task.id);
    wake_others(worker);
  });
  require_alike("not released", model, postgres);
}

void Comparison::sum_up_claims() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  const std::map<std::int64_t, std::vector<TaskId>>& claims = model_.workers().at(worker).claims;
  const std::int64_t last = claims.empty() ? 0 : claims.begin()->first + scheduler_.pick(0, 1);
  std::vector<TaskId> held;
  for (const auto& [id, task] : model_.tasks()) {
    if (task.state == Task::State::running && task.worker == worker) held.push_back(id);
  }
  note("worker " + std::to_string(worker) + " sums up its claims from " + std::to_string(last) + " on");
  const std::int64_t model = model_.sum_up_claims(worker, held, last, session);
  const auto postgres =
      postgres_.run(sql::SumUpClaims{.worker_id = worker, .claim_session = session, .from_claim = last, .ids = held});
  require_alike("summed up", model, postgres.empty() ? 0 : postgres.front().id);
}

void Comparison::promote() {
  const Queues queues = some_queues();
  note("promote in " + shown(queues));
  require_alike("promoted", static_cast<std::int64_t>(model_.promote(queues)),
                postgres_.run(sql::Promote{.queues = {queues.begin(), queues.end()}}));
}

void Comparison::look() {
  std::vector<QueueClaim> claims;
  for (const std::string& queue : some_queues())
    claims.push_back({.queue = queue, .how_many = 1, .ranges = some_ranges()});
  const Queues queues = some_queues();
  note("look");
  const auto seen =
      db::one(postgres_.run(runtime::look_for(claims, task_names, {queues.begin(), queues.end()}, args_versions)));
  require_alike("has_ready", model_.has_ready(claims), seen.has_ready);
  const auto due_in = model_.due_in(queues);
  require_alike("is due", due_in.has_value(), seen.due_in_ms.has_value());
  if (due_in) require_alike("due_in", in_minutes(*due_in), in_minutes(milliseconds{*seen.due_in_ms}));
}

void Comparison::fall_asleep() {
  const std::int64_t worker = any_worker();
  note("worker " + std::to_string(worker) + " falls asleep");
  model_.fall_asleep(worker);
  postgres_.run(sql::FallAsleep{.worker_id = worker});
}

void Comparison::wake_up() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  note("worker " + std::to_string(worker) + " is awake, in session " + std::to_string(session));
  model_.wake_up(worker, session);
  postgres_.run(sql::WakeUp{.worker_id = worker, .claim_session = session});
}

/// The ids of transactions are others in PostgreSQL. Alike is whether all have ended that had begun the last time.
void Comparison::ask_transactions() {
  note("ask for the oldest transaction");
  const bool model = model_.oldest_transaction() >= seen_before_.model;
  const bool postgres = db::one(postgres_.run(sql::OldestTransaction{})).oldest >= seen_before_.postgres;
  require_alike("all earlier transactions have ended", model, postgres);
  seen_before_ = {model_.transaction_bounds().next, db::one(postgres_.run(sql::TransactionBounds{})).next};
}

void Comparison::settle_watermarks() {
  std::vector<runtime::ServedQueues::Part> parts;
  sql::SettleWatermarks settle{.next_transaction = settled_before_.postgres,
                               .queues = {},
                               .afters = {},
                               .uptos = {},
                               .names = task_names,
                               .versions = args_versions};
  std::string text = "settle";
  for (std::size_t queue = 0; queue < queue_names.size(); ++queue) {
    if (queue > 0 && scheduler_.chance(50)) continue;
    const std::int64_t priority = scheduler_.pick(-1, 1);
    const runtime::Place after = runtime::place_of(priority, scheduler_.pick(0, 10));
    const runtime::Watermarks::Range range{after, after + scheduler_.pick(1, 40)};
    parts.push_back({queue, range});
    settle.queues.push_back(queue_names[queue]);
    settle.afters.push_back(range.after);
    settle.uptos.push_back(range.upto);
    text += " " + queue_names[queue] + " after " + std::to_string(range.after) + " up to " + std::to_string(range.upto);
  }
  note(text);
  const Database::Settlement model = model_.settle_watermarks(parts, settled_before_.model, queue_names);
  const std::vector<sql::SettleWatermarks::Row> rows = postgres_.run(settle);
  std::set<std::string> in_model, in_postgres;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    in_model.insert(queue_names[parts[i].queue] + " " + shown(model.settled[i]));
  }
  for (const sql::SettleWatermarks::Row& row : rows) in_postgres.insert(shown(row.queue) + " " + shown(row.settled));
  require_alike("settled", in_model, in_postgres);
  const sql::SettleWatermarks::Row& postgres = rows.front();
  settled_before_ = {model.answer.next, postgres.next};
}

// ---- reports -------------------------------------------------------------------------------------------------------

Report Comparison::report_of(TaskId id, int attempt) {
  using lifecycle::Outcome;
  using lifecycle::Status;
  Report report;
  report.id = id;
  report.attempt = attempt;
  switch (scheduler_.pick(0, 5)) {
    case 0:
      report.transition = transition(Status::failed, Outcome::failed);
      break;
    case 1:
      report.transition = transition(Status::cancelled, Outcome::cancelled);
      break;
    case 2:
      report.transition = transition(Status::pending, Outcome::failed);
      report.transition.next_run = lifecycle::NextRun{.backoff = milliseconds{0}, .delay = milliseconds{0}};
      break;
    case 3:
      report.transition = transition(Status::pending, Outcome::failed);
      report.transition.next_run = lifecycle::NextRun{.backoff = delay, .delay = delay};
      break;
    case 4:
      report.transition = transition(Status::pending, Outcome::snoozed);
      report.transition.next_run = lifecycle::NextRun{.backoff = delay, .delay = delay};
      break;
    default:
      report.transition = transition(Status::succeeded, Outcome::succeeded);
  }
  const bool is_snoozed = report.transition.outcome == Outcome::snoozed;
  const bool spends_retry = report.transition.next_run && !is_snoozed;
  report.transition.losses = model_.tasks().at(id).losses;
  report.transition.snoozes = model_.tasks().at(id).snoozes + (is_snoozed ? 1 : 0);
  report.transition.retry_count = model_.tasks().at(id).retry_count + (spends_retry ? 1 : 0);
  return report;
}

void Comparison::complete() {
  const std::int64_t worker = any_worker();
  std::vector<Report> reports;
  for (const Attempt& attempt : some_attempts()) reports.push_back(report_of(attempt.id, attempt.number));
  if (const auto ended = any_task(Task::State::ended); ended && scheduler_.chance(30)) {
    reports.push_back(report_of(*ended, model_.tasks().at(*ended).attempt));
  }
  std::string text = "worker " + std::to_string(worker) + " reports";
  for (Report& report : reports) {
    report.started_at = report.finished_at = scheduler_.now();
    text += " " + std::to_string(report.id) + "/" + std::to_string(report.attempt) + ":" +
            std::string{lifecycle::to_text(report.transition.status)} +
            (report.transition.next_run && report.transition.next_run->delay.count() > 0 ? " later" : "");
  }
  note(text);
  const std::set<TaskId> model = model_.complete(worker, reports, scheduler_.now());
  const TimePoint now = runtime::SteadyClock::now();
  std::vector<TaskId> ids;
  for (Report& report : reports) {
    report.started_at = report.finished_at = now;
    ids.push_back(report.id);
  }
  postgres_.run(sql::ClearLocks{.ids = ids, .worker_id = worker});
  std::set<TaskId> postgres;
  for (const auto& [id] : postgres_.run(runtime::completion_of(worker, reports, now))) postgres.insert(id);
  require_alike("refused reports", model, postgres);
}

/// A handler's own transaction. Elsewhere than here it would wait for a locked row.
void Comparison::complete_in() {
  const std::int64_t worker = any_worker();
  const auto id = any_task(Task::State::running);
  if (!id || would_wait(*id)) return;
  const Attempt attempt{*id, model_.tasks().at(*id).attempt + (scheduler_.chance(10) ? 1 : 0)};
  note("worker " + std::to_string(worker) + " completes " + std::to_string(attempt.id) + "/" +
       std::to_string(attempt.number) + " in the handler's transaction");
  bool postgres = true;
  try {
    (void)postgres_.run(
        {"complete_in", "select dogged.complete_in($1::bigint, $2::int, $3::bigint, null, 1000::bigint)"},
        db::Params{}.add(attempt.id).add(std::int64_t{attempt.number}).add(worker));
  } catch (const LeaseLost&) {
    postgres = false;
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != "LE001") throw;
    postgres = false;
  }
  require_alike("completed", model_.complete_in(worker, attempt), postgres);
}

void Comparison::who_holds() {
  const std::int64_t worker = any_worker();
  const auto id = any_task(scheduler_.chance(60) ? Task::State::running : Task::State::ended);
  if (!id) return;
  const int attempt = model_.tasks().at(*id).attempt - (scheduler_.chance(30) ? 1 : 0);
  note("worker " + std::to_string(worker) + " asks who holds " + std::to_string(*id) + "/" + std::to_string(attempt));
  const runtime::Holder model = model_.who_holds(worker, {*id, attempt});
  const runtime::Holder postgres = runtime::holder_of(
      db::one(postgres_.run(sql::WhoHolds{.worker_id = worker, .ids = {*id}, .attempts = {attempt}})));
  require_alike("is_mine", model.is_mine, postgres.is_mine);
  if (model.is_mine) {
    const auto minutes_of = [](const std::optional<std::int64_t>& time_us) {
      return time_us ? std::optional{std::chrono::round<minutes>(std::chrono::microseconds{*time_us}).count()}
                     : std::nullopt;
    };
    require_alike("cancel_requested", model.cancel_requested, postgres.cancel_requested);
    require_alike("expires_in", minutes_of(model.expires_in_us), minutes_of(postgres.expires_in_us));
    require_alike("expires_after_claim", minutes_of(model.expires_after_claim_us),
                  minutes_of(postgres.expires_after_claim_us));
  }
  require_alike("task_attempt", model.task_attempt, postgres.task_attempt);
  require_alike("status", name_of(model.status), name_of(postgres.status));
  require_alike("outcome", name_of(model.outcome), name_of(postgres.outcome));
  require_alike("recorded_for", model.recorded_for, postgres.recorded_for);
}

// ---- time and locks ------------------------------------------------------------------------------------------------

/// In PostgreSQL time passes by moving what lies ahead.
void Comparison::let_time_pass() {
  if (open_ || holds_lock() || emitting_ || locked_circuit_) return;  // it would wait, or not see the enqueued tasks
  note("20 minutes pass");
  scheduler_.run_until(scheduler_.now() + step_of_time);
  const db::Params by = db::Params{}.add(std::int64_t{step_of_time.count()});
  postgres_.run({"shift_tasks",
                 "update dogged.tasks_live set run_at = run_at - $1::bigint * interval '1 minute', "
                 "next_retry_at = next_retry_at - $1::bigint * interval '1 minute', "
                 "expires_at = expires_at - $1::bigint * interval '1 minute', "
                 "claimed_at = claimed_at - $1::bigint * interval '1 minute', "
                 "enqueued_at = enqueued_at - $1::bigint * interval '1 minute'"},
                by);
  postgres_.run({"shift_keys", "update dogged.unique_keys set taken_at = taken_at - $1::bigint * interval '1 minute'"},
                by);
  shift_ticks();
  postgres_.run({"shift_circuits", "update dogged.circuits set since = since - $1::bigint * interval '1 minute'"}, by);
  postgres_.run({"shift_waits", "update dogged.task_waits set until = until - $1::bigint * interval '1 minute'"}, by);
  postgres_.run(
      {"shift_leases", "update dogged.workers set lease_until = lease_until - $1::bigint * interval '1 minute'"}, by);
  postgres_.run({"shift_pauses",
                 "update dogged.queues set paused_at = paused_at - $1::bigint * interval '1 minute', "
                 "paused_until = paused_until - $1::bigint * interval '1 minute' where paused_until is not null"},
                by);
  compare_queues();
}

void Comparison::lock() {
  const auto id = any_task(scheduler_.chance(60) ? Task::State::running : Task::State::pending);
  if (!id || holds_lock() || would_wait(*id)) return;
  note("lock " + std::to_string(*id));
  locker_.run({"begin", "begin"});
  (void)locker_.run({"lock", "select from dogged.tasks_live where id = $1::bigint for update"}, db::Params{}.add(*id));
  model_.lock(*id, std::chrono::hours{24 * 365});
  locked_ = id;
  locking_ = model_.begin();
}

void Comparison::unlock() {
  if (locked_circuit_ && scheduler_.chance(50)) return unlock_circuit();
  if (!holds_lock()) return;
  note("unlock");
  locker_.run({"rollback", "rollback"});
  model_.lock(*locked_, Duration{0});
  model_.roll_back(*locking_);
  locked_.reset();
  locking_.reset();
}

// ---- rows ----------------------------------------------------------------------------------------------------------

std::string Comparison::lines_of_postgres() {
  std::string all;
  for (const char* query :
       {query_of_attempts, query_of_workers, query_of_claims, query_of_keys, query_of_steps, query_of_checkpoints,
        query_of_waits, query_of_ticks, query_of_circuits, query_of_progress, query_of_declarations, query_of_calls}) {
    all += (all.empty() ? "" : " union all ") + std::string{query};
  }
  return "select line from (" + all + ") as lines(line)";
}

/// One query reads all tables: a query for each, after each statement, cost more than the statement.
void Comparison::compare_lines() {
  static const std::string query = lines_of_postgres();
  Lines model, postgres;
  add_attempts(model);
  add_workers(model);
  add_claims(model);
  add_keys(model);
  add_steps(model);
  add_checkpoints(model);
  add_waits(model);
  add_ticks(model);
  add_circuits(model);
  add_progress(model);
  add_declarations(model);
  add_calls(model);
  for (const test::Row& row : test::Rows{postgres_.run({"lines", query})}) postgres.insert(row.text("line"));
  if (model == postgres) return;
  const auto without = [](const Lines& lines, const Lines& others) {
    Lines rest;
    std::set_difference(lines.begin(), lines.end(), others.begin(), others.end(), std::inserter(rest, rest.end()));
    return shown(rest);
  };
  throw Different{without(model, postgres) + " in the model, " + without(postgres, model) + " in PostgreSQL"};
}

void Comparison::compare_tasks() {
  const test::Rows rows = postgres_.run(
      {"rows",
       "select t.id, t.status, t.attempt, t.retry_count, t.losses, coalesce(t.snoozes, 0) as snoozes, "
       "coalesce(t.worker_id, 0) as worker_id, t.deferred, "
       "t.cancel_requested_at is not null as cancel_requested, coalesce(t.ready_position, t.id) as position, "
       "t.args::text as args "
       "from dogged.tasks_live t union all "
       "select t.id, t.status, t.attempt, t.retry_count, t.losses, coalesce(t.snoozes, 0), 0, false, false, 0, "
       "t.args::text "
       "from dogged.tasks t "
       "where t.status not in ('pending', 'running')"});
  require_alike("tasks", model_.tasks().size(), rows.size());
  for (const test::Row& row : rows) {
    const TaskId id = row.number("id");
    const std::string of = " of task " + std::to_string(id);
    const auto found = model_.tasks().find(id);
    if (found == model_.tasks().end()) throw Different{"the model has no task " + std::to_string(id)};
    const Task& task = found->second;
    const std::string status{row.text("status")};
    const bool has_ended = task.state == Task::State::ended;
    require_alike("status" + of,
                  has_ended                            ? task.ended_as
                  : task.state == Task::State::running ? std::string{"running"}
                                                       : std::string{"pending"},
                  status);
    require_alike("attempt" + of, std::int64_t{task.attempt}, row.number("attempt"));
    require_alike("retry count" + of, std::int64_t{task.retry_count}, row.number("retry_count"));
    require_alike("losses" + of, std::int64_t{task.losses}, row.number("losses"));
    require_alike("snoozes" + of, std::int64_t{task.snoozes}, row.number("snoozes"));
    require_alike("args" + of, as_json(task.args), row.text("args"));
    if (has_ended) continue;
    if (task.state == Task::State::running) require_alike("worker" + of, task.worker, row.number("worker_id"));
    require_alike("deferred" + of, task.deferred, row.boolean("deferred"));
    require_alike("cancel_requested" + of, task.cancel_requested, row.boolean("cancel_requested"));
    if (task.state == Task::State::pending && !task.deferred)
      compare_position(id, task.position, row.number("position"));
  }
}

/// A statement that makes several tasks ready gives them numbers of the sequence in an order of its own.
void Comparison::compare_position(TaskId id, std::int64_t model, std::int64_t postgres) {
  if (model == postgres) return;
  const std::int64_t number = postgres < 0 ? postgres + (std::int64_t{1} << 46) : postgres;
  const bool was_drawn_now = number > last_position_before_ && number <= model_.last_position();
  if (was_drawn_now && (model < 0) == (postgres < 0)) return model_.adopt_position(id, postgres);
  throw Different{"the place of task " + std::to_string(id) + ": " + std::to_string(model) + " in the model, " +
                  std::to_string(postgres) + " in PostgreSQL"};
}

const char* const Comparison::query_of_attempts =
    "select 'attempt ' || task_id || '/' || attempt || ' ' || outcome || ' of ' || worker_id from dogged.task_attempts";

void Comparison::add_attempts(Lines& lines) const {
  for (const auto& [attempt, row] : model_.attempts()) {
    lines.insert("attempt " + std::to_string(attempt.first) + "/" + std::to_string(attempt.second) + " " + row.outcome +
                 " of " + std::to_string(row.worker));
  }
}

const char* const Comparison::query_of_workers =
    "select 'worker ' || id || ' in session ' || claim_session || "
    "case when lease_ended_at is not null then ', lease ended' else '' end || "
    "case when stopped_at is not null then ', stopped' else '' end || "
    "case when rescued_at is not null then ', rescued' else '' end || "
    "case when asleep then ', asleep' else '' end from dogged.workers";

void Comparison::add_workers(Lines& lines) const {
  for (const auto& [id, worker] : model_.workers()) {
    lines.insert("worker " + std::to_string(id) + " in session " + std::to_string(worker.claim_session) +
                 (worker.lease_ended ? ", lease ended" : "") + (worker.stopped ? ", stopped" : "") +
                 (worker.rescued ? ", rescued" : "") + (worker.asleep ? ", asleep" : ""));
  }
}

const char* const Comparison::query_of_claims =
    "select 'claim ' || c.id || ' of ' || c.worker_id || ' {' || "
    "coalesce((select string_agg(id::text, ' ' order by id) from unnest(c.task_ids) as id), '') || '}' "
    "from dogged.claims c";

void Comparison::add_claims(Lines& lines) const {
  for (const auto& [worker, row] : model_.workers()) {
    for (const auto& [number, ids] : row.claims) {
      lines.insert("claim " + std::to_string(number) + " of " + std::to_string(worker) + " " +
                   shown(std::set<TaskId>(ids.begin(), ids.end())));
    }
  }
}

void Comparison::compare_cancelling(std::int64_t worker) {
  const auto named = [](TaskId id, int attempt) { return std::to_string(id) + "/" + std::to_string(attempt); };
  std::set<std::string> model;
  for (const Attempt& attempt : model_.cancelling(worker)) model.insert(named(attempt.id, attempt.number));
  std::set<std::string> postgres;
  for (const auto& [id, attempt] : postgres_.run(sql::Cancelling{.worker_id = worker})) {
    postgres.insert(named(id, attempt));
  }
  require_alike("attempts that worker " + std::to_string(worker) + " is to cancel", model, postgres);
}

void Comparison::compare_notifications() {
  (void)listener_.run({"receive", "select 1"});  // after the statement that notified was committed
  bool notified = false;
  std::set<std::string> told_to_cancel, told_of_circuits;
  for (const db::Notification& notification : listener_.wait(std::chrono::nanoseconds{0}, never_.fd())) {
    if (notification.channel == db::Channel::cancel) {
      told_to_cancel.insert(notification.payload);
    } else if (notification.channel == db::Channel::circuits) {
      told_of_circuits.insert(notification.payload);
    } else {
      notified = true;
    }
  }
  require_alike("workers that are told to cancel", std::exchange(model_told_to_cancel_, {}), told_to_cancel);
  require_alike("circuits that workers are told of", std::exchange(model_told_of_circuits_, {}), told_of_circuits);
  require_alike("a notification", std::exchange(model_notified_, false), notified);
}

ConformanceResult compare_with_postgres(const std::string& url, std::uint64_t seed, int steps, Mutant mutant) {
  Comparison comparison{url, seed, mutant};
  try {
    for (int i = 0; i < steps; ++i) comparison.step();
    comparison.take_lapsed_name();
    return {};
  } catch (const Different& different) {
    return {different.what(), comparison.trace()};
  } catch (const Broken& broken) {
    return {"the model broke a promise: " + broken.promise, comparison.trace()};
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != "55P03") throw;
    return {"PostgreSQL waits for a lock, and the model goes on", comparison.trace()};
  }
}

}  // namespace dogged::sim
