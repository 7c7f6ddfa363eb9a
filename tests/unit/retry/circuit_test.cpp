// The circuit breaker's state machine, against a model that keeps no counters of permits but the permits themselves.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <dogged/detail/circuit.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using detail::Circuit;
using Kind = detail::CircuitEvent::Kind;

namespace {

constexpr std::int64_t timeout_ms = 10;

/// A second implementation of the header, by the permits that may still report.
struct Model {
  CircuitBreakerSettings settings;
  CircuitState state = CircuitState::closed;
  std::set<int> heard = {};  // permits whose report counts
  std::size_t places = 0;    // taken by probes
  int failures_in_a_row = 0;
  int good_probes = 0;
  bool is_forced = false;
  std::int64_t waits_since = 0;

  void become(CircuitState next, std::int64_t now) {
    state = next;
    heard.clear();
    places = 0;
    failures_in_a_row = good_probes = 0;
    is_forced = false;
    waits_since = now;
  }

  bool let_through(int permit, std::int64_t now) {
    heard.insert(permit);
    ++places;
    if (state == CircuitState::half_open) waits_since = now;
    return true;
  }

  bool ask(int permit, std::int64_t now) {
    const bool is_over = now - waits_since >= timeout_ms;
    if (state == CircuitState::closed) return let_through(permit, now);
    if (state == CircuitState::open) {
      if (is_forced || !is_over) return false;
      become(CircuitState::half_open, now);
    }
    const bool is_full = places == static_cast<std::size_t>(settings.success_threshold);
    if (is_full && !is_over) return false;
    if (is_full) places = 0;
    return let_through(permit, now);
  }

  void report(int permit, Kind how, std::int64_t now) {
    if (heard.erase(permit) == 0) return;
    if (places > 0) --places;
    if (how == Kind::abandon) return;
    if (how == Kind::success) {
      failures_in_a_row = 0;
      if (state == CircuitState::half_open && ++good_probes == settings.success_threshold) {
        become(CircuitState::closed, now);
      }
    } else if (state == CircuitState::half_open || ++failures_in_a_row == settings.failure_threshold) {
      become(CircuitState::open, now);
    }
  }
};

struct Permit {
  int number;
  std::int64_t generation;
};

/// Both, side by side, with the calls that are under way.
struct Pair {
  Model model;
  Circuit circuit = {};
  std::vector<Permit> under_way = {};
  int permits = 0;
  std::int64_t now = 1000;

  detail::CircuitDecision step(Kind kind, std::int64_t generation = 0) {
    const auto step = detail::step(circuit, model.settings, {kind, generation}, now);
    circuit = step.circuit;
    return step.decision;
  }

  bool ask() {
    const int number = ++permits;
    const bool expected = model.ask(number, now);
    const auto decision = step(Kind::ask);
    if (decision.is_let_through) under_way.push_back({number, circuit.generation});
    const bool says_when =
        decision.retry_after_ms && *decision.retry_after_ms >= 1 && *decision.retry_after_ms <= timeout_ms;
    return decision.is_let_through == expected && (decision.is_let_through || says_when == !circuit.is_forced);
  }

  void report(std::size_t which, Kind how) {
    const Permit permit = under_way.at(which);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
    model.report(permit.number, how, now);
    step(how, permit.generation);
  }

  /// Does one event; false if the event cannot happen, or if another event is the same: the last call may be the first.
  /// `agrees` is whether both did the same.
  bool act(int event, bool& agrees) {
    const bool is_report = event >= 1 && event <= 6;
    const bool is_of_last = is_report && event % 2 == 0;
    if (is_report && under_way.size() < (is_of_last ? 2 : 1)) return false;
    const std::size_t newest = under_way.size() - 1;
    switch (event) {
      case 0:
        agrees = ask();
        break;
      case 1:
        report(0, Kind::success);
        break;
      case 2:
        report(newest, Kind::success);
        break;
      case 3:
        report(0, Kind::failure);
        break;
      case 4:
        report(newest, Kind::failure);
        break;
      case 5:
        report(0, Kind::abandon);
        break;
      case 6:
        report(newest, Kind::abandon);
        break;
      case 7:
        now += timeout_ms / 2;
        break;
      case 8:
        model.become(CircuitState::open, now);
        model.is_forced = true;
        step(Kind::force_open);
        break;
      case 9:
        model.become(CircuitState::closed, now);
        step(Kind::reset);
        break;
      default:
        return false;
    }
    agrees = agrees && circuit.state == model.state;
    return true;
  }
};

constexpr int event_count = 10;
const char* const event_names[event_count] = {
    "ask",           "first succeeds", "last succeeds",  "first fails", "last fails", "first abandons",
    "last abandons", "5 ms pass",      "is forced open", "is reset"};

/// The first sequence of events after which the two differ; empty if there is none of that length.
std::string first_difference(const Pair& before, int length, std::int64_t& sequences) {
  if (length == 0) return ++sequences, "";
  for (int event = 0; event < event_count; ++event) {
    Pair after = before;
    bool agrees = true;
    if (!after.act(event, agrees)) continue;
    if (!agrees) return event_names[event];
    const std::string rest = first_difference(after, length - 1, sequences);
    if (!rest.empty()) return std::string{event_names[event]} + ", " + rest;
  }
  return "";
}

/// Where sequences begin: closed, open with a failure's call still under way, half-open with a probe under way.
std::vector<Pair> beginnings(const CircuitBreakerSettings& settings) {
  const Pair closed{{.settings = settings}};
  Pair open = closed;
  bool agrees = true;
  open.act(0, agrees);
  for (int i = 0; i < settings.failure_threshold; ++i) {
    open.act(0, agrees);
    open.act(3, agrees);
  }
  Pair half_open = open;
  for (int event : {7, 7, 0}) half_open.act(event, agrees);
  REQUIRE(agrees);
  REQUIRE(open.circuit.state == CircuitState::open);
  REQUIRE(half_open.circuit.state == CircuitState::half_open);
  return {closed, open, half_open};
}

constexpr CircuitBreakerSettings quick{
    .failure_threshold = 1, .recovery_timeout = milliseconds{timeout_ms}, .success_threshold = 1};

Circuit after(Circuit circuit, Kind kind, std::int64_t now_ms) {
  return detail::step(circuit, quick, {kind, circuit.generation}, now_ms).circuit;
}

}  // namespace

TEST_CASE("every sequence of seven events does to a circuit what the model says", "[one_thread]") {
  for (int failure_threshold : {1, 2}) {
    for (int success_threshold : {1, 2}) {
      CAPTURE(failure_threshold, success_threshold);
      for (const Pair& begin : beginnings({failure_threshold, milliseconds{timeout_ms}, success_threshold})) {
        std::int64_t sequences = 0;
        CHECK(first_difference(begin, 7, sequences) == "");
        CHECK(sequences > 10000);
      }
    }
  }
}

TEST_CASE("a refusal says exactly how long the recovery timeout still runs") {
  const Circuit open = after({}, Kind::failure, 1000);
  CHECK(detail::step(open, quick, {Kind::ask}, 1000).decision.retry_after_ms == 10);
  CHECK(detail::step(open, quick, {Kind::ask}, 1009).decision.retry_after_ms == 1);
  CHECK(detail::step(open, quick, {Kind::ask}, 1010).decision.is_let_through);
}

TEST_CASE("a clock that is set back does not hold a circuit open for longer than the recovery timeout") {
  Circuit open = after({}, Kind::failure, 1'000'000);
  open = after(open, Kind::ask, 5);
  CHECK(open.state == CircuitState::open);
  CHECK(detail::step(open, quick, {Kind::ask}, 15).decision.is_let_through);
}

TEST_CASE("times at the ends of the range do not overflow") {
  const Circuit open = after({}, Kind::failure, INT64_MIN);
  CHECK_FALSE(detail::step(open, quick, {Kind::ask}, INT64_MIN).decision.is_let_through);
  CHECK(detail::step(open, quick, {Kind::ask}, INT64_MAX).decision.is_let_through);
}

TEST_CASE("a probe's report after others took its place counts, while the circuit is half-open") {
  Circuit half_open = after(after({}, Kind::failure, 1000), Kind::ask, 1010);
  const std::int64_t first = half_open.generation;
  half_open = after(half_open, Kind::ask, 1020);
  CHECK(half_open.probes == 1);
  CHECK(detail::step(half_open, quick, {Kind::success, first}, 1021).circuit.state == CircuitState::closed);
  CHECK(detail::step(half_open, quick, {Kind::failure, first}, 1021).circuit.state == CircuitState::open);
}
