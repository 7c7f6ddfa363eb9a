// The next action of the completer: batches, events of circuits, and the end.
#include "report/core/completer_plan.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;
using Action = CompleterPlan::Action;
using Facts = CompleterPlan::Facts;
using Resend = ReportBatches::Resend;
using Step = CompleterPlan::Step;

namespace {

constexpr Facts reports_wait{.has_reports = true};

CompleterPlan ready_plan() {
  CompleterPlan plan;
  plan.on_proved();
  return plan;
}

}  // namespace

TEST_CASE("a completer sends nothing before it has proved that ends can be recorded") {
  CompleterPlan plan;
  CHECK(plan.next({.has_reports = true, .circuits_at = start}, start) == Action{Step::prove});
  CHECK(plan.next({.has_reports = true, .circuits_at = start}, start + 1h) == Action{Step::prove});
  plan.on_proved();
  CHECK(plan.next(reports_wait, start) == Action{Step::send});
}

TEST_CASE("a completer sends nothing while the lease is lapsed, and writes events of circuits all the same") {
  CompleterPlan plan = ready_plan();
  const Facts lapsed{.has_reports = true, .is_lease_lapsed = true, .circuits_at = start + 1s};
  CHECK(plan.next(lapsed, start) == Action{Step::wait, start + 1s});
  CHECK(plan.next(lapsed, start + 1s) == Action{Step::write_circuits});
}

TEST_CASE("a completer pauses before a batch with reports on locked rows, and only then") {
  CompleterPlan plan = ready_plan();
  plan.on_written(Resend::none, start);
  CHECK(plan.next(reports_wait, start) == Action{Step::send});
  plan.on_written(Resend::second, start);
  CHECK(plan.next(reports_wait, start) == Action{Step::send});
  plan.on_written(Resend::next, start);
  CHECK(plan.next(reports_wait, start) == Action{Step::wait, start + 10ms});
  CHECK(plan.next({}, start) == Action{Step::wait, never});
  CHECK(plan.next(reports_wait, start + 10ms) == Action{Step::send});
}

TEST_CASE("a completer that finishes gives the circuits one more turn if their events are due") {
  const bool are_due = GENERATE(true, false);
  CompleterPlan plan = ready_plan();
  plan.on_finish();
  CHECK(plan.state() == CompleterPlan::State::finishing);
  const Facts facts{.has_reports = true, .circuits_at = are_due ? start : start + 1s};
  CHECK(plan.next(facts, start).step == (are_due ? Step::write_circuits : Step::end));
  CHECK(plan.next(facts, start) == Action{Step::end});
}

TEST_CASE("a completer that gives up a batch ends, and one that has proved nothing ends when it is to finish") {
  CompleterPlan plan = ready_plan();
  plan.on_given_up();
  CHECK(plan.next({.has_reports = true, .circuits_at = start}, start) == Action{Step::end});
  CompleterPlan unproven;
  unproven.on_finish();
  CHECK(unproven.next({.has_reports = true, .circuits_at = start}, start) == Action{Step::end});
}

namespace {

/// The promises, whatever came before.
class Watched {
 public:
  void act(const Facts& facts) {
    const Action action = plan_.next(facts, now_);
    const bool are_circuits_due = now_ >= facts.circuits_at;
    const bool may_send = facts.has_reports && !facts.is_lease_lapsed && now_ >= pause_until_;
    const bool was_running = is_proved_ && !is_finished_;
    INFO(action);
    if (action.step == Step::send) {
      CHECK((was_running && may_send));
      CHECK_FALSE((are_circuits_due && last_ == Step::send));  // else the circuits would starve
    }
    if (action.step == Step::write_circuits) {
      CHECK((is_proved_ && are_circuits_due));
      CHECK_FALSE((was_running && may_send && last_ == Step::write_circuits));  // else the reports would starve
      if (is_finished_) CHECK_FALSE(std::exchange(has_had_last_turn_, true));
    }
    if (action.step == Step::wait) {
      CHECK((was_running && !may_send && !are_circuits_due));
      CHECK(action.until > now_);
      CHECK(action.until <= facts.circuits_at);
      if (facts.has_reports && !facts.is_lease_lapsed) CHECK(action.until <= pause_until_);
    }
    if (action.step == Step::prove) CHECK((!is_proved_ && !is_finished_));
    if (action.step == Step::end) CHECK(is_finished_);
    last_ = action.step;
  }
  void prove() {
    if (is_proved_ || is_finished_) return;
    plan_.on_proved();
    is_proved_ = true;
  }
  void write(Resend resend) {
    if (!is_proved_ || is_finished_) return;
    plan_.on_written(resend, now_);
    if (resend == Resend::next) pause_until_ = now_ + 10ms;
  }
  void finish() {
    plan_.on_finish();
    is_finished_ = true;
  }
  void pass(milliseconds time) { now_ += time; }

 private:
  CompleterPlan plan_;
  TimePoint now_ = start;
  TimePoint pause_until_ = TimePoint::min();
  bool is_proved_ = false;
  bool is_finished_ = false;
  bool has_had_last_turn_ = false;
  std::optional<Step> last_;
};

constexpr std::array facts_that_may_be{
    Facts{},
    Facts{.has_reports = true},
    Facts{.has_reports = true, .is_lease_lapsed = true, .circuits_at = start + 5ms},
    Facts{.circuits_at = start},
    Facts{.has_reports = true, .circuits_at = start + 5ms},
};

void happen(Watched& completer, std::size_t event) {
  constexpr std::size_t others = 4;
  if (event == 0) return completer.prove();
  if (event == 1) return completer.write(Resend::next);
  if (event == 2) return completer.finish();
  if (event == 3) return completer.pass(5ms);
  completer.act(facts_that_may_be[event - others]);
}

}  // namespace

TEST_CASE("reports and events of circuits take turns, whatever a completer is told in five steps") {
  constexpr std::size_t events = 4 + facts_that_may_be.size();
  constexpr std::size_t steps = 5;
  constexpr std::size_t sequences = events * events * events * events * events;
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    Watched completer;
    INFO("sequence " << sequence);
    for (std::size_t step = 0, rest = sequence; step < steps; ++step, rest /= events) happen(completer, rest % events);
  }
}
