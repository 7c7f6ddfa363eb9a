// See ledger.hpp.
#include "circuits/core/ledger.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

using detail::CircuitEvent;

constexpr std::chrono::seconds longest_wait_while_locked{1};
constexpr std::chrono::seconds locked_for_long{5};
constexpr milliseconds between_tries{50};   // to write what was noted
constexpr std::size_t most_noted = 10'000;  // of one circuit: no threshold is nearly as high

CircuitLedger::Admission for_nothing(const CircuitBreakerSettings& settings, milliseconds wait) {
  return {.wait = wait, .come_back_first = settings.success_threshold, .spread = settings.recovery_timeout};
}

/// Of very many events, the last ones decide.
void drop_oldest(CircuitLedger::Events& events) {
  if (events.size() < 2 * most_noted) return;
  events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(most_noted));
}

/// How long an open circuit lets nothing through at `now`; nothing if its probes may begin.
std::optional<milliseconds> closed_to_all_for(const circuit::SharedCircuit& circuit, TimePoint asked_at,
                                              TimePoint now) {
  if (circuit.circuit.is_forced) return circuit.settings.recovery_timeout;
  if (circuit.now_ms < circuit.circuit.since_ms) return std::nullopt;  // the clock was set back: detail::step mends it
  const auto since_asked = std::chrono::duration_cast<milliseconds>(now - asked_at);
  const milliseconds open_for = milliseconds{circuit.now_ms - circuit.circuit.since_ms} + since_asked;
  const milliseconds left = circuit.settings.recovery_timeout - open_for;
  return left > milliseconds{0} ? std::optional{left} : std::nullopt;
}

}  // namespace

std::vector<CircuitLedger::Kept> CircuitLedger::on_read(const std::vector<circuit::SharedCircuit>& circuits,
                                                        TimePoint asked_at) {
  std::map<std::string, Known, std::less<>> before;
  before.swap(known_);
  std::vector<Kept> kept;
  for (const circuit::SharedCircuit& circuit : circuits) {
    const auto last = before.find(circuit.name);
    const bool is_older = last != before.end() && asked_at <= last->second.asked_at &&
                          circuit.circuit.generation < last->second.circuit.circuit.generation;
    if (is_older) {
      known_.insert(*last);
      kept.push_back(Kept::stale);
      continue;
    }
    const CircuitState state = last == before.end() ? CircuitState::closed : last->second.circuit.circuit.state;
    known_[circuit.name] = {circuit, asked_at};
    kept.push_back(circuit.circuit.state == state ? Kept::as_before : Kept::new_state);
  }
  return kept;
}

CircuitLedger::Kept CircuitLedger::on_changed(const circuit::SharedCircuit& circuit, TimePoint asked_at) {
  locked_.erase(circuit.name);
  const detail::Circuit before = known(circuit.name).circuit.circuit;
  if (circuit.circuit.generation < before.generation) return Kept::stale;
  known_[circuit.name] = {circuit, asked_at};
  return circuit.circuit.state == before.state ? Kept::as_before : Kept::new_state;
}

bool CircuitLedger::on_locked(std::string_view name, TimePoint now) {
  Locked& locked = locked_.try_emplace(std::string{name}, Locked{now}).first->second;
  if (locked.is_told || now - locked.since < locked_for_long) return false;
  locked.is_told = true;
  return true;
}

CircuitLedger::Known CircuitLedger::known(std::string_view name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? Known{} : found->second;
}

std::optional<CircuitLedger::Admission> CircuitLedger::admit(std::string_view name, std::size_t count,
                                                             TimePoint now) const {
  const Known last = known(name);
  switch (last.circuit.circuit.state) {
    case CircuitState::closed:
      return Admission{.let_through = count, .generation = last.circuit.circuit.generation};
    case CircuitState::open:
      if (const auto wait = closed_to_all_for(last.circuit, last.asked_at, now)) {
        return for_nothing(last.circuit.settings, *wait);
      }
      break;
    case CircuitState::half_open:
      break;
  }
  return std::nullopt;
}

std::pair<CircuitLedger::Admission, detail::Circuit> CircuitLedger::ask(const circuit::SharedCircuit& now,
                                                                        std::size_t count) {
  Admission admission = for_nothing(now.settings, now.settings.recovery_timeout);
  detail::Circuit circuit = now.circuit;
  while (admission.let_through < count) {
    const detail::CircuitStep asked = detail::step(circuit, now.settings, {CircuitEvent::Kind::ask}, now.now_ms);
    circuit = asked.circuit;
    if (!asked.decision.is_let_through) {
      if (asked.decision.retry_after_ms) admission.wait = milliseconds{*asked.decision.retry_after_ms};
      break;
    }
    ++admission.let_through;
  }
  admission.generation = circuit.generation;
  return {admission, circuit};
}

CircuitLedger::Admission CircuitLedger::admit_while_locked(std::string_view name) const {
  const milliseconds wait =
      std::min<milliseconds>(known(name).circuit.settings.recovery_timeout, longest_wait_while_locked);
  return {.wait = wait, .spread = wait};
}

CircuitLedger::Answer CircuitLedger::answer(std::string_view name, const Admission& admission, std::size_t count,
                                            const std::function<double()>& draw) {
  require_invariant(admission.let_through <= count, "a circuit lets no more tasks through than it was asked for");
  Answer answer{.let_through = admission.let_through,
                .generation = admission.generation,
                .is_open = state(name) == CircuitState::open};
  for (std::size_t i = admission.let_through; i < count; ++i) {
    answer.waits.push_back(wait_of_next(name, admission, draw()));
  }
  return answer;
}

milliseconds CircuitLedger::wait_of_next(std::string_view name, const Admission& admission, double draw) {
  const std::int64_t generation = known(name).circuit.circuit.generation;
  FirstBack& first = first_back_[std::string{name}];
  if (first.generation != generation) first = {.generation = generation};
  const bool comes_back_first = first.count < admission.come_back_first;
  if (comes_back_first) {
    ++first.count;
    return admission.wait;
  }
  const auto spread = std::chrono::duration<double, std::milli>(admission.spread) * draw;
  return admission.wait + std::chrono::duration_cast<milliseconds>(spread);
}

void CircuitLedger::note(std::string_view name, CircuitEvent event) {
  using Kind = CircuitEvent::Kind;
  require_invariant(event.kind == Kind::success || event.kind == Kind::failure || event.kind == Kind::abandon,
                    "an attempt tells its circuit how the attempt ended");
  Events& events = noted_[std::string{name}];
  events.push_back(event);
  drop_oldest(events);
}

/// Whether the events leave the circuit as the ledger knows it. A circuit that was forgotten may be half-open, and the
/// events those of its probes.
bool CircuitLedger::change_nothing(std::string_view name, const Events& events) const {
  using Kind = CircuitEvent::Kind;
  const auto found = known_.find(name);
  if (found == known_.end()) return false;
  const detail::Circuit& circuit = found->second.circuit.circuit;
  if (circuit.state != CircuitState::closed) return false;
  return std::none_of(events.begin(), events.end(), [&](const CircuitEvent& event) {
    return event.kind == Kind::failure || (event.kind == Kind::success && circuit.failures > 0);
  });
}

CircuitLedger::EventsByCircuit CircuitLedger::take_noted() {
  EventsByCircuit taken;
  taken.swap(noted_);
  std::erase_if(taken, [&](const auto& noted) { return change_nothing(noted.first, noted.second); });
  return taken;
}

void CircuitLedger::on_written(EventsByCircuit left, TimePoint now) {
  tries_at_ = left.empty() ? TimePoint{} : now + between_tries;
  for (auto& [name, events] : left) {
    Events& later = noted_[name];
    events.insert(events.end(), later.begin(), later.end());
    drop_oldest(events);
    later = std::move(events);
  }
}

detail::Circuit CircuitLedger::after(const circuit::SharedCircuit& now, const Events& events) {
  detail::Circuit circuit = now.circuit;
  for (const CircuitEvent& event : events) circuit = detail::step(circuit, now.settings, event, now.now_ms).circuit;
  return circuit;
}

std::string_view to_text(CircuitLedger::Kept kept) noexcept {
  switch (kept) {
    case CircuitLedger::Kept::stale:
      return "stale";
    case CircuitLedger::Kept::as_before:
      return "as before";
    case CircuitLedger::Kept::new_state:
      break;
  }
  return "new state";
}

std::ostream& operator<<(std::ostream& out, CircuitLedger::Kept kept) { return out << to_text(kept); }

std::ostream& operator<<(std::ostream& out, const CircuitLedger::Admission& admission) {
  return out << admission.let_through << " let through as generation " << admission.generation << ", wait "
             << admission.wait.count() << " ms";
}

std::ostream& operator<<(std::ostream& out, const CircuitLedger::Answer& answer) {
  out << answer.let_through << " let through as generation " << answer.generation;
  if (!answer.waits.empty()) out << ", the others wait";
  for (const milliseconds wait : answer.waits) out << ' ' << wait.count() << " ms";
  return answer.is_open ? out << ", open" : out;
}

}  // namespace dogged::runtime
