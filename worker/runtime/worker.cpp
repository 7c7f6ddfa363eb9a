// See worker.hpp.
#include "runtime/worker.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <poll.h>

#include <dogged/retry_options.hpp>
#include <dogged/tracer.hpp>

#include "circuits/circuits.hpp"
#include "claim/claimer.hpp"
#include "claim/inbox.hpp"
#include "client/escaping_log.hpp"
#include "client/log_event.hpp"
#include "db/errors.hpp"
#include "lease/lease_keeper.hpp"
#include "migrate/migrate.hpp"
#include "migrate/missing_role.hpp"
#include "report/completer.hpp"
#include "retry/counted.hpp"
#include "retry/duration.hpp"
#include "run/executors.hpp"
#include "run/handler_session.hpp"
#include "runtime/incarnation.hpp"
#include "runtime/part.hpp"
#include "runtime/service.hpp"
#include "runtime/session.hpp"
#include "runtime/shutdown.hpp"
#include "runtime/watchdog.hpp"
#include "sql/claim.hpp"
#include "sql/registration.hpp"
#include "sql/retention.hpp"
#include "step/steps.hpp"
#include "tasks/definition.hpp"
#include "tasks/served_queues.hpp"
#include "upkeep/chores.hpp"
#include "upkeep/declared_schedules.hpp"
#include "upkeep/upkeep.hpp"

namespace dogged::runtime {
namespace {

std::map<std::string, int> queues_of(const Definitions& definitions, int concurrency) {
  std::map<std::string, int> queues;
  for (const auto& [name, definition] : definitions) queues.emplace(definition.queue, concurrency);
  return queues;
}

/// The board shows the executors of an incarnation while this lives, which is shorter than the services do.
class Shown {
 public:
  Shown(StatusBoard& board, std::shared_ptr<const Lease> lease, std::shared_ptr<const Executors> executors)
      : board_(board) {
    board_.serves(std::move(lease), std::move(executors));
  }
  ~Shown() { board_.rests(); }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

 private:
  StatusBoard& board_;
};

/// Throws unless the schema is current, and transactions read what others have committed.
void require_usable(db::Connection& connection) {
  migrate::require_current(connection);
  const auto [isolation] = db::one(connection.run(sql::ReadIsolation{}));
  if (isolation == "read committed") return;
  throw InvalidInput("transactions of this role or database are \"" + isolation +
                         "\" unless said otherwise; a worker needs \"read committed\"",
                     "set default_transaction_isolation of its role: alter role … set default_transaction_isolation = "
                     "'read committed'");
}

/// A worker that does not start must not look alive until its lease has lapsed. Throws only a mistake of dogged.
void withdraw(db::Connection& connection, std::int64_t worker_id) {
  try {
    connection.run(sql::StopWorker{.worker_id = worker_id});
  } catch (const std::exception& error) {  // its lease lapses
    if (db::is_defect(error)) throw;
  }
}

}  // namespace

void require_sound(const WorkerSettings& settings) {
  const auto positive = [](const char* name, milliseconds value) {
    if (value <= milliseconds{0})
      throw InvalidInput(std::string{name} + " is " + duration_to_text(value) + "; it must be more than 0");
  };
  positive("the heartbeat", settings.heartbeat);
  positive("the lease", settings.lease);
  positive("the poll interval", settings.poll_interval);
  if (settings.lease < 3 * settings.heartbeat) {
    throw InvalidInput("the lease is " + duration_to_text(settings.lease) + " and the heartbeat " +
                           duration_to_text(settings.heartbeat) + "; a lease must last at least three heartbeats (" +
                           duration_to_text(3 * settings.heartbeat) + "), so that one that comes late does not lose it",
                       "make --lease longer or --heartbeat shorter");
  }
}

Worker::Worker(WorkerSettings settings, Definitions definitions, const std::shared_ptr<spdlog::logger>& log,
               WakeFd stop, std::shared_ptr<StatusBoard> board)
    : settings_(std::move(settings)),
      definitions_(std::make_shared<const Definitions>(std::move(definitions))),
      log_(escaping(log)),
      schedules_(std::make_shared<DeclaredSchedules>(settings_.schedules, log_)),
      stop_(std::move(stop)),
      board_(board ? std::move(board) : std::make_shared<StatusBoard>(settings_.name, settings_.heartbeat)),
      attempts_{.database_url = settings_.database.url,
                .schema = settings_.database.schema,
                .worker = settings_.name,
                .tracer = settings_.tracer,
                .tracing = settings_.tracer ? trace_enqueues(settings_.tracer) : nullptr} {
  require_sound(settings_);
  if (settings_.queues.empty()) settings_.queues = queues_of(*definitions_, settings_.default_concurrency);
  std::optional<std::int64_t> previous_lease = settings_.previous_lease;
  is_again_ = previous_lease.has_value();
  (void)try_to_register(
      is_again_ ? Registering::Occasion::restart : Registering::Occasion::start, Part::start,
      [&](db::Connection& connection, Registering& registering) { begin(connection, previous_lease, registering); });
}

/// Tries as often as Registering says. False if the worker was told to stop before it could register.
bool Worker::try_to_register(Registering::Occasion occasion, Part part,
                             const std::function<void(db::Connection&, Registering&)>& one_try) {
  const auto database = session(part);
  Registering registering{occasion};
  const auto step = [&] { return registering.next(SteadyClock::now(), stop_.is_readable()).step; };
  while (step() != Registering::Step::registered) {
    if (step() == Registering::Step::stop) return false;
    try {
      one_try(database->connection(), registering);
      database->succeeded();
    } catch (const DatabaseError& error) {
      throw_if_defect(to_text(part));
      registering.on_failure();
      if (step() == Registering::Step::fail) throw;
      database->recover_from(error, {});
    }
  }
  return true;
}

/// Leaves the worker without a lease if it is told to stop before it can register. If this fails after it has
/// registered, `previous_lease` is the lease that it has registered.
void Worker::begin(db::Connection& connection, std::optional<std::int64_t>& previous_lease, Registering& registering) {
  try {
    require_usable(connection);
    const auto limits = db::one(connection.run(sql::ReadSettings{}));
    attempts_.limits.max_result_bytes = static_cast<std::size_t>(limits.max_result_bytes);
    attempts_.limits.max_error_message_bytes = static_cast<std::size_t>(limits.max_error_message_bytes);
    attempts_.installation = limits.installation;
    (void)connection.run(sql::MakePartitions{});
    if (!settings_.create_queues) require_known_queues(connection, settings_.queues, *definitions_);

    const auto registered =
        register_worker(connection, row(), *definitions_, previous_lease, registering, stop_, *log_);
    if (!registered) return;
    previous_lease = registered->worker_id;
    try {
      declare(connection, registered->worker_id);
      tell_of_unserved(connection, settings_.queues, *definitions_, *log_);
    } catch (const Error&) {
      withdraw(connection, registered->worker_id);
      throw;
    }
    hold(*registered);
  } catch (const DatabaseError& error) {
    if (!migrate::is_missing_right(error)) throw;
    // complete_in is for workers alone, so a login that may call it has the worker role.
    const auto hint = migrate::hint_for_missing_role(connection, "complete_in");
    throw DatabaseError(error.message(), hint.value_or(error.hint()), error.sqlstate());
  }
}

void Worker::hold(const Registration& registered) {
  lease_ = std::make_shared<Lease>(registered.worker_id, settings_.lease, registered.asked_at);
  clock_offset_ = registered.clock;
}

/// One transaction: if PostgreSQL refuses a schedule, the declarations of other workers stay in force.
void Worker::declare(db::Connection& connection, std::int64_t worker_id) {
  struct SchedulesLocked {};
  try {
    publish_definitions(connection, *definitions_, row(), *log_, [&] {
      if (!schedules_->declare(connection, worker_id)) throw SchedulesLocked{};
    });
  } catch (const SchedulesLocked&) {  // upkeep declares them later
    publish_definitions(connection, *definitions_, row(), *log_);
  }
}

Worker::~Worker() = default;

std::optional<std::int64_t> Worker::id() const { return lease_ ? std::optional{lease_->id()} : std::nullopt; }

std::size_t Worker::abandoned_threads() const noexcept {
  return static_cast<std::size_t>(tally()->abandoned_threads.load());
}

Patience Worker::patience(Part part) const { return patience_of(part, settings_.lease, settings_.heartbeat); }

std::shared_ptr<Session> Worker::session(Part part) const {
  db::Settings settings = settings_.database;
  settings.statement_timeout = patience(part).statement_timeout;
  settings.pooled = settings_.poll_only;
  // The claimer claims nothing while the completer could not record how an attempt ends.
  const bool is_needed_to_work = part == Part::claimer || part == Part::completer || part == Part::lease;
  return std::make_shared<Session>(std::move(settings), std::string{to_text(part)}, log_,
                                   patience(part).longest_backoff, is_needed_to_work ? board_ : nullptr);
}

/// The services of an incarnation, and their messages to one another. The members are destroyed from last to first, so
/// a service stops before the parts that it uses are gone.
struct Worker::Services final : Executor::Listener, LeaseKeeper::Listener {
  explicit Services(Worker& of_worker)
      : worker(of_worker),
        lease(worker.lease_),
        circuits(std::make_shared<Circuits>(worker.definitions_, random_draw, worker.log_)),
        completer(std::make_shared<Completer>(service(Part::completer), lease, circuits, inbox, worker.tally(),
                                              attempt_log())),
        watchdog({.on_defect = defect_of("watchdog")}, [this](TimePoint now) { return watch(now); }),
        executors(make_executors()),
        claimer(service(Part::claimer),
                {.poll_interval = worker.settings_.poll_interval, .sleeps = !worker.settings_.poll_only},
                {lease, worker.definitions_, circuits, inbox, completer, executors}, worker.tally(), worker.log_),
        upkeep(service(Part::upkeep), {.heartbeat = worker.settings_.heartbeat, .lets_others_renew = worker.is_again_},
               lease, worker.definitions_, inbox, worker.schedules_, attempt_log()),
        chores(service(Part::chores), {}, worker.log_),
        keeper(service(Part::lease),
               {.heartbeat = worker.settings_.heartbeat,
                .plan = {.poll_interval = worker.settings_.poll_interval, .listens = !worker.settings_.poll_only},
                .clock = worker.settings_.clock,
                .clock_offset = worker.clock_offset_},
               lease, *this, keeper_inbox, worker.tally()) {
    watchdog.start();  // last, because it watches all the others
  }

  ~Services() {
    watchdog.stop();  // first, because it watches all the others
    claimer.stop();   // it uses the executors
  }

  [[nodiscard]] Service::Settings service(Part part) {
    return {.session = worker.session(part),
            .answer_within = worker.patience(part).answer_within,
            .on_defect = defect_of(to_text(part))};
  }

  [[nodiscard]] std::function<void(std::exception_ptr)> defect_of(std::string_view name) {
    return [this, name](std::exception_ptr error) { worker.note_defect(name, std::move(error)); };
  }

  [[nodiscard]] std::shared_ptr<Executors> make_executors() {
    AttemptSettings attempts = worker.attempts_;
    attempts.worker_id = lease->id();
    attempts.database = handlers;
    attempts.steps = steps;
    attempts.progress = keeper_inbox;
    auto made = std::make_shared<Executors>();
    for (const auto& [queue, concurrency] : worker.settings_.queues) {
      made->add(std::make_unique<Executor>(
          Executor::Settings{queue, static_cast<std::size_t>(concurrency), worker.settings_.stop_grace, attempts},
          Executor::Surroundings{worker.log_, lease, worker.definitions_, worker.tally(), *this}));
    }
    return made;
  }

  [[nodiscard]] AttemptLog attempt_log() const {
    return {worker.log_, worker.settings_.log_retries ? spdlog::level::info : spdlog::level::debug};
  }

  /// For the watchdog: does what is due at `now`, and gives when something is due next.
  TimePoint watch(TimePoint now) {
    TimePoint next = executors->enforce_deadlines(now);
    for (Service* service :
         {&keeper.service(), &claimer.service(), &completer->service(), &upkeep.service(), &chores.service()}) {
      next = std::min(next, service->break_if_stuck(now));
    }
    next = std::min(next, handlers->break_if_stuck(worker.patience(Part::handlers).answer_within, now));
    if (lease->lapse_if_due(now)) doubt_lease();
    if (const Lease::State state = lease->state(); state == Lease::State::held || state == Lease::State::regained) {
      next = std::min(next, lease->held_until());
    }
    if (worker.carries_too_many()) worker.attention_.wake();
    return next;
  }

  /// While the lease is lapsed the completer sends nothing, and the executors begin nothing.
  void doubt_lease() {
    worker.log_->log(
        event("lease_lapsed"), spdlog::level::err,
        "worker {} could not renew its lease for {}: its handlers are asked to stop, and nothing is written until "
        "PostgreSQL says whether the lease was ended",
        lease->id(), duration_to_text(lease->length()));
    executors->stop_all(StopReason::lease_lost);
    worker.attention_.wake();
  }

  // Executor::Listener

  void on_report(Report&& report) override { completer->add(std::move(report)); }
  void on_deadline(TimePoint deadline) override { watchdog.note_deadline(deadline); }
  void on_expired() override { inbox->note_expired(); }
  void on_defect(std::exception_ptr error) override { worker.note_defect("executor", std::move(error)); }

  // LeaseKeeper::Listener

  /// Upkeep and the claimer may not have noticed yet that their connections are lost, or that the server is another
  /// one.
  void on_connected() override {
    upkeep.look();
    inbox->note_server_is_back();
  }
  void on_worker() override { upkeep.look(); }
  void on_schedules() override { upkeep.note_schedules(); }
  [[nodiscard]] bool holds_tasks() const override { return executors->holds_any(); }
  void on_cancel(TaskId id, int attempt) override { executors->cancel(id, attempt); }
  void on_waiting(TaskId id) override { completer->note_awaited(id); }

  void on_progress_refused(const Error& error) override {
    worker.log_->log(event("progress_refused"), spdlog::level::warn,
                     "PostgreSQL refuses to write what handlers say of their progress: {}; trying again each second",
                     error.what());
  }

  /// PostgreSQL has said whether the lease was ended. From now on the database fences each report by itself.
  void on_decided() override {
    if (lease->state() == Lease::State::ended) {
      worker.log_->log(event("lease_lost"), spdlog::level::err,
                       "the lease of worker {} was ended by another worker, which rescues its tasks", lease->id());
      executors->stop_all(StopReason::lease_lost);
    } else {
      worker.log_->log(event("lease_regained"), spdlog::level::info,
                       "nobody had ended the lease of worker {}: what has finished counts", lease->id());
    }
    completer->note_lease_decided();
    worker.attention_.wake();
  }

  Worker& worker;
  const std::shared_ptr<Lease> lease;
  const std::shared_ptr<Circuits> circuits;
  const std::shared_ptr<ClaimInbox> inbox = std::make_shared<ClaimInbox>();
  const std::shared_ptr<Completer> completer;
  Watchdog watchdog;
  const std::shared_ptr<HandlerSession> handlers = std::make_shared<HandlerSession>(worker.session(Part::handlers));
  const std::shared_ptr<Steps> steps = std::make_shared<Steps>(handlers, lease->id());
  const std::shared_ptr<KeeperInbox> keeper_inbox = std::make_shared<KeeperInbox>();
  const std::shared_ptr<Executors> executors;
  Claimer claimer;
  Upkeep upkeep;
  Chores chores;
  LeaseKeeper keeper;
};

ShutdownResult Worker::run(const std::function<void()>& on_ready) {
  ShutdownResult result;
  if (!lease_) return result;  // told to stop before it could register
  if (stop_.is_readable()) {
    sign_off();
    defect_.rethrow();
    return result;
  }
  Incarnation::End end = serve(result, on_ready);
  while (end == Incarnation::End::lease_lost && register_again()) end = serve(result, [] {});
  result.has_too_many = end == Incarnation::End::too_many_abandoned;
  result.abandoned_threads = abandoned_threads();
  return result;
}

/// One incarnation: runs the services until they are to end, and shuts them down.
Incarnation::End Worker::serve(ShutdownResult& result, const std::function<void()>& on_ready) {
  Incarnation incarnation;
  try {
    Services services{*this};
    const Shown shown{*board_, lease_, services.executors};
    log_->log(event("worker_ready"), spdlog::level::info, "worker {} ({}) ready: {}, queues {}", lease_->id(),
              settings_.name, counted(definitions_->size(), "task"), queues_text());
    on_ready();
    wait_for_end(incarnation);
    board_->note(WorkerStatus::State::stopping);
    const milliseconds limit = shutdown_limit_;
    const milliseconds stop_grace = std::min(settings_.stop_grace, limit);
    const milliseconds grace = incarnation.grace(std::min(settings_.grace, limit - stop_grace));
    if (grace > milliseconds{0})
      log_->log(event("worker_stopping"), spdlog::level::info, "stopping: what runs has {} to finish",
                duration_to_text(grace));
    result = shut_down(services, Shutdown{grace, stop_grace});
  } catch (...) {  // the services could not be started
    note_if_defect("main thread");
    sign_off();
    defect_.rethrow();
    throw;
  }
  log_->log(event("worker_stopped"), spdlog::level::info,
            "worker {} stopped: {} given back, {} interrupted, {} left to be rescued", lease_->id(), result.given_back,
            result.interrupted, result.left_behind);
  defect_.rethrow();
  return incarnation.end();
}

/// Looks whenever a stop is requested, or something has happened to the lease, to the threads or to a service.
void Worker::wait_for_end(Incarnation& incarnation) {
  while (incarnation.state() != Incarnation::State::draining) {
    std::array<pollfd, 2> fds{{{stop_.fd(), POLLIN, 0}, {attention_.fd(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) <= 0) continue;  // a signal
    attention_.reset();
    incarnation.on_seen({.has_defect = defect_.is_noted(),
                         .stop_requested = stop_.is_readable(),
                         .carries_too_many = carries_too_many(),
                         .lease = lease_->state()});
  }
  if (incarnation.end() == Incarnation::End::too_many_abandoned) {
    log_->log(event("too_many_abandoned_threads"), spdlog::level::err,
              "this process carries {} whose handlers ignore their stop tokens, more than {}: it ends",
              counted(tally()->abandoned_threads.load(), "thread"), settings_.max_abandoned_threads);
  }
}

/// A service has met a mistake of dogged and has ended, so the worker ends.
void Worker::note_defect(std::string_view part, std::exception_ptr error) {
  defect_.note(std::string{part}, std::move(error));
  attention_.wake();
}

/// Notes the exception in flight if that is a mistake of dogged.
void Worker::note_if_defect(std::string_view part) noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    if (db::is_defect(error)) note_defect(part, std::current_exception());
  } catch (...) {  // not dogged's
  }
}

/// Throws Defect if the exception in flight is a mistake of dogged.
void Worker::throw_if_defect(std::string_view part) {
  note_if_defect(part);
  defect_.rethrow();
}

/// Registers a new incarnation. False if the worker was told to stop before.
bool Worker::register_again() {
  board_->note(WorkerStatus::State::beginning);
  return try_to_register(
      Registering::Occasion::lease_lost, Part::registration, [&](db::Connection& connection, Registering& registering) {
        const auto registered =
            register_worker(connection, row(), *definitions_, lease_->id(), registering, stop_, *log_);
        if (!registered) return;
        log_->log(event("lease_replaced"), spdlog::level::warn, "worker {} goes on as worker {}", lease_->id(),
                  registered->worker_id);
        hold(*registered);
        is_again_ = true;
      });
}

ShutdownResult Worker::shut_down(Services& services, Shutdown shutdown) {
  ShutdownResult result;
  std::vector<Report> given_up;
  for (auto action = shutdown.next(SteadyClock::now()); action.step != Shutdown::Step::ended;
       action = shutdown.next(SteadyClock::now())) {
    shutdown.on_done(carry_out(action, services, result, given_up));
  }
  return result;
}

/// False if the step has failed, or has taken too long. `given_up`: the reports of the handlers that were given up.
bool Worker::carry_out(const Shutdown::Action& action, Services& services, ShutdownResult& result,
                       std::vector<Report>& given_up) {
  switch (action.step) {
    case Shutdown::Step::stop_claiming:
      services.claimer.stop();
      services.keeper_inbox->note_stopping();
      return true;
    case Shutdown::Step::give_back:
      return give_back(services, result, action.until);
    case Shutdown::Step::let_finish:
      return let_finish(services, action.until);
    case Shutdown::Step::stop_handlers:
      services.executors->stop_all(StopReason::shutdown);
      return services.executors->wait_idle(action.until);
    case Shutdown::Step::give_up_handlers:
      given_up = services.executors->give_up_all();
      return true;
    case Shutdown::Step::write_reports:
      return services.completer->wait_written(action.until);
    case Shutdown::Step::sign_off:
      return sign_off();
    case Shutdown::Step::record_interrupted:
      record_interrupted(services, result, std::exchange(given_up, {}));
      return true;
    case Shutdown::Step::finish_reports:
      return finish_reports(services, result, action.until);
    case Shutdown::Step::wake_others:
      return wake_others();
    case Shutdown::Step::ended:
      break;
  }
  return true;
}

/// Gives back what was claimed and has not begun.
bool Worker::give_back(Services& services, ShutdownResult& result, TimePoint until) {
  const std::vector<ClaimedTask> unstarted = services.executors->take_back();
  services.watchdog.note_deadline(until);
  const bool given = services.claimer.give_back(unstarted, until);
  (given ? result.given_back : result.left_behind) += unstarted.size();
  if (!given)
    log_->log(event("give_back_failed"), spdlog::level::err, "{} could not be given back",
              counted(unstarted.size(), "claimed task"));
  services.claimer.disconnect();
  return given;
}

bool Worker::let_finish(Services& services, TimePoint until) {
  const bool has_time = SteadyClock::now() < until;
  const bool have_finished = services.executors->wait_idle(until);
  if (has_time && !have_finished)
    log_->log(event("grace_over"), spdlog::level::warn, "the grace period is over: stop tokens are set");
  return have_finished;
}

void Worker::record_interrupted(Services& services, ShutdownResult& result, std::vector<Report> interrupted) {
  for (Report& report : interrupted) {
    log_->log(event("attempt_interrupted"), spdlog::level::warn, "task {} attempt {} still runs; it is recorded as {}",
              report.id, report.attempt, lifecycle::to_text(report.transition.outcome));
    services.completer->add(std::move(report));
    ++result.interrupted;
  }
}

bool Worker::finish_reports(Services& services, ShutdownResult& result, TimePoint until) {
  const std::size_t not_written = services.completer->finish(until);
  if (not_written > 0)
    log_->log(event("reports_lost"), spdlog::level::err, "{} could not be written", counted(not_written, "report"));
  result.left_behind += not_written;
  return not_written == 0;
}

bool Worker::sign_off() noexcept {
  try {
    session(Part::shutdown)->connection().run(sql::StopWorker{.worker_id = lease_->id()});
    return true;
  } catch (const std::exception& error) {
    log_->log(event("sign_off_failed"), spdlog::level::warn, "could not sign off: {}", error.what());
    note_if_defect(to_text(Part::shutdown));
    return false;
  }
}

/// Wakes sleeping workers for interrupted tasks and for retries.
bool Worker::wake_others() noexcept {
  try {
    std::vector<std::string> queues;
    for (const auto& [queue, concurrency] : settings_.queues) queues.push_back(queue);
    session(Part::shutdown)->connection().run(sql::WakeOthers{.worker_id = lease_->id(), .queues = std::move(queues)});
    return true;
  } catch (const std::exception& error) {
    log_->log(event("wake_failed"), spdlog::level::warn, "could not wake other workers: {}", error.what());
    note_if_defect(to_text(Part::shutdown));
    return false;
  }
}

bool Worker::carries_too_many() const noexcept { return tally()->abandoned_threads > settings_.max_abandoned_threads; }

std::string Worker::queues_text() const {
  std::string text;
  for (const auto& [queue, concurrency] : settings_.queues) {
    text += (text.empty() ? "" : ",") + queue + ":" + std::to_string(concurrency);
  }
  return text;
}

}  // namespace dogged::runtime
