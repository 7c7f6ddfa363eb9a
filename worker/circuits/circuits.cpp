// See circuits.hpp.
#include "circuits/circuits.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <dogged/error.hpp>
#include <dogged/retry_metrics.hpp>

#include "circuit/shared_circuit.hpp"
#include "client/log_event.hpp"
#include "tasks/definition.hpp"
#include "text/duration.hpp"

namespace dogged::runtime {

using detail::CircuitEvent;

Circuits::Circuits(std::shared_ptr<const Definitions> definitions, std::function<double()> draw,
                   std::shared_ptr<spdlog::logger> log)
    : definitions_(std::move(definitions)),
      draw_(std::move(draw)),
      log_(std::move(log)),
      any_(std::any_of(definitions_->begin(), definitions_->end(),
                       [](const auto& entry) { return !entry.second.circuit.empty(); })) {}

void Circuits::refresh(db::Connection& connection) {
  const auto asked_at = SteadyClock::now();
  const std::vector<circuit::SharedCircuit> circuits = circuit::read_circuits(connection);
  const detail::Lock lock{mutex_};
  const std::vector<CircuitLedger::Kept> kept = ledger_.on_read(circuits, asked_at);
  for (std::size_t i = 0; i < circuits.size(); ++i) tell_of(circuits[i], kept[i]);
}

void Circuits::forget() {
  const detail::Lock lock{mutex_};
  ledger_.forget();
}

void Circuits::tell_of(const circuit::SharedCircuit& now, CircuitLedger::Kept kept) const {
  if (kept == CircuitLedger::Kept::stale) return;
  retry_metrics().circuit_state(now.name, now.circuit.state);
  if (kept == CircuitLedger::Kept::as_before) return;
  if (now.circuit.state == CircuitState::closed) {
    log_->log(event("circuit_closed"), spdlog::level::info,
              "circuit {} is closed: its tasks run again when their time has come", now.name);
  } else if (now.circuit.state == CircuitState::open) {
    log_->log(event("circuit_opened"), spdlog::level::warn, "circuit {} is open{}: its tasks are deferred for {}",
              now.name, now.circuit.is_forced ? ", by hand" : "", duration_to_text(now.settings.recovery_timeout));
  }
}

circuit::TriedChange::Outcome Circuits::try_change(
    db::Connection& connection, std::string_view name,
    const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how) {
  const auto asked_at = SteadyClock::now();
  const auto [outcome, now] = circuit::try_change_circuit(connection, name, how);
  const detail::Lock lock{mutex_};
  if (outcome == circuit::TriedChange::Outcome::changed) tell_of(now, ledger_.on_changed(now, asked_at));
  if (outcome == circuit::TriedChange::Outcome::locked && ledger_.on_locked(name, SteadyClock::now())) {
    log_->log(
        event("circuit_locked"), spdlog::level::warn,
        "circuit {}: a transaction keeps its row locked; until that ends the circuit stays as this worker knows it, "
        "and what attempts say of it waits",
        name);
  }
  return outcome;
}

CircuitLedger::Answer Circuits::ask(db::Connection& connection, std::string_view name, std::size_t count) {
  const CircuitLedger::Admission admission = admit(connection, name, count);
  const detail::Lock lock{mutex_};
  return ledger_.answer(name, admission, count, draw_);
}

CircuitLedger::Admission Circuits::admit(db::Connection& connection, std::string_view name, std::size_t count) {
  {
    const detail::Lock lock{mutex_};
    if (const auto admission = ledger_.admit(name, count, SteadyClock::now())) return *admission;
  }
  CircuitLedger::Admission admission;
  const auto outcome = try_change(connection, name, [&](const circuit::SharedCircuit& now) {
    const auto [answer, circuit] = CircuitLedger::ask(now, count);
    admission = answer;
    return circuit;
  });
  switch (outcome) {
    case circuit::TriedChange::Outcome::changed:
      return admission;
    case circuit::TriedChange::Outcome::missing:
      return {.let_through = count};
    case circuit::TriedChange::Outcome::locked:
      break;
  }
  const detail::Lock lock{mutex_};
  return ledger_.admit_while_locked(name);
}

std::vector<std::string> Circuits::tasks_of(std::string_view name) const {
  std::vector<std::string> tasks;
  for (const auto& [task, definition] : *definitions_) {
    if (definition.circuit == name) tasks.push_back(task);
  }
  return tasks;
}

void Circuits::note(const Report& report) { note_event(report.circuit, report.circuit_event); }

void Circuits::note_not_begun(const ClaimedTask& task) {
  note_event(task.definition->circuit, {CircuitEvent::Kind::abandon, task.circuit_generation});
}

void Circuits::note_event(std::string_view name, CircuitEvent event) {
  if (name.empty()) return;
  const detail::Lock lock{mutex_};
  ledger_.note(name, event);
}

TimePoint Circuits::writes_at() const {
  if (!any_) return never;
  const detail::Lock lock{mutex_};
  return ledger_.writes_at();
}

void Circuits::write_noted(db::Connection& connection) {
  CircuitLedger::EventsByCircuit left;
  {
    const detail::Lock lock{mutex_};
    left = ledger_.take_noted();
  }
  const auto keep_rest = [&] {
    const detail::Lock lock{mutex_};
    ledger_.on_written(std::move(left), SteadyClock::now());
  };
  try {
    for (auto entry = left.begin(); entry != left.end();) {
      entry = write(connection, entry->first, entry->second) ? left.erase(entry) : std::next(entry);
    }
  } catch (...) {
    keep_rest();
    throw;
  }
  keep_rest();
}

/// False if another session has locked the circuit.
bool Circuits::write(db::Connection& connection, std::string_view name, const CircuitLedger::Events& events) {
  const auto add = [&](const circuit::SharedCircuit& now) { return CircuitLedger::after(now, events); };
  return try_change(connection, name, add) != circuit::TriedChange::Outcome::locked;
}

}  // namespace dogged::runtime
