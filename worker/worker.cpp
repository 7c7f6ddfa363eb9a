// See worker.hpp.
#include "worker.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <poll.h>

#include <dogged/retry_options.hpp>

#include "circuits.hpp"
#include "claimer.hpp"
#include "completer.hpp"
#include "executor.hpp"
#include "lease_keeper.hpp"
#include "migrate/migrate.hpp"
#include "migrate/missing_role.hpp"
#include "retry/duration.hpp"
#include "sql_statements.hpp"
#include "upkeep.hpp"
#include "watchdog.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds time_to_give_back{5'000};
constexpr milliseconds time_to_write{5'000};  // at the end, for the last reports
constexpr milliseconds shortest_heartbeat_answer{200};
constexpr milliseconds between_looks{100};  // while the lease is in doubt: whether a stop was asked for

// A statement that has waited for that long is given up by the server, and a little later by the worker.
constexpr milliseconds shortest_statement_timeout{5'000};
constexpr milliseconds longest_statement_timeout{30'000};
constexpr milliseconds server_gives_up_within{5'000};
constexpr milliseconds upkeep_statement_timeout{120'000};  // partitions may have to be filled

std::map<std::string, int> queues_of(const Definitions& definitions, int concurrency) {
  std::map<std::string, int> queues;
  for (const auto& [name, definition] : definitions) queues.emplace(definition.queue, concurrency);
  return queues;
}

milliseconds statement_timeout(const WorkerSettings& settings, const std::string& service) {
  if (service == "upkeep" || service == "start") return upkeep_statement_timeout;
  return std::clamp(settings.lease, shortest_statement_timeout, longest_statement_timeout);
}

/// Waits until no executor runs anything, or `time` is over; true if nothing runs.
bool wait_idle(const std::vector<std::unique_ptr<Executor>>& executors, milliseconds time) {
  const auto until = SteadyClock::now() + time;
  bool idle = true;
  for (const auto& executor : executors) idle = executor->wait_idle(until) && idle;
  return idle;
}

/// Its schema, and how its transactions see what others commit.
void require_usable(db::Connection& connection) {
  migrate::require_current(connection);
  const std::string isolation{connection.run(sql::read_isolation).one().text("isolation")};
  if (isolation == "read committed") return;
  throw InvalidInput("transactions of this role or database are \"" + isolation +
                         "\" unless said otherwise; a worker needs \"read committed\"",
                     "set default_transaction_isolation of its role: alter role … set default_transaction_isolation = "
                     "'read committed'");
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

Worker::Worker(WorkerSettings settings, Definitions definitions, std::shared_ptr<spdlog::logger> log,
               const WakeFd& stop)
    : settings_(std::move(settings)),
      definitions_(std::make_shared<const Definitions>(std::move(definitions))),
      log_(std::move(log)),
      stop_(stop) {
  require_sound(settings_);
  if (settings_.queues.empty()) settings_.queues = queues_of(*definitions_, settings_.default_concurrency);
  Session database = session("start");
  std::optional<std::int64_t> previous_lease = settings_.previous_lease;
  is_again_ = previous_lease.has_value();
  while (!lease_) {
    try {
      begin(database.connection(), previous_lease);
      database.succeeded();
    } catch (const DatabaseError& error) {
      if (!is_again_) throw;
      database.recover_from(error, {});
      if (stop_.wait(milliseconds{0})) lease_ = std::make_shared<Lease>(0, settings_.lease, SteadyClock::now());
    }
  }
}

/// Where this fails after it has registered, `previous_lease` is the one that it has by then.
void Worker::begin(db::Connection& connection, std::optional<std::int64_t>& previous_lease) {
  try {
    require_usable(connection);
    const db::Rows limits = connection.run(sql::read_settings);
    limits_.max_result_bytes = static_cast<std::size_t>(limits.one().number("max_result_bytes"));
    limits_.max_error_message_bytes = static_cast<std::size_t>(limits.one().number("max_error_message_bytes"));
    connection.run(sql::make_partitions);

    const auto registered = register_worker(connection, row(), *definitions_, previous_lease, stop_, *log_);
    if (registered) {
      previous_lease = registered->worker_id;
      publish_definitions(connection, *definitions_, row(), *log_);
    }
    const Registration registration = registered.value_or(Registration{});
    clock_offset_ = registration.clock;
    lease_ = std::make_shared<Lease>(registration.worker_id, settings_.lease, registration.asked_at);
  } catch (const DatabaseError& error) {
    if (!migrate::is_missing_right(error)) throw;
    // complete_in is for workers alone: who may use it may do the rest.
    const auto hint = migrate::hint_for_missing_role(connection, "complete_in");
    throw DatabaseError(error.message(), hint.value_or(error.hint()), error.sqlstate());
  }
}

Worker::~Worker() = default;

std::int64_t Worker::id() const { return lease_->id(); }

Session Worker::session(const std::string& service, milliseconds longest_backoff) const {
  db::Settings settings = settings_.database;
  settings.statement_timeout = statement_timeout(settings_, service);
  settings.pooled = settings_.poll_only;
  return {std::move(settings), service, log_, longest_backoff};
}

/// The services of an incarnation.
struct Worker::Services {
  explicit Services(Worker& of_worker)
      : worker(of_worker),
        lease(worker.lease_),
        circuits(*worker.definitions_, random_draw, worker.log_),
        claimer(worker.session("claimer"),
                {.poll_interval = worker.settings_.poll_interval, .sleeps = !worker.settings_.poll_only}, *lease,
                *worker.definitions_, circuits, worker.tally_, worker.log_),
        completer(worker.session("completer"), *lease, circuits,
                  {.on_retry = [this](SteadyClock::duration delay) { claimer.note_due(delay); },
                   .on_ready = [this] { claimer.note_ready(); },
                   .on_room = [this] { claimer.note_room(); }},
                  worker.tally_, worker.log_),
        watchdog([this](SteadyClock::time_point now) { return watch(now); }) {
    const WorkerSettings& settings = worker.settings_;
    for (const auto& [queue, concurrency] : settings.queues) {
      executors.push_back(std::make_unique<Executor>(
          Executor::Settings{queue, static_cast<std::size_t>(concurrency), settings.stop_grace,
                             AttemptSettings{lease->id(), settings.database.schema, worker.limits_}},
          Executor::Surroundings{.log = worker.log_,
                                 .lease = lease,
                                 .definitions = worker.definitions_,
                                 .tally = worker.tally_,
                                 .on_report = [this](Report report) { completer.add(std::move(report)); },
                                 .on_deadline = [this](SteadyClock::time_point at) { watchdog.note_deadline(at); },
                                 .on_expired = [this] { claimer.note_expired(); }}));
    }
    upkeep.emplace(
        worker.session("upkeep"), Upkeep::Settings{settings.heartbeat, worker.is_again_}, *lease, *worker.definitions_,
        [this] { claimer.ring(""); }, worker.log_);
    keeper.emplace(worker.session("lease", std::min<milliseconds>(settings.heartbeat, std::chrono::seconds{5})),
                   LeaseKeeper::Settings{.heartbeat = settings.heartbeat,
                                         .poll_interval = settings.poll_interval,
                                         .listens = !settings.poll_only,
                                         .clock = settings.clock,
                                         .clock_offset = worker.clock_offset_},
                   *lease,
                   LeaseKeeper::Callbacks{.on_connected = [this] { look_again(); },
                                          .on_worker = [this] { upkeep->look(); },
                                          .holds_tasks = [this] { return holds_tasks(); },
                                          .on_cancel = [this](TaskId id, int attempt) { cancel(id, attempt); },
                                          .on_waiting = [this](TaskId id) { completer.note_awaited(id); },
                                          .on_decided = [this] { take_decision(); }},
                   worker.tally_);
    watchdog.start();
    claimer.start(executors, completer);
  }

  ~Services() {
    watchdog.stop();  // it looks after all the others
    claimer.stop();   // it uses the executors
  }

  /// Of the watchdog: what is due at `now`, and when there is something to see to next.
  SteadyClock::time_point watch(SteadyClock::time_point now) {
    SteadyClock::time_point next = give_up_dead_connections(now);
    for (const auto& executor : executors) next = std::min(next, executor->enforce_deadlines(now));
    if (lease->lapse_if_due(now)) doubt_lease();
    if (const Lease::State state = lease->state(); state == Lease::State::held || state == Lease::State::regained) {
      next = std::min(next, lease->held_until());
    }
    if (worker.carries_too_many()) worker.attention_.wake();
    return next;
  }

  /// A third of the lease for an answer to a heartbeat: then there is time for another connection. Gives when to look
  /// again.
  SteadyClock::time_point give_up_dead_connections(SteadyClock::time_point now) noexcept {
    const milliseconds for_heartbeat = std::max(lease->length() / 3, shortest_heartbeat_answer);
    const milliseconds for_tasks = statement_timeout(worker.settings_, "") + server_gives_up_within;
    const milliseconds for_upkeep = upkeep_statement_timeout + server_gives_up_within;
    return std::min({keeper->abort_if_busy_for(for_heartbeat, now), claimer.abort_if_busy_for(for_tasks, now),
                     completer.abort_if_busy_for(for_tasks, now), upkeep->abort_if_busy_for(for_upkeep, now)});
  }

  /// A connection was lost and is back: the others may not have noticed yet that theirs are, or where the server is
  /// now.
  void look_again() {
    upkeep->look();
    claimer.look_again();
  }

  /// The completer sends nothing while the lease is lapsed, and the executors begin nothing more.
  void doubt_lease() {
    worker.log_->error(
        "worker {} could not renew its lease for {}: its handlers are asked to stop, and nothing is written until "
        "PostgreSQL says whether the lease was ended",
        lease->id(), duration_to_text(lease->length()));
    for (const auto& executor : executors) executor->stop_all(StopReason::lease_lost);
    worker.attention_.wake();
  }

  /// PostgreSQL has said whether the lease was ended. Whatever is reported now is fenced there, task by task.
  void take_decision() {
    if (lease->state() == Lease::State::ended) {
      worker.log_->error("the lease of worker {} was ended by another worker, which rescues its tasks", lease->id());
      for (const auto& executor : executors) executor->stop_all(StopReason::lease_lost);
    } else {
      worker.log_->info("nobody had ended the lease of worker {}: what has finished counts", lease->id());
    }
    completer.look_again();
    worker.attention_.wake();
  }

  [[nodiscard]] bool holds_tasks() const {
    return std::any_of(executors.begin(), executors.end(), [](const auto& executor) { return executor->holds_any(); });
  }

  void cancel(TaskId id, int attempt) {
    for (const auto& executor : executors) executor->cancel(id, attempt);
  }

  Worker& worker;
  const std::shared_ptr<Lease> lease;
  Circuits circuits;
  Claimer claimer;
  Completer completer;
  Watchdog watchdog;
  std::vector<std::unique_ptr<Executor>> executors;
  std::optional<Upkeep> upkeep;
  std::optional<LeaseKeeper> keeper;
};

ShutdownResult Worker::run() {
  ShutdownResult result;
  if (id() == 0) return result;  // told to stop before it could register
  bool goes_on = true;
  while (goes_on) {
    try {
      Services services{*this};
      log_->info("worker {} ({}) ready: {} tasks, queues {}", id(), settings_.name, definitions_->size(),
                 queues_text());
      const Event event = wait_for_event();
      if (event == Event::lease_in_doubt) wait_until_decided();
      goes_on = event == Event::lease_in_doubt;
      result = shut_down(services, goes_on ? milliseconds{0} : settings_.grace);
      result.restart = event == Event::too_many_abandoned;
    } catch (...) {  // its services could not be started
      sign_off();
      throw;
    }
    log_->info("worker {} stopped: {} given back, {} interrupted, {} left to be rescued", id(), result.given_back,
               result.interrupted, result.left_behind);
    goes_on = goes_on && register_again();
  }
  result.carries_threads = tally_->abandoned_threads > 0;
  return result;
}

Worker::Event Worker::wait_for_event() {
  while (true) {
    std::array<pollfd, 2> fds{{{stop_.fd(), POLLIN, 0}, {attention_.fd(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) <= 0) continue;  // a signal
    attention_.reset();
    if (fds[0].revents != 0) return Event::stop;
    if (lease_->state() != Lease::State::held) return Event::lease_in_doubt;
    if (carries_too_many()) {
      log_->error("this process carries {} threads whose handlers ignore their stop tokens, more than {}: it restarts",
                  tally_->abandoned_threads.load(), settings_.max_abandoned_threads);
      return Event::too_many_abandoned;
    }
  }
}

void Worker::wait_until_decided() {
  while (lease_->wait_while_lapsed(between_looks) == Lease::State::lapsed && !stop_.wait(milliseconds{0})) {
  }
}

/// As a new incarnation, as soon as PostgreSQL answers; false if it was told to stop before.
bool Worker::register_again() {
  Session database = session("registration");
  while (!stop_.wait(milliseconds{0})) {
    try {
      const auto registered = register_worker(database.connection(), row(), *definitions_, lease_->id(), stop_, *log_);
      if (!registered) return false;
      log_->warn("worker {} goes on as worker {}", lease_->id(), registered->worker_id);
      lease_ = std::make_shared<Lease>(registered->worker_id, settings_.lease, registered->asked_at);
      clock_offset_ = registered->clock;
      is_again_ = true;
      return true;
    } catch (const DatabaseError& error) {
      database.recover_from(error, {});
    }
  }
  return false;
}

ShutdownResult Worker::shut_down(Services& services, milliseconds grace) {
  if (grace > milliseconds{0}) log_->info("stopping: what runs has {} to finish", duration_to_text(grace));
  ShutdownResult result;
  services.claimer.stop();
  std::vector<ClaimedTask> unstarted;
  for (const auto& executor : services.executors) {
    for (ClaimedTask& task : executor->take_back()) unstarted.push_back(std::move(task));
  }
  if (services.claimer.give_back(unstarted, SteadyClock::now() + time_to_give_back)) {
    result.given_back = unstarted.size();
  } else {
    log_->error("{} claimed tasks could not be given back", unstarted.size());
    result.left_behind += unstarted.size();
  }
  services.claimer.disconnect();

  const bool cuts_short = !wait_idle(services.executors, grace);
  if (cuts_short) {
    if (grace > milliseconds{0}) log_->warn("the grace period is over: stop tokens are set");
    for (const auto& executor : services.executors) executor->stop_all(StopReason::shutdown);
    wait_idle(services.executors, settings_.stop_grace);
  }
  const auto until = SteadyClock::now() + time_to_write;
  const bool has_signed_off = interrupt_what_runs(services, result, until);
  const std::size_t not_written = services.completer.finish(SteadyClock::now() + time_to_write);
  if (not_written > 0) log_->error("{} reports could not be written", not_written);
  result.left_behind += not_written;
  if (cuts_short || has_signed_off) wake_others();  // the retries are not worth another wait for a connection
  return result;
}

/// Everything else is written, and this worker has signed off, before what still runs is declared interrupted: another
/// worker may begin it the moment that is written.
/// False if it could not sign off.
bool Worker::interrupt_what_runs(Services& services, ShutdownResult& result, SteadyClock::time_point until) {
  std::vector<Report> interrupted;
  for (const auto& executor : services.executors) {
    for (Report& report : executor->give_up_all()) interrupted.push_back(std::move(report));
  }
  services.completer.wait_written(until);
  const bool has_signed_off = sign_off();
  for (Report& report : interrupted) {
    log_->warn("task {} attempt {} still runs; it is recorded as {}", report.id, report.attempt,
               lifecycle::to_text(report.transition.outcome));
    services.completer.add(std::move(report));
    ++result.interrupted;
  }
  return has_signed_off;
}

bool Worker::sign_off() noexcept {
  try {
    session("shutdown").connection().run(sql::stop_worker, db::Params{}.add(id()));
    return true;
  } catch (const std::exception& error) {
    log_->warn("could not sign off: {}", error.what());
    return false;
  }
}

/// For what was interrupted, and for retries: workers that sleep are told of them.
void Worker::wake_others() noexcept {
  try {
    std::vector<std::string> queues;
    for (const auto& [queue, concurrency] : settings_.queues) queues.push_back(queue);
    session("shutdown").connection().run(sql::wake_others, db::Params{}.add(id()).add(queues));
  } catch (const std::exception& error) {
    log_->warn("could not wake other workers: {}", error.what());
  }
}

bool Worker::carries_too_many() const noexcept { return tally_->abandoned_threads > settings_.max_abandoned_threads; }

std::string Worker::queues_text() const {
  std::string text;
  for (const auto& [queue, concurrency] : settings_.queues) {
    text += (text.empty() ? "" : ",") + queue + ":" + std::to_string(concurrency);
  }
  return text;
}

}  // namespace dogged::runtime
