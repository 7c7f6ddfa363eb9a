// See circuits.hpp.
#include "circuits.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <dogged/retry_metrics.hpp>

#include "retry/duration.hpp"

namespace dogged::runtime {
namespace {

using detail::CircuitEvent;

/// Whether the events of a circuit that is closed without failures leave it so.
bool change_nothing(const detail::Circuit& circuit, const std::vector<CircuitEvent>& events) {
  return circuit.state == CircuitState::closed && circuit.failures == 0 &&
         std::none_of(events.begin(), events.end(),
                      [](const CircuitEvent& event) { return event.kind == CircuitEvent::Kind::failure; });
}

detail::Circuit after_all(const circuit::SharedCircuit& shared, const std::vector<CircuitEvent>& events) {
  detail::Circuit circuit = shared.circuit;
  for (const CircuitEvent& event : events) {
    circuit = detail::step(circuit, shared.settings, event, shared.now_ms).circuit;
  }
  return circuit;
}

}  // namespace

Circuits::Circuits(const Definitions& definitions, std::function<double()> draw, std::shared_ptr<spdlog::logger> log)
    : draw_(std::move(draw)), log_(std::move(log)) {
  for (const auto& [name, definition] : definitions) any_ = any_ || !definition.circuit.empty();
}

void Circuits::refresh(db::Connection& connection) {
  for (const circuit::SharedCircuit& shared : circuit::read_circuits(connection)) keep(shared);
}

void Circuits::keep(const circuit::SharedCircuit& shared) {
  const std::scoped_lock lock{mutex_};
  circuit::SharedCircuit& known = known_[shared.name];
  if (shared.circuit.generation < known.circuit.generation) return;  // claimer and completer have asked at once
  const CircuitState before = std::exchange(known, shared).circuit.state;
  const CircuitState now = shared.circuit.state;
  retry_metrics().circuit_state(shared.name, now);
  if (now == before) return;
  if (now == CircuitState::closed) {
    log_->info("circuit {} is closed: its tasks run again", shared.name);
  } else if (now == CircuitState::open) {
    log_->warn("circuit {} is open{}: its tasks are put off for {}", shared.name,
               shared.circuit.is_forced ? ", by hand" : "", duration_to_text(shared.settings.recovery_timeout));
  }
}

circuit::SharedCircuit Circuits::known(std::string_view name) const {
  const std::scoped_lock lock{mutex_};
  const auto found = known_.find(name);
  return found == known_.end() ? circuit::SharedCircuit{} : found->second;
}

Circuits::Admission Circuits::ask(db::Connection& connection, std::string_view name, std::size_t count) {
  const detail::Circuit last = known(name).circuit;
  if (last.state == CircuitState::closed) return {count, last.generation};
  Admission admission;
  keep(circuit::change_circuit(connection, name, [&](const circuit::SharedCircuit& now) {
    admission = {.settings = now.settings};
    detail::Circuit circuit = now.circuit;
    std::optional<std::int64_t> retry_after_ms;
    while (admission.let_through < count) {
      const detail::CircuitStep asked = detail::step(circuit, now.settings, {CircuitEvent::Kind::ask}, now.now_ms);
      circuit = asked.circuit;
      retry_after_ms = asked.decision.retry_after_ms;
      if (!asked.decision.is_let_through) break;
      ++admission.let_through;
    }
    admission.generation = circuit.generation;
    admission.wait = retry_after_ms ? milliseconds{*retry_after_ms} : now.settings.recovery_timeout;
    return circuit;
  }));
  return admission;
}

std::vector<Circuits::PutOff> Circuits::take_put_off(db::Connection& connection, std::vector<ClaimedTask>& tasks) {
  std::map<std::string_view, std::size_t> counts;
  for (const ClaimedTask& task : tasks) {
    if (!task.definition->circuit.empty()) ++counts[task.definition->circuit];
  }
  std::vector<PutOff> put_off;
  for (const auto& [name, count] : counts) {
    const Admission admission = ask(connection, name, count);
    std::size_t asked = 0, waiting = 0;
    std::vector<ClaimedTask> kept;
    for (ClaimedTask& task : tasks) {
      if (task.definition->circuit != name || asked++ < admission.let_through) {
        if (task.definition->circuit == name) task.circuit_generation = admission.generation;
        kept.push_back(std::move(task));
        continue;
      }
      const bool may_be_a_probe = waiting++ < static_cast<std::size_t>(admission.settings.success_threshold);
      const auto spread = std::chrono::duration<double, std::milli>(admission.settings.recovery_timeout) *
                          (may_be_a_probe ? 0.0 : draw_());
      put_off.push_back({std::move(task), admission.wait + std::chrono::duration_cast<milliseconds>(spread)});
    }
    tasks = std::move(kept);
  }
  return put_off;
}

void Circuits::note(const Report& report) {
  if (report.circuit.empty()) return;
  const std::scoped_lock lock{mutex_};
  noted_[std::string{report.circuit}].push_back(report.circuit_event);
}

void Circuits::tell(db::Connection& connection) {
  std::map<std::string, std::vector<CircuitEvent>, std::less<>> noted;
  {
    const std::scoped_lock lock{mutex_};
    noted.swap(noted_);
  }
  for (const auto& [name, events] : noted) {
    if (change_nothing(known(name).circuit, events)) continue;
    keep(circuit::change_circuit(
        connection, name, [&events = events](const circuit::SharedCircuit& now) { return after_all(now, events); }));
  }
}

}  // namespace dogged::runtime
