// The model's statements of circuits, and those that put tasks off. See database.hpp.
#include <algorithm>
#include <utility>

#include "database.hpp"
#include "promises.hpp"

namespace dogged::sim {

std::string_view circuit_of(Kind kind) noexcept {
  if (kind == Kind::charging) return "bank";
  return kind == Kind::mailing ? "post" : "";
}

std::vector<runtime::Attempt> Database::defer(std::int64_t worker, const std::vector<PutOff>& tasks,
                                              std::int64_t session) {
  std::vector<runtime::Attempt> left;
  const bool counts = has_session(worker, session) || mutant_ == Mutant::deferral_of_an_old_session;
  for (const auto& [attempt, wait] : tasks) {
    Task* const task = held(worker, attempt);
    if (!counts || task == nullptr || is_locked(*task)) {
      left.push_back(attempt);
      continue;
    }
    task->state = Task::State::pending;
    if (mutant_ != Mutant::deferral_that_spends_an_attempt) --task->attempt;
    task->worker = 0;
    task->deferred = true;
    task->due_at = now() + wait;
    task->was_put_off = true;
    promises::a_deferral_spends_nothing(attempt.id, *task, now_.attempts);
    if (!task->cancel_requested) continue;
    now_.ledger.cancelled.insert(attempt.id);
    if (mutant_ != Mutant::deferral_that_forgets_a_cancel) cancel(attempt.id);
  }
  return left;
}

std::vector<TaskId> Database::defer_ready(const std::string& circuit, const std::string& queue, runtime::Place from,
                                          const std::set<Kind>& kinds) {
  std::vector<TaskId> deferred;
  const CircuitRow& row = now_.circuits.at(circuit);
  if (row.circuit.state != CircuitState::open) return deferred;
  const std::int64_t all = row.settings.recovery_timeout.count();
  const std::int64_t left = std::max<std::int64_t>(all - (now_ms() - row.circuit.since_ms), 0);
  const milliseconds wait{row.circuit.is_forced ? all : std::min(left, all)};
  for (const TaskId id : now_.live) {
    Task& task = now_.tasks.at(id);
    const bool is_ready = task.state == Task::State::pending && !task.deferred && task.queue == queue;
    if (!is_ready || task.place() < from || !kinds.contains(task.kind) || is_locked(task)) continue;
    task.deferred = true;
    task.due_at = now() + wait + spread_of(row.settings.recovery_timeout);
    task.was_put_off = true;
    deferred.push_back(id);
  }
  return deferred;
}

void Database::publish_circuit(const std::string& name, const CircuitBreakerSettings& settings) {
  now_.circuits[name].settings = settings;
}

std::vector<circuit::SharedCircuit> Database::read_circuits() const {
  std::vector<circuit::SharedCircuit> circuits;
  for (const auto& [name, row] : now_.circuits) {
    if (circuit_locks_.contains(name) && mutant_ == Mutant::circuit_that_is_passed_over) continue;
    circuits.push_back({name, row.settings, row.circuit, now_ms()});
  }
  return circuits;
}

std::optional<Database::LockedCircuit> Database::try_lock_circuit(const std::string& name, Duration patience) {
  if (circuit_locks_.contains(name) && mutant_ != Mutant::circuit_that_is_not_locked) return std::nullopt;
  const std::int64_t lock = ++last_lock_;
  circuit_locks_[name] = lock;
  scheduler_.after(patience, [this, name, lock] {
    const auto held = circuit_locks_.find(name);
    if (held != circuit_locks_.end() && held->second == lock) circuit_locks_.erase(held);
  });
  const CircuitRow& row = now_.circuits.at(name);
  return LockedCircuit{{name, row.settings, row.circuit, now_ms()}, lock};
}

bool Database::save_circuit(const std::string& name, std::int64_t lock, const detail::Circuit& after) {
  const auto held = circuit_locks_.find(name);
  const bool is_held = held != circuit_locks_.end() && held->second == lock;
  if (!is_held && mutant_ != Mutant::circuit_that_is_not_locked) return false;
  if (is_held) circuit_locks_.erase(held);
  write_circuit(name, after);
  return true;
}

bool Database::change_circuit(const std::string& name, detail::CircuitEvent::Kind kind) {
  if (circuit_locks_.contains(name)) return false;
  const CircuitRow& row = now_.circuits.at(name);
  write_circuit(name, detail::step(row.circuit, row.settings, {kind}, now_ms()).circuit);
  return true;
}

void Database::write_circuit(const std::string& name, const detail::Circuit& after) {
  detail::Circuit& circuit = now_.circuits.at(name).circuit;
  const bool is_changed = circuit.state != after.state || circuit.generation != after.generation;
  circuit = after;
  now_.ledger.circuit_states[{name, after.generation}] = after.state;
  if (is_changed && mutant_ != Mutant::circuit_that_changes_in_silence) on_circuit_changed(name);
}

}  // namespace dogged::sim
