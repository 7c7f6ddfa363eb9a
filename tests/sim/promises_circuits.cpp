// The promises of circuits and retry budgets. See promises.hpp.
#include <algorithm>

#include "promises.hpp"
#include "require.hpp"

namespace dogged::sim::promises {
namespace {

constexpr Duration rounding = std::chrono::milliseconds{10};  // rows of circuits have whole milliseconds

}  // namespace

void a_deferral_spends_nothing(TaskId id, const Task& task, const AttemptRows& attempts) {
  require(task.state != Task::State::pending || attempts.contains({id, task.attempt}) || task.attempt == 0, "G22",
          "a deferral spends no attempt", Named{id, task.attempt}, " was put off, and has no row");
}

void a_half_open_circuit_lets_probes_through(const std::string& name,
                                             const runtime::CircuitLedger::Admission& admission,
                                             const Database& database, TimePoint asked_at, Probes& probes) {
  const auto state = database.ledger().circuit_states.find({name, admission.generation});
  if (admission.let_through == 0 || state == database.ledger().circuit_states.end()) return;
  require(state->second != CircuitState::open, "G22", "an open circuit lets nothing through", name);
  if (state->second == CircuitState::closed || database.clock_was_set()) return;
  const CircuitBreakerSettings& settings = database.circuit(name).settings;
  ProbesOfState& of_state = probes[{database.history(), name, admission.generation}];
  of_state.first = std::min(of_state.first, asked_at);
  of_state.last = std::max(of_state.last, asked_at);
  of_state.let_through += static_cast<std::int64_t>(admission.let_through);
  const auto expiries = (of_state.last - of_state.first + rounding) / Duration{settings.recovery_timeout};
  const std::int64_t most = settings.success_threshold * (1 + expiries) + of_state.freed;
  require(of_state.let_through <= most, "G22", "a half-open circuit lets only its probes through", name, " has let ",
          of_state.let_through, " through, and had places for ", most);
}

void note_places_that_become_free(const std::string& name, const runtime::CircuitLedger::Events& events,
                                  const Database& database, Probes& probes) {
  for (const detail::CircuitEvent& event : events) {
    if (event.kind != detail::CircuitEvent::Kind::failure) ++probes[{database.history(), name, event.generation}].freed;
  }
}

void an_open_circuit_is_heard(const std::string& name, const runtime::CircuitLedger::Admission& admission,
                              const Database& database, Duration within) {
  const detail::Circuit& circuit = database.circuit(name).circuit;
  if (admission.let_through == 0 || circuit.state != CircuitState::open) return;
  const Duration open_for = database.open_for(name);
  require(open_for <= within, "G22", "workers hear of an open circuit", name, " is open for ", InMs{open_for},
          ", and a worker begins its tasks");
}

void a_task_put_off_is_claimed_in_time(TaskId id, PutOff& put_off, TimePoint now) {
  const auto found = put_off.find(id);
  if (found == put_off.end()) return;
  const TimePoint until = found->second;
  put_off.erase(found);
  require(now <= until, "G14", "a task that was put off is claimed when it is due", Named{id}, " is, ",
          InMs{now - until}, " late");
}

void no_task_is_put_off_for_ever(const PutOff& put_off, const Database& database, TimePoint now) {
  for (const auto& [id, until] : put_off) {
    const bool is_pending = database.live().contains(id) && database.tasks().at(id).state == Task::State::pending;
    require(!is_pending || now <= until, "G14", "a task that was put off is claimed when it is due", Named{id},
            " is not, ", InMs{now - until}, " after its time");
  }
}

void no_failure_is_written_twice(const std::string& name, const CircuitFailures& failures) {
  require(failures.written <= failures.noted, "G22", "a failure is told to its circuit once", name, " was told of ",
          failures.written, " failures, of ", failures.noted);
}

void every_failure_is_written(int worker, const std::string& name, const CircuitFailures& failures) {
  require(failures.written == failures.noted, "G22", "every failure is told to its circuit", name, " was told of ",
          failures.written, " failures by worker ", worker, ", of ", failures.noted);
}

void failures_open_a_circuit(const std::string& name, std::int64_t generation_before, std::int64_t failures,
                             const Database& database) {
  const CircuitRow& row = database.circuit(name);
  if (failures < row.settings.failure_threshold) return;
  require(row.circuit.generation > generation_before, "G22", "failures in a row open their circuit", name,
          " is closed after ", failures);
}

void a_mended_service_closes_its_circuit(const std::string& name, const Database& database) {
  const detail::Circuit& circuit = database.circuit(name).circuit;
  require(circuit.state == CircuitState::closed, "G22", "a circuit closes once its service is mended", name, " is ",
          to_text(circuit.state), " with ", circuit.probes, " probes");
}

void a_worker_knows_its_circuits(int worker, const std::string& name, CircuitState known, const CircuitRow& row) {
  require(known == row.circuit.state, "G22", "workers know their circuits", "for worker ", worker, " ", name, " is ",
          to_text(known), ", and not ", to_text(row.circuit.state));
}

void first_runs_are_not_held_back(const runtime::ClaimedTask& task) {
  require(task.retry_count > 0, "G23", "first runs are not held back by a retry budget", Named{task.id});
}

/// By the settings and by what began. The budget counts in tenths of its window: what began up to a tenth before the
/// window may count.
void retries_stay_within_their_budget(const std::vector<runtime::ClaimedTask>& begins,
                                      const RetryBudgetSettings& settings, TimePoint now, BegunAttempts& begun) {
  const Duration window = settings.window;
  std::erase_if(begun, [&](const BegunAttempt& attempt) { return attempt.at < now - 2 * window; });
  const auto executions = std::count_if(
      begun.begin(), begun.end(), [&](const BegunAttempt& attempt) { return attempt.at > now - window - window / 10; });
  for (const runtime::ClaimedTask& task : begins) begun.push_back({now, task.retry_count > 0});
  const auto retries = std::count_if(begun.begin(), begun.end(), [&](const BegunAttempt& attempt) {
    return attempt.is_retry && attempt.at > now - window;
  });
  const bool begins_retry =
      std::any_of(begins.begin(), begins.end(), [](const auto& task) { return task.retry_count > 0; });
  const double most = std::max(settings.share * static_cast<double>(executions),
                               settings.min_retries_per_second * std::chrono::duration<double>(window).count());
  require(!begins_retry || static_cast<double>(retries) <= most + 1e-6, "G23", "retries stay within their budget",
          retries, " retries begin of ", executions, " attempts, and at most ", most, " may");
}

}  // namespace dogged::sim::promises
