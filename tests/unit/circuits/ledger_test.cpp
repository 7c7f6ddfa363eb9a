// The attempts that a worker lets through by the circuits as it knows them, and the results that it has to write.
#include "circuits/core/ledger.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using circuit::SharedCircuit;
using detail::CircuitEvent;
using Kept = CircuitLedger::Kept;
using Kind = CircuitEvent::Kind;
using dogged::test::start;

namespace {

constexpr CircuitBreakerSettings settings{.failure_threshold = 3, .recovery_timeout = 10s, .success_threshold = 2};

/// As the database gave it, 1 s after its state began.
SharedCircuit psp(CircuitState state, std::int64_t generation = 1) {
  return {.name = "psp",
          .settings = settings,
          .circuit = {.state = state, .since_ms = 1'000'000, .generation = generation},
          .now_ms = 1'001'000};
}

CircuitLedger knowing(const SharedCircuit& circuit) {
  CircuitLedger ledger;
  ledger.on_read({circuit}, start);
  return ledger;
}

std::vector<Kind> kinds_of(const CircuitLedger::Events& events) {
  std::vector<Kind> kinds;
  for (const CircuitEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

}  // namespace

TEST_CASE("a circuit that is closed, or not known, lets all tasks through without asking the database") {
  const auto admission = knowing(psp(CircuitState::closed, 7)).admit("psp", 5, start);
  REQUIRE(admission);
  CHECK(admission->let_through == 5);
  CHECK(admission->generation == 7);
  CHECK(CircuitLedger{}.admit("psp", 5, start)->let_through == 5);
}

TEST_CASE("a reading that began before a circuit opened does not close it again") {
  CircuitLedger ledger = knowing(psp(CircuitState::closed, 1));
  CHECK(ledger.on_changed(psp(CircuitState::open, 2), start + 1s) == CircuitLedger::Kept::new_state);
  CHECK(ledger.on_read({psp(CircuitState::closed, 1)}, start) == std::vector{CircuitLedger::Kept::stale});
  CHECK(ledger.state("psp") == CircuitState::open);
  // Somebody has deleted the circuit's row, and a worker has created it again.
  ledger.on_read({psp(CircuitState::closed, 1)}, start + 2s);
  CHECK(ledger.state("psp") == CircuitState::closed);
}

TEST_CASE("an open circuit lets nothing through until its recovery timeout is over by the database's clock") {
  const CircuitLedger ledger = knowing(psp(CircuitState::open));
  const auto admission = ledger.admit("psp", 5, start + 2s);
  REQUIRE(admission);
  CHECK(admission->let_through == 0);
  CHECK(admission->wait == 7s);  // 1 s had passed when it was read, and 2 s since
  CHECK(ledger.admit("psp", 5, start + 9s - 1ms)->wait == 1ms);
  CHECK_FALSE(ledger.admit("psp", 5, start + 9s));
}

TEST_CASE(
    "an open circuit is asked under its lock after the database's clock was set back, so that its wait begins again") {
  SharedCircuit circuit = psp(CircuitState::open);
  circuit.now_ms = circuit.circuit.since_ms - 3'600'000;
  const CircuitLedger ledger = knowing(circuit);
  CHECK_FALSE(ledger.admit("psp", 5, start));
  CHECK(CircuitLedger::ask(circuit, 5).second.since_ms == circuit.now_ms);
}

TEST_CASE("a circuit that was forced open stays open however long that was ago") {
  SharedCircuit forced = psp(CircuitState::open);
  forced.circuit.is_forced = true;
  CHECK(knowing(forced).admit("psp", 5, start + 24h)->wait == 10s);
}

TEST_CASE("a circuit that may be half-open is asked under its lock, and lets its probes through") {
  CHECK_FALSE(knowing(psp(CircuitState::half_open)).admit("psp", 1, start));
  SharedCircuit over = psp(CircuitState::open);
  over.now_ms = over.circuit.since_ms + 10'000;
  const auto [admission, after] = CircuitLedger::ask(over, 5);
  CHECK(admission.let_through == 2);
  CHECK(admission.generation == after.generation);
  CHECK(admission.wait <= 10s);
  CHECK(after.state == CircuitState::half_open);
  CHECK(after.probes == 2);
  CHECK(CircuitLedger::ask(over, 1).first.let_through == 1);
}

TEST_CASE("tasks that wait come back apart, except as many as there are probes, and again in each generation") {
  CircuitLedger ledger = knowing(psp(CircuitState::open));
  const CircuitLedger::Admission admission = *ledger.admit("psp", 4, start);
  const auto answer = ledger.answer("psp", admission, 4, [draw = 1.0]() mutable { return draw -= 0.25; });
  CHECK(answer.is_open);
  CHECK(answer.let_through == 0);
  CHECK(answer.waits == std::vector<milliseconds>{9s, 9s, 9s + 2500ms, 9s});
  CHECK(ledger.answer("psp", admission, 1, [] { return 0.5; }).waits == std::vector<milliseconds>{9s + 5s});
  ledger.on_changed(psp(CircuitState::open, 2), start);
  CHECK(ledger.answer("psp", admission, 1, [] { return 0.5; }).waits == std::vector<milliseconds>{9s});
}

TEST_CASE("tasks whose turn to probe meets a locked circuit are back within two seconds, not after recovery_timeout") {
  CircuitLedger ledger = knowing(psp(CircuitState::open));
  const CircuitLedger::Admission closed_to_all = *ledger.admit("psp", 4, start);
  const auto draw = [] { return 0.9; };
  REQUIRE(ledger.answer("psp", closed_to_all, 2, draw).waits == std::vector<milliseconds>(2, 9s));
  CHECK(ledger.answer("psp", ledger.admit_while_locked("psp"), 2, draw).waits == std::vector<milliseconds>(2, 1900ms));
}

TEST_CASE(
    "while another session has locked a circuit its tasks wait for a second and a part of one, and that is told once") {
  CircuitLedger ledger = knowing(psp(CircuitState::half_open));
  CHECK(ledger.admit_while_locked("psp").let_through == 0);
  CHECK(ledger.admit_while_locked("psp").wait == 1s);
  CHECK_FALSE(ledger.on_locked("psp", start));
  CHECK_FALSE(ledger.on_locked("psp", start + 5s - 1ms));
  CHECK(ledger.on_locked("psp", start + 5s));
  CHECK_FALSE(ledger.on_locked("psp", start + 10s));
  ledger.on_changed(psp(CircuitState::half_open), start + 11s);
  CHECK_FALSE(ledger.on_locked("psp", start + 12s));
  CHECK(ledger.on_locked("psp", start + 17s));
}

TEST_CASE("an answer that is older than what is known changes nothing") {
  CircuitLedger ledger = knowing(psp(CircuitState::closed, 5));
  CHECK(ledger.on_changed(psp(CircuitState::open, 4), start) == Kept::stale);
  CHECK(ledger.state("psp") == CircuitState::closed);
  CHECK(ledger.on_changed(psp(CircuitState::closed, 5), start) == Kept::as_before);
  CHECK(ledger.on_changed(psp(CircuitState::open, 6), start) == Kept::new_state);
  CHECK(ledger.state("psp") == CircuitState::open);
}

TEST_CASE("a circuit whose row is gone, or that was forgotten, is as one that was never open") {
  CircuitLedger ledger = knowing(psp(CircuitState::open));
  CHECK(ledger.on_read({}, start).empty());
  CHECK(ledger.state("psp") == CircuitState::closed);
  CHECK(ledger.on_read({psp(CircuitState::open)}, start) == std::vector{Kept::new_state});
  CHECK(ledger.on_read({psp(CircuitState::open)}, start) == std::vector{Kept::as_before});
  ledger.forget();
  CHECK(ledger.state("psp") == CircuitState::closed);
}

TEST_CASE("successes of a closed circuit without failures are not written, and all else is, in its order") {
  CircuitLedger ledger = knowing(psp(CircuitState::closed));
  ledger.note("psp", {Kind::success, 1});
  ledger.note("psp", {Kind::abandon, 1});
  CHECK(ledger.take_noted().empty());
  ledger.note("psp", {Kind::success, 1});
  ledger.note("psp", {Kind::failure, 1});
  CircuitLedger::EventsByCircuit noted = ledger.take_noted();
  CHECK(kinds_of(noted.at("psp")) == std::vector{Kind::success, Kind::failure});
  CHECK(ledger.take_noted().empty());
  ledger.note("psp", {Kind::success, 1});
  ledger.on_written(std::move(noted), start);
  CHECK(kinds_of(ledger.take_noted().at("psp")) == std::vector{Kind::success, Kind::failure, Kind::success});
}

TEST_CASE("what is noted is written at once, and after a pause where the last try has left events") {
  CircuitLedger ledger = knowing(psp(CircuitState::half_open));
  CHECK(ledger.writes_at() == never);
  ledger.note("psp", {Kind::abandon, 1});
  CHECK(ledger.writes_at() <= start);
  CircuitLedger::EventsByCircuit noted = ledger.take_noted();
  CHECK(ledger.writes_at() == never);
  ledger.on_written(std::move(noted), start);
  const TimePoint again = ledger.writes_at();
  CHECK(again > start);
  CHECK(again <= start + 1s);
  ledger.note("psp", {Kind::success, 1});  // what comes meanwhile waits as well: the circuit is locked
  CHECK(ledger.writes_at() == again);
  CHECK(kinds_of(ledger.take_noted().at("psp")) == std::vector{Kind::abandon, Kind::success});
  ledger.on_written({}, start);
  CHECK(ledger.writes_at() == never);
  ledger.note("psp", {Kind::success, 1});
  CHECK(ledger.writes_at() <= start);
}

TEST_CASE("events of a circuit that was forgotten are written, because it may be half-open") {
  CircuitLedger ledger = knowing(psp(CircuitState::half_open));
  ledger.note("psp", {Kind::success, 1});
  ledger.forget();
  CHECK(ledger.take_noted().size() == 1);
}

TEST_CASE("events of an open circuit are written, because a probe may be among them") {
  CircuitLedger ledger = knowing(psp(CircuitState::half_open));
  ledger.note("psp", {Kind::abandon, 1});
  CHECK(ledger.take_noted().size() == 1);
}

TEST_CASE("failures open a circuit together, and the last of very many events decide") {
  const SharedCircuit closed = psp(CircuitState::closed);
  const CircuitLedger::Events failures(3, CircuitEvent{Kind::failure, 1});
  CHECK(CircuitLedger::after(closed, failures).state == CircuitState::open);
  CircuitLedger ledger = knowing(closed);
  for (int i = 0; i < 30'000; ++i) ledger.note("psp", {Kind::success, 1});
  for (const CircuitEvent& failure : failures) ledger.note("psp", failure);
  const CircuitLedger::EventsByCircuit noted = ledger.take_noted();
  CHECK(noted.at("psp").size() < 20'000);
  CHECK(CircuitLedger::after(closed, noted.at("psp")).state == CircuitState::open);
}

namespace {

/// A worker whose tasks have one circuit, the circuit in the database, and other workers that change it as well. The
/// worker's connection is never lost.
struct LedgerWorld {
  CircuitLedger ledger = {};
  SharedCircuit row = {.name = "psp",
                       .settings = {.failure_threshold = 1, .recovery_timeout = 10s, .success_threshold = 1},
                       .circuit = {.generation = 1},
                       .now_ms = 1'000'000};
  SharedCircuit told = row;  // the newest that the ledger was told of
  TimePoint now = start;
  std::optional<std::pair<SharedCircuit, TimePoint>> reading = {};  // its answer has not arrived
  std::vector<std::int64_t> running = {};                           // attempts, by the generations of their permits
  CircuitLedger::Events untold = {};
  std::string trace = {};

  void change() {
    ledger.on_changed(row, now);
    told = row;
  }

  void claim() {
    auto admission = ledger.admit("psp", 1, now);
    if (!admission) {
      std::tie(admission, row.circuit) = CircuitLedger::ask(row, 1);
      change();
    }
    if (admission->let_through > 0) {
      running.push_back(admission->generation);
    } else if (admission->wait <= 0ms) {
      FAIL("a task that may not begin does not wait: " << trace);
    }
  }

  void end_attempt(Kind kind) {
    ledger.note("psp", {kind, running.front()});
    untold.push_back({kind, running.front()});
    running.erase(running.begin());
  }

  void tell(bool is_locked) {
    CircuitLedger::EventsByCircuit noted = ledger.take_noted();
    const auto found = noted.find("psp");
    if (found == noted.end()) return untold.clear();  // they change nothing
    if (is_locked) return ledger.on_written(std::move(noted), now);
    untold.clear();
    row.circuit = CircuitLedger::after(row, found->second);
    change();
    ledger.on_written({}, now);
  }

  bool event(int number) {
    switch (number) {
      case 0:
        if (running.size() == 2) return false;
        claim();
        return true;
      case 1:
      case 2:
      case 3:
        if (running.empty()) return false;
        end_attempt(number == 1 ? Kind::success : number == 2 ? Kind::failure : Kind::abandon);
        return true;
      case 4:
      case 5:
        if (untold.empty()) return false;
        tell(number == 5);
        return true;
      case 6:
        if (reading) return false;
        reading = {row, now};
        return true;
      case 7:
        if (!reading) return false;
        ledger.on_read({reading->first}, reading->second);
        if (reading->first.circuit.generation >= told.circuit.generation) told = reading->first;
        reading.reset();
        return true;
      case 8:
        now += 10s;
        row.now_ms += 10'000;
        return true;
      case 9:  // an attempt of another worker fails
        if (row.circuit.state != CircuitState::closed) return false;
        row.circuit = CircuitLedger::after(row, {{Kind::failure, row.circuit.generation}});
        return true;
      default:
        return false;
    }
  }

  void check() const {
    if (ledger.state("psp") != told.circuit.state) FAIL("an older reading counts after " << trace);
    const auto of_now = [&](std::int64_t generation) { return generation == row.circuit.generation; };
    const auto count = std::count_if(running.begin(), running.end(), of_now) +
                       std::count_if(untold.begin(), untold.end(),
                                     [&](const CircuitEvent& event) { return of_now(event.generation); });
    if (row.circuit.state != CircuitState::half_open) return;
    // Each probe is under way, or what it says will be told. The ledger gives up a probe that said nothing for
    // recovery_timeout.
    if (row.circuit.probes > row.settings.success_threshold || row.circuit.probes > count) {
      FAIL("a probe is lost after " << trace << ": " << row.circuit.probes << " of " << count);
    }
  }
};

int walk_ledger(const LedgerWorld& world, int length) {
  if (length == 0) return 0;
  int count = 0;
  for (int event = 0; event < 10; ++event) {
    LedgerWorld next = world;
    next.trace += static_cast<char>('a' + event);
    if (!next.event(event)) continue;
    next.check();
    count += 1 + walk_ledger(next, length - 1);
  }
  return count;
}

}  // namespace

TEST_CASE("of the probes that a half-open circuit let through none is lost, and no more are let through than it takes",
          "[one_thread]") {
  CHECK(walk_ledger({}, 8) > 100'000);
}
