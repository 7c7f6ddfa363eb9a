// The statements of circuits, and those that put tasks off, on the model and on PostgreSQL. See comparison.hpp.
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "circuit/shared_circuit.hpp"
#include "circuits/core/ledger.hpp"
#include "cli/changes/forced_circuits.hpp"
#include "comparison.hpp"
#include "sql/claim.hpp"
#include "sql/registration.hpp"

namespace dogged::sim {
namespace {

using detail::CircuitEvent;
using runtime::CircuitLedger;

constexpr minutes spread{7};  // of a ready task that is deferred: no sum of it and other times equals another sum
constexpr minutes tolerance{1};

const std::string& name_of(std::size_t circuit) {
  static const std::vector<std::string> names{std::string{circuit_of(Kind::charging)},
                                              std::string{circuit_of(Kind::mailing)}};
  return names.at(circuit);
}

/// A closed circuit's time says nothing.
std::string text_of(const circuit::SharedCircuit& as_read) {
  const auto& [name, settings, circuit, now_ms] = as_read;
  std::ostringstream text;
  text << name << " opens after " << settings.failure_threshold << " for " << settings.recovery_timeout.count()
       << " ms, closes after " << settings.success_threshold << ": " << to_text(circuit.state) << ' '
       << circuit.failures << ' ' << circuit.successes << ' ' << circuit.probes << " generation " << circuit.generation
       << (circuit.is_forced ? " forced" : "");
  if (circuit.state != CircuitState::closed) text << " for " << in_minutes(milliseconds{now_ms - circuit.since_ms});
  return text.str();
}

}  // namespace

/// With other settings for each seed.
void Comparison::publish_circuits() {
  model_.spread_of = [](milliseconds) { return Duration{spread}; };
  for (std::size_t i = 0; i < 2; ++i) {
    const CircuitBreakerSettings settings{.failure_threshold = static_cast<int>(scheduler_.pick(1, 3)),
                                          .recovery_timeout = delay,
                                          .success_threshold = static_cast<int>(scheduler_.pick(1, 2))};
    model_.publish_circuit(name_of(i), settings);
    postgres_.run(sql::PublishCircuits{.names = {name_of(i)},
                                       .failure_thresholds = {settings.failure_threshold},
                                       .recovery_timeouts_ms = {settings.recovery_timeout.count()},
                                       .success_thresholds = {settings.success_threshold}});
  }
}

const std::string& Comparison::any_circuit() { return name_of(scheduler_.chance(70) ? 0 : 1); }

/// The change of a worker, on both: as it is under its lock.
void Comparison::change_circuit(const std::string& name,
                                const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how) {
  const auto locked = model_.try_lock_circuit(name, std::chrono::milliseconds{1});
  const auto outcome = circuit::try_change_circuit(postgres_, name, how).outcome;
  require_alike("the circuit is free", locked.has_value(), outcome == circuit::TriedChange::Outcome::changed);
  if (locked) (void)model_.save_circuit(name, locked->lock, how(locked->circuit));
}

void Comparison::read_circuits() {
  note("a worker reads the circuits");
  Lines model, postgres;
  for (const circuit::SharedCircuit& circuit : model_.read_circuits()) model.insert(text_of(circuit));
  for (const circuit::SharedCircuit& circuit : circuit::read_circuits(postgres_)) postgres.insert(text_of(circuit));
  require_alike("circuits as a worker reads them", model, postgres);
}

void Comparison::ask_circuit() {
  const std::string& name = any_circuit();
  const auto count = static_cast<std::size_t>(scheduler_.pick(1, 3));
  note("a worker asks the circuit " + name + " for " + std::to_string(count));
  std::vector<CircuitLedger::Admission> answers;
  change_circuit(name, [&](const circuit::SharedCircuit& as_read) {
    const auto [admission, after] = CircuitLedger::ask(as_read, count);
    answers.push_back(admission);
    return after;
  });
  if (answers.size() != 2) return;  // it was locked
  for (CircuitLedger::Admission& answer : answers) answer.wait = std::chrono::round<minutes>(answer.wait);
  require_alike("the answer of the circuit", answers[1], answers[0]);
}

void Comparison::report_to_circuit() {
  const std::string& name = any_circuit();
  CircuitLedger::Events events;
  std::string text = "a worker reports to the circuit " + name;
  for (std::int64_t i = scheduler_.pick(1, 2); i > 0; --i) {
    const std::int64_t generation = model_.circuit(name).circuit.generation - (scheduler_.chance(10) ? 1 : 0);
    using Kind = CircuitEvent::Kind;
    const std::int64_t kind = scheduler_.pick(0, 3);
    events.push_back({kind == 0 ? Kind::success : kind == 1 ? Kind::abandon : Kind::failure, generation});
    text += kind == 0 ? " success" : kind == 1 ? " abandon" : " failure";
  }
  note(text);
  change_circuit(name, [&](const circuit::SharedCircuit& as_read) { return CircuitLedger::after(as_read, events); });
}

void Comparison::change_circuit_by_hand() {
  const std::string& name = any_circuit();
  if (model_.is_locked(name)) return;  // it would wait
  const bool opens = scheduler_.chance(50);
  note(std::string{opens ? "open" : "close"} + " the circuit " + name + " by hand");
  (void)model_.change_circuit(name, opens ? CircuitEvent::Kind::force_open : CircuitEvent::Kind::reset);
  (void)(opens ? cli::open_circuit(postgres_, name) : cli::close_circuit(postgres_, name));
}

void Comparison::lock_circuit() {
  if (locked_circuit_) return;
  const std::string& name = any_circuit();
  note("lock the circuit " + name);
  circuit_locker_.run({"begin", "begin"});
  (void)circuit_locker_.run({"lock", "select from dogged.circuits where name = $1 for update"}, db::Params{}.add(name));
  (void)model_.lock_circuit(name, std::chrono::hours{24 * 365});
  locked_circuit_ = name;
  locking_circuit_ = model_.begin();
}

void Comparison::unlock_circuit() {
  note("unlock the circuit " + *locked_circuit_);
  circuit_locker_.run({"rollback", "rollback"});
  model_.unlock_circuit(*locked_circuit_);
  model_.roll_back(*locking_circuit_);
  locked_circuit_.reset();
  locking_circuit_.reset();
}

void Comparison::defer() {
  const std::int64_t worker = any_worker();
  const std::int64_t session = session_of(worker);
  std::vector<Attempt> attempts = some_attempts();
  std::erase_if(attempts, [this](const Attempt& attempt) { return has_steps(attempt); });
  note("worker " + std::to_string(worker) + " defers " + std::to_string(attempts.size()) + " in session " +
       std::to_string(session));
  sql::Defer defer{.worker_id = worker, .claim_session = session, .ids = {}, .attempts = {}, .waits_ms = {}};
  std::vector<Database::PutOff> put_off;
  std::set<TaskId> model, postgres;
  for (const Attempt& attempt : attempts) {
    put_off.push_back({attempt, delay});
    defer.ids.push_back(attempt.id);
    defer.attempts.push_back(attempt.number);
    defer.waits_ms.push_back(milliseconds{delay}.count());
    postgres.insert(attempt.id);
  }
  for (const Attempt& attempt : model_.defer(worker, put_off, session)) model.insert(attempt.id);
  postgres_.transaction([&] {
    const auto deferred = postgres_.run(defer);
    cancel_released(deferred);
    for (const sql::Defer::Row& task : deferred) postgres.erase(task.id);
  });
  require_alike("not deferred", model, postgres);
}

/// PostgreSQL spreads the tasks at random: their times are compared with the bounds, and then set to those of the
/// model.
void Comparison::defer_ready() {
  const std::string& circuit = any_circuit();
  const std::string& queue = any_queue();
  const Kind kind = scheduler_.chance(80) ? Kind::plain : Kind::fragile;
  const std::string& task = task_names[kind == Kind::plain ? 0 : 1];
  const runtime::Place from =
      scheduler_.chance(70) ? std::numeric_limits<runtime::Place>::min() : runtime::place_of(scheduler_.pick(-1, 1), 0);
  note("defer ready tasks named " + task + " in " + queue + " from " + std::to_string(from) + ", by the circuit " +
       circuit);
  const std::vector<TaskId> model = model_.defer_ready(circuit, queue, from, {kind});
  const std::int64_t postgres = postgres_.run(
      sql::DeferReady{.circuit = circuit, .queue = queue, .from_place = from, .names = {task}, .versions = {1}});
  require_alike("deferred ready tasks", static_cast<std::int64_t>(model.size()), postgres);
  for (const TaskId id : model) {
    const milliseconds due_in = std::chrono::duration_cast<milliseconds>(model_.due_at(id) - scheduler_.now());
    const milliseconds earliest = due_in - spread;
    const test::Rows rows =
        postgres_.run({"due_in",
                       "select (extract(epoch from next_retry_at - clock_timestamp()) * 1000)::bigint as ms "
                       "from dogged.tasks_live where id = $1::bigint and deferred"},
                      db::Params{}.add(id));
    const milliseconds seen{rows.one().number("ms")};
    require_alike("the time of deferred task " + std::to_string(id) + " is within its bounds", true,
                  seen >= earliest - tolerance && seen <= earliest + delay + tolerance);
    postgres_.run({"set_due",
                   "update dogged.tasks_live set next_retry_at = clock_timestamp() + $2::bigint * interval '1 ms' "
                   "where id = $1::bigint"},
                  db::Params{}.add(id).add(std::int64_t{due_in.count()}));
  }
}

/// Its retry budget and its concurrency.
void Comparison::set_queue() {
  const std::string& queue = any_queue();
  const bool sets = scheduler_.chance(60);
  Random random = scheduler_.stream(std::uint64_t{1} << 35, ++queue_changes_);
  const std::optional<std::int64_t> at_once = random.chance(50) ? std::optional{random.pick(1, 9)} : std::nullopt;
  note((sets ? "set" : "lift") + std::string{" the retry budget of "} + queue + ", and its concurrency to " +
       shown(at_once));
  std::optional<RetryBudgetSettings> budget;
  if (sets) {
    budget = RetryBudgetSettings{.share = static_cast<double>(scheduler_.pick(1, 4)) / 4,
                                 .min_retries_per_second = static_cast<double>(scheduler_.pick(1, 9))};
  }
  model_.set_retry_budget(queue, budget);
  model_.set_concurrency(queue, at_once ? std::optional{static_cast<std::size_t>(*at_once)} : std::nullopt);
  (void)postgres_.run({"set_queue",
                       "select dogged.set_queue($1::text, jsonb_build_object('retry_budget', $2::float8, "
                       "'min_retries_per_second', $3::float8, 'concurrency', $4::bigint))"},
                      db::Params{}
                          .add(queue)
                          .add(budget ? std::optional{budget->share} : std::nullopt)
                          .add(budget ? std::optional{budget->min_retries_per_second} : std::nullopt)
                          .add(at_once));
  compare_queues();
}

const char* const Comparison::query_of_circuits =
    "select 'circuit ' || name || ' ' || state || ' ' || failures || ' failures ' || successes || ' successes ' || "
    "probes || ' probes generation ' || generation || case when is_forced then ' forced' else '' end || "
    "case when state = 'closed' then '' else ' for ' || "
    "round(extract(epoch from clock_timestamp() - since) / 60) || ' min' end from dogged.circuits";

void Comparison::add_circuits(Lines& lines) const {
  for (const auto& [name, row] : model_.durable().circuits) {
    const detail::Circuit& circuit = row.circuit;
    const auto open_for = std::chrono::duration_cast<milliseconds>(model_.open_for(name));
    lines.insert(
        "circuit " + name + " " + std::string{to_text(circuit.state)} + " " + std::to_string(circuit.failures) +
        " failures " + std::to_string(circuit.successes) + " successes " + std::to_string(circuit.probes) +
        " probes generation " + std::to_string(circuit.generation) + (circuit.is_forced ? " forced" : "") +
        (circuit.state == CircuitState::closed ? "" : " for " + std::to_string(in_minutes(open_for)) + " min"));
  }
}

}  // namespace dogged::sim
