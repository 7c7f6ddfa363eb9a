// See worker.hpp.
#include "worker.hpp"

#include <cerrno>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "claimer.hpp"
#include "completer.hpp"
#include "executor.hpp"
#include "listener.hpp"
#include "migrate/migrate.hpp"
#include "retry/duration.hpp"
#include "session.hpp"
#include "sql_statements.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds time_to_write{10'000};  // at the end, for the last reports

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.c_str();
}

std::map<std::string, int> queues_of(const Definitions& definitions, int concurrency) {
  std::map<std::string, int> queues;
  for (const auto& [name, definition] : definitions) queues.emplace(definition.queue, concurrency);
  return queues;
}

db::Params definition_params(const Definitions& definitions) {
  std::vector<std::string> names, queues, policies, codes;
  std::vector<std::optional<std::int64_t>> timeouts_ms;
  std::vector<std::string> retry_lost;
  std::vector<std::int64_t> max_losses;
  for (const auto& [name, definition] : definitions) {
    names.push_back(name);
    queues.push_back(definition.queue);
    policies.push_back(policy_to_json(definition.rules.policy));
    codes.push_back(nlohmann::json(definition.rules.auto_retry_for).dump());
    timeouts_ms.push_back(definition.timeout.count() > 0 ? std::optional{std::int64_t{definition.timeout.count()}}
                                                         : std::nullopt);
    retry_lost.emplace_back(definition.rules.retry_lost ? "t" : "f");
    max_losses.push_back(definition.rules.max_losses);
  }
  db::Params params;
  params.add(names).add(queues).add(policies).add(codes).add(timeouts_ms).add(retry_lost).add(max_losses);
  return params.add(DOGGED_VERSION);
}

void wait_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  while (::poll(&waiting, 1, -1) < 0 && errno == EINTR) {
  }
}

/// Waits until no executor runs anything, or `time` is over; true if nothing runs.
bool wait_idle(const std::vector<std::unique_ptr<Executor>>& executors, milliseconds time) {
  const auto until = SteadyClock::now() + time;
  bool idle = true;
  for (const auto& executor : executors) idle = executor->wait_idle(until) && idle;
  return idle;
}

}  // namespace

Worker::Worker(WorkerSettings settings, Definitions definitions, std::shared_ptr<spdlog::logger> log)
    : settings_(std::move(settings)), definitions_(std::move(definitions)), log_(std::move(log)) {
  if (settings_.queues.empty()) settings_.queues = queues_of(definitions_, settings_.default_concurrency);
  db::Connection connection{settings_.database};
  migrate::require_current(connection);
  register_itself(connection);
}

Worker::~Worker() = default;

void Worker::register_itself(db::Connection& connection) {
  const db::Rows limits = connection.run(sql::read_settings);
  limits_.max_result_bytes = static_cast<std::size_t>(limits.one().number("max_result_bytes"));
  limits_.max_error_message_bytes = static_cast<std::size_t>(limits.one().number("max_error_message_bytes"));

  std::set<std::string> served;
  for (const auto& [queue, concurrency] : settings_.queues) served.insert(queue);
  for (const auto& [name, definition] : definitions_) served.insert(definition.queue);
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions_) names.push_back(name);

  connection.transaction([&] {
    connection.run(sql::create_queues, db::Params{}.add(std::vector<std::string>{served.begin(), served.end()}));
    connection.run(sql::publish_definitions, definition_params(definitions_));
    id_ = connection
              .run(sql::register_worker, db::Params{}
                                             .add(settings_.name)
                                             .add(host_name())
                                             .add(static_cast<std::int64_t>(::getpid()))
                                             .add(DOGGED_VERSION)
                                             .add(nlohmann::json(settings_.queues).dump())
                                             .add(names))
              .one()
              .number("id");
  });
  connection.run(sql::make_partitions);
}

Session Worker::session(const std::string& service) const {
  db::Settings settings = settings_.database;
  // Making partitions may have to move a day's rows; whoever listens waits for nothing else.
  if (service != "listener") settings.statement_timeout = settings_.statement_timeout;
  return {std::move(settings), service, log_};
}

/// The services of a running worker, in the order in which they may refer to each other. Destroyed from the last to the
/// first, after the claimer has stopped to use the executors.
struct Worker::Services {
  explicit Services(const Worker& worker)
      : claimer(worker.session("claimer"), {worker.id_, worker.settings_.poll_interval}, worker.definitions_,
                worker.log_),
        completer(worker.session("completer"), worker.id_,
                  {.on_retry = [this](milliseconds delay) { claimer.note_due(delay); },
                   .on_room = [this] { claimer.note_room(); }},
                  worker.log_),
        listener(
            worker.session("listener"), [this](std::string_view queue) { claimer.ring(queue); }, worker.log_) {
    for (const auto& [queue, concurrency] : worker.settings_.queues) {
      executors.push_back(
          std::make_unique<Executor>(Executor::Settings{queue, static_cast<std::size_t>(concurrency), worker.limits_},
                                     worker.log_, [this](Report report) { completer.add(std::move(report)); }));
    }
    claimer.start(executors, completer);
  }
  ~Services() { claimer.stop(); }

  Claimer claimer;
  Completer completer;
  std::vector<std::unique_ptr<Executor>> executors;
  Listener listener;
};

ShutdownResult Worker::run(const WakeFd& stop) {
  try {
    Services services{*this};
    log_->info("worker {} ({}) ready: {} tasks, queues {}", id_, settings_.name, definitions_.size(), queues_text());
    wait_readable(stop.fd());
    const ShutdownResult result = shut_down(services);
    log_->info("worker {} stopped: {} given back, {} interrupted, {} left to be rescued", id_, result.given_back,
               result.interrupted, result.left_behind);
    return result;
  } catch (...) {  // its services could not be started
    sign_off();
    throw;
  }
}

ShutdownResult Worker::shut_down(Services& services) {
  log_->info("stopping: what runs has {} to finish", duration_to_text(settings_.grace));
  ShutdownResult result;
  services.listener.stop();
  services.claimer.stop();
  std::vector<ClaimedTask> unstarted;
  for (const auto& executor : services.executors) {
    for (ClaimedTask& task : executor->take_back()) unstarted.push_back(std::move(task));
  }
  if (services.claimer.give_back(unstarted, SteadyClock::now() + time_to_write)) {
    result.given_back = unstarted.size();
  } else {
    log_->error("{} claimed tasks could not be given back", unstarted.size());
    result.left_behind += unstarted.size();
  }

  if (!wait_idle(services.executors, settings_.grace)) {
    log_->warn("the grace period is over: stop tokens are set");
    for (const auto& executor : services.executors) executor->request_stop();
    wait_idle(services.executors, settings_.after_stop_token);
  }
  interrupt_what_runs(services, result);
  const std::size_t not_written = services.completer.finish(SteadyClock::now() + time_to_write);
  if (not_written > 0) log_->error("{} reports could not be written", not_written);
  result.left_behind += not_written;
  if (result.interrupted > 0) wake_others();
  return result;
}

/// Everything else is written, and this worker has signed off, before what still runs is declared interrupted: another
/// worker may begin it the moment that is written, and this process ends right after.
void Worker::interrupt_what_runs(Services& services, ShutdownResult& result) {
  std::vector<Report> interrupted;
  for (const auto& executor : services.executors) {
    for (Report& report : executor->abandon()) interrupted.push_back(std::move(report));
  }
  services.completer.wait_written(SteadyClock::now() + time_to_write);
  sign_off();
  for (Report& report : interrupted) {
    log_->warn("task {} attempt {} still runs; it is recorded as interrupted and runs again elsewhere", report.id,
               report.attempt);
    services.completer.add(std::move(report));
    ++result.interrupted;
  }
}

void Worker::sign_off() noexcept {
  try {
    session("shutdown").connection().run(sql::stop_worker, db::Params{}.add(id_));
  } catch (const std::exception& error) {
    log_->warn("could not sign off: {}", error.what());
  }
}

/// For the interrupted tasks: workers that sleep are told of them.
void Worker::wake_others() noexcept {
  try {
    std::vector<std::string> queues;
    for (const auto& [queue, concurrency] : settings_.queues) queues.push_back(queue);
    session("shutdown").connection().run(sql::wake_others, db::Params{}.add(id_).add(queues));
  } catch (const std::exception& error) {
    log_->warn("could not wake other workers: {}", error.what());
  }
}

std::string Worker::queues_text() const {
  std::string text;
  for (const auto& [queue, concurrency] : settings_.queues) {
    text += (text.empty() ? "" : ",") + queue + ":" + std::to_string(concurrency);
  }
  return text;
}

}  // namespace dogged::runtime
