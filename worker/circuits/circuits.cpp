// See circuits.hpp.
#include "circuits/circuits.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <dogged/retry_metrics.hpp>

#include "retry/duration.hpp"

namespace dogged::runtime {
namespace {

using detail::CircuitEvent;

constexpr std::chrono::seconds longest_wait_while_locked{1};
constexpr std::chrono::seconds locked_for_long{5};  // workers hold the lock for moments
constexpr std::size_t most_noted = 10'000;          // of one circuit: no threshold is nearly as high

/// Whether the events leave a circuit as it is.
bool change_nothing(const detail::Circuit& circuit, const std::vector<CircuitEvent>& events) {
  using Kind = CircuitEvent::Kind;
  if (circuit.state != CircuitState::closed) return false;
  return std::none_of(events.begin(), events.end(), [&](const CircuitEvent& event) {
    return event.kind == Kind::failure || (event.kind == Kind::success && circuit.failures > 0);
  });
}

/// Of very many events, the last ones decide.
void drop_oldest(std::vector<CircuitEvent>& events) {
  if (events.size() < 2 * most_noted) return;
  events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(most_noted));
}

detail::Circuit after_all(const circuit::SharedCircuit& shared, const std::vector<CircuitEvent>& events) {
  detail::Circuit circuit = shared.circuit;
  for (const CircuitEvent& event : events) {
    circuit = detail::step(circuit, shared.settings, event, shared.now_ms).circuit;
  }
  return circuit;
}

}  // namespace

Circuits::Circuits(std::shared_ptr<const Definitions> definitions, std::function<double()> draw,
                   std::shared_ptr<spdlog::logger> log)
    : definitions_(std::move(definitions)), draw_(std::move(draw)), log_(std::move(log)) {
  for (const auto& [name, definition] : *definitions_) any_ = any_ || !definition.circuit.empty();
}

void Circuits::refresh(db::Connection& connection) {
  const auto asked_at = SteadyClock::now();
  const std::vector<circuit::SharedCircuit> circuits = circuit::read_circuits(connection);
  const detail::Lock lock{mutex_};
  std::map<std::string, Known, std::less<>> before;
  before.swap(known_);
  for (const circuit::SharedCircuit& shared : circuits) {
    const auto last = before.find(shared.name);
    keep({shared, asked_at}, last == before.end() ? CircuitState::closed : last->second.shared.circuit.state);
  }
}

void Circuits::forget() {
  const detail::Lock lock{mutex_};
  known_.clear();
}

void Circuits::keep(const Known& now, CircuitState before) {
  const circuit::SharedCircuit& shared = now.shared;
  const CircuitState state = shared.circuit.state;
  known_[shared.name] = now;
  retry_metrics().circuit_state(shared.name, state);
  if (state == before) return;
  if (state == CircuitState::closed) {
    log_->info("circuit {} is closed: its tasks run again when their time has come", shared.name);
  } else if (state == CircuitState::open) {
    log_->warn("circuit {} is open{}: its tasks are put off for {}", shared.name,
               shared.circuit.is_forced ? ", by hand" : "", duration_to_text(shared.settings.recovery_timeout));
  }
}

/// False if another session has locked the circuit, which is unchanged then.
bool Circuits::try_change(db::Connection& connection, std::string_view name,
                          const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how) {
  const auto asked_at = SteadyClock::now();
  const std::optional<circuit::SharedCircuit> shared = circuit::try_change_circuit(connection, name, how);
  const detail::Lock lock{mutex_};
  if (!shared) {
    note_locked(name);
    return false;
  }
  locked_.erase(shared->name);
  const auto last = known_.find(name);
  // Claimer and completer may ask at once, and the older answer may come last.
  if (last != known_.end() && shared->circuit.generation < last->second.shared.circuit.generation) return true;
  keep({*shared, asked_at}, last == known_.end() ? CircuitState::closed : last->second.shared.circuit.state);
  return true;
}

void Circuits::note_locked(std::string_view name) {
  Locked& locked = locked_.try_emplace(std::string{name}, Locked{SteadyClock::now()}).first->second;
  if (locked.is_told || SteadyClock::now() - locked.since < locked_for_long) return;
  locked.is_told = true;
  log_->warn(
      "circuit {}: a transaction keeps its row locked; until that ends the circuit stays as this worker knows it, and "
      "what "
      "attempts say of it waits",
      name);
}

Circuits::Known Circuits::known(std::string_view name) const {
  const detail::Lock lock{mutex_};
  const auto found = known_.find(name);
  return found == known_.end() ? Known{} : found->second;
}

/// How long an open circuit lets nothing through, as far as this worker knows. Until then the database need not be
/// asked.
std::optional<milliseconds> Circuits::closed_to_all_for(const Known& known) {
  const circuit::SharedCircuit& shared = known.shared;
  if (shared.circuit.state != CircuitState::open) return std::nullopt;
  if (shared.circuit.is_forced) return shared.settings.recovery_timeout;
  const auto since_read = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - known.read_at);
  const milliseconds open_for = milliseconds{shared.now_ms - shared.circuit.since_ms} + since_read;
  const milliseconds left = shared.settings.recovery_timeout - open_for;
  return left > milliseconds{0} ? std::optional{left} : std::nullopt;
}

Circuits::Admission Circuits::ask(db::Connection& connection, std::string_view name, std::size_t count) {
  const Known last = known(name);
  if (last.shared.circuit.state == CircuitState::closed) return {count, last.shared.circuit.generation};
  if (const auto wait = closed_to_all_for(last)) {
    return {.wait = *wait, .settings = last.shared.settings};
  }
  Admission admission;
  try {
    const bool is_asked = try_change(connection, name, [&](const circuit::SharedCircuit& now) {
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
    });
    if (!is_asked) {
      const CircuitBreakerSettings& settings = last.shared.settings;
      return {.wait = std::min<milliseconds>(settings.recovery_timeout, longest_wait_while_locked),
              .settings = settings};
    }
  } catch (const InvalidInput&) {  // somebody has deleted the circuit's row
    return {.let_through = count};
  }
  return admission;
}

/// Whether a task that is put off should come back as soon as the circuit may be half-open. A few tasks do; the others
/// come later.
bool Circuits::comes_back_first(std::string_view name, const Admission& admission) {
  const std::int64_t generation = known(name).shared.circuit.generation;
  const detail::Lock lock{mutex_};
  FirstBack& first = first_back_[std::string{name}];
  if (first.generation != generation) first = {.generation = generation};
  return first.count++ < admission.settings.success_threshold;
}

std::vector<Circuits::PutOff> Circuits::take_put_off(db::Connection& connection, std::vector<ClaimedTask>& tasks) {
  std::map<std::string_view, std::size_t> counts;
  for (const ClaimedTask& task : tasks) {
    if (!task.definition->circuit.empty()) ++counts[task.definition->circuit];
  }
  std::vector<PutOff> put_off;
  for (const auto& [name, count] : counts) {
    const Admission admission = ask(connection, name, count);
    std::size_t asked = 0;
    std::vector<ClaimedTask> kept;
    for (ClaimedTask& task : tasks) {
      if (task.definition->circuit != name) {
        kept.push_back(std::move(task));
      } else if (asked++ < admission.let_through) {
        task.circuit_generation = admission.generation;
        kept.push_back(std::move(task));
      } else {
        const double share = comes_back_first(name, admission) ? 0.0 : draw_();
        const auto spread = std::chrono::duration<double, std::milli>(admission.settings.recovery_timeout) * share;
        put_off.push_back({std::move(task), admission.wait + std::chrono::duration_cast<milliseconds>(spread)});
      }
    }
    tasks = std::move(kept);
  }
  return put_off;
}

bool Circuits::is_open(std::string_view name) const { return known(name).shared.circuit.state == CircuitState::open; }

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
  std::vector<CircuitEvent>& events = noted_[std::string{name}];
  events.push_back(event);
  drop_oldest(events);
}

/// Puts `events` before what was noted meanwhile.
void Circuits::note_again(const std::string& name, std::vector<CircuitEvent> events) {
  const detail::Lock lock{mutex_};
  std::vector<CircuitEvent>& later = noted_[name];
  events.insert(events.end(), later.begin(), later.end());
  drop_oldest(events);
  later = std::move(events);
}

bool Circuits::tell(db::Connection& connection) {
  bool all_told = true;
  std::map<std::string, std::vector<CircuitEvent>, std::less<>> noted;
  {
    const detail::Lock lock{mutex_};
    noted.swap(noted_);
  }
  for (auto& [name, events] : noted) {
    if (change_nothing(known(name).shared.circuit, events)) continue;
    try {
      const bool is_told = try_change(
          connection, name, [&events = events](const circuit::SharedCircuit& now) { return after_all(now, events); });
      if (is_told) continue;
      note_again(name, std::move(events));
      all_told = false;
    } catch (const InvalidInput&) {  // the circuit's row was deleted: there is nothing to tell
    }
  }
  return all_told;
}

}  // namespace dogged::runtime
