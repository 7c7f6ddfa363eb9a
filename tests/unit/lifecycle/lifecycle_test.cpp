// The lifecycle: every combination of what the decision depends on, held against the table in
// docs/lifecycle.md.
#include "lifecycle/lifecycle.hpp"

#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::lifecycle;

namespace {

constexpr std::array all_statuses{Status::pending,   Status::running,   Status::succeeded, Status::failed,
                                  Status::discarded, Status::cancelled, Status::expired};
constexpr std::array all_outcomes{Outcome::succeeded, Outcome::failed,      Outcome::timed_out, Outcome::cancelled,
                                  Outcome::lost,      Outcome::interrupted, Outcome::snoozed};

enum class Listing { listed, by_star, not_listed };

constexpr double draw = 0.0;
/// Backoffs 10 s, 20 s, 40 s; with the draw 0, delays 5 s, 10 s, 20 s.
constexpr Exponential policy{.base = 10s, .max_retries = 3, .jitter = Jitter::proportional(0.5)};

/// One combination.
struct Case {
  Status status;
  Outcome outcome;
  Listing listing;
  bool has_retry_left;
  std::optional<milliseconds> retry_after;
  bool last_loss;
  bool retry_lost;
  bool dead_letter;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (Status status : all_statuses)
    for (Outcome outcome : all_outcomes)
      for (Listing listing : {Listing::listed, Listing::by_star, Listing::not_listed})
        for (bool has_retry_left : {true, false})
          for (auto retry_after : {std::optional<milliseconds>{}, std::optional<milliseconds>{7s}})
            for (bool last_loss : {true, false})
              for (bool retry_lost : {true, false})
                for (bool dead_letter : {true, false})
                  cases.push_back(
                      {status, outcome, listing, has_retry_left, retry_after, last_loss, retry_lost, dead_letter});
  return cases;
}

std::ostream& operator<<(std::ostream& out, const Case& one) {
  constexpr std::array listings{"listed", "*", "not listed"};
  return out << to_text(one.status) << ", " << to_text(one.outcome) << ", "
             << listings[static_cast<std::size_t>(one.listing)]
             << (one.has_retry_left ? ", retries left" : ", no retry left") << (one.retry_after ? ", retry_after" : "")
             << (one.last_loss ? ", last loss" : ", losses left") << (one.retry_lost ? "" : ", retry_lost=false")
             << (one.dead_letter ? "" : ", dead_letter=false");
}

TaskState task_of(const Case& one) {
  return {.status = one.status,
          .attempt = 5,
          .retry_count = one.has_retry_left ? 2 : 3,
          .losses = one.last_loss ? 2 : 1,
          .snoozes = 4};
}

Rules rules_of(const Case& one) {
  Rules rules{.policy = policy,
              .auto_retry_for = {"OTHER_CODE"},
              .max_losses = 3,
              .retry_lost = one.retry_lost,
              .dead_letter = one.dead_letter};
  if (one.listing == Listing::listed) rules.auto_retry_for = {"OTHER_CODE", "HTTP_503", "TIMEOUT"};
  if (one.listing == Listing::by_star) rules.auto_retry_for = {"*"};
  return rules;
}

Ending ending_of(const Case& one) {
  return {.outcome = one.outcome,
          .error_code = one.outcome == Outcome::failed ? std::optional<ErrorCode>{"HTTP_503"} : std::nullopt,
          .retry_after = one.retry_after,
          .snooze = 90s};
}

std::optional<Transition> transition_of(const Case& one) {
  return after_attempt(task_of(one), rules_of(one), ending_of(one), draw);
}

/// The table of docs/lifecycle.md: where the task goes.
Status expected_status(const Case& one) {
  const bool is_retried = one.listing != Listing::not_listed && one.has_retry_left;
  const bool survives_loss = one.retry_lost && !one.last_loss;
  const Status failed = one.dead_letter ? Status::failed : Status::discarded;
  switch (one.outcome) {
    case Outcome::succeeded:
      return Status::succeeded;
    case Outcome::failed:
      return is_retried ? Status::pending : failed;
    case Outcome::timed_out:
      return is_retried ? Status::pending : failed;
    case Outcome::cancelled:
      return Status::cancelled;
    case Outcome::lost:
      return survives_loss ? Status::pending : failed;
    case Outcome::interrupted:
    case Outcome::snoozed:
      return Status::pending;
  }
  return Status::expired;
}

std::string expected_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::failed:
      return "HTTP_503";
    case Outcome::timed_out:
      return "TIMEOUT";
    case Outcome::cancelled:
      return "CANCELLED";
    case Outcome::lost:
      return "WORKER_LOST";
    case Outcome::succeeded:
    case Outcome::interrupted:
    case Outcome::snoozed:
      break;
  }
  return "";
}

bool is_failure(Outcome outcome) { return outcome == Outcome::failed || outcome == Outcome::timed_out; }

/// ... and when it runs again.
std::optional<NextRun> expected_next_run(const Case& one) {
  if (expected_status(one) != Status::pending) return std::nullopt;
  if (one.outcome == Outcome::snoozed) return NextRun{90s, 90s, false, false};
  if (!is_failure(one.outcome)) return NextRun{};
  if (one.retry_after) return NextRun{*one.retry_after, *one.retry_after, true, true};
  return NextRun{40s, 20s, true, false};  // the third retry
}

Rules star_rules(RetryPolicy chosen = policy) { return {.policy = chosen, .auto_retry_for = {"*"}}; }

Transition after_failure(const Rules& rules, const Ending& ending, const TaskState& task = {}) {
  return after_attempt(task, rules, ending, draw).value();
}

Transition after_failure(const Rules& rules, std::string_view code) {
  return after_failure(rules, Ending{.outcome = Outcome::failed, .error_code = code});
}

}  // namespace

TEST_CASE("every combination has the one transition of the table") {
  const std::vector<Case> cases = all_cases();
  REQUIRE(cases.size() == 7 * 7 * 3 * 2 * 2 * 2 * 2 * 2);
  for (const Case& one : cases) {
    if (one.status != Status::running) continue;
    CAPTURE(one);
    const TaskState before = task_of(one);
    const auto after = transition_of(one);
    REQUIRE(after.has_value());
    const bool spends_retry = is_failure(one.outcome) && expected_status(one) == Status::pending;
    CHECK(after->status == expected_status(one));
    CHECK(after->outcome == one.outcome);
    CHECK(after->code() == expected_code(one.outcome));
    CHECK(after->next_run == expected_next_run(one));
    CHECK(after->will_retry() == (after->status == Status::pending));
    CHECK(after->retry_count == before.retry_count + (spends_retry ? 1 : 0));
    CHECK(after->losses == before.losses + (one.outcome == Outcome::lost ? 1 : 0));
    CHECK(after->snoozes == before.snoozes + (one.outcome == Outcome::snoozed ? 1 : 0));
    CHECK(after->is_retryable_failure == (is_failure(one.outcome) && one.listing != Listing::not_listed));
  }
}

TEST_CASE("a report on a task that is not running changes nothing and leaves no attempt row") {
  for (const Case& one : all_cases()) {
    if (one.status == Status::running) continue;
    CAPTURE(one);
    CHECK_FALSE(transition_of(one).has_value());
  }
}

TEST_CASE("each retry has the policy's next delay, until they are spent") {
  const Rules rules = star_rules();
  TaskState task;
  const std::vector<std::pair<milliseconds, milliseconds>> delays{{10s, 5s}, {20s, 10s}, {40s, 20s}};
  for (const auto& [backoff, delay] : delays) {
    const auto after = after_failure(rules, {.outcome = Outcome::failed, .error_code = "HTTP_503"}, task);
    CHECK(after.next_run == NextRun{backoff, delay, true, false});
    task.retry_count = after.retry_count;
  }
  const auto last = after_failure(rules, {.outcome = Outcome::failed, .error_code = "HTTP_503"}, task);
  CHECK(last.status == Status::failed);
  CHECK(last.retry_count == 3);
}

TEST_CASE("retry_after is cut to 1 ms .. 24 h, not to max_delay, and is not jittered") {
  Exponential short_policy = policy;
  short_policy.max_delay = 1s;
  const std::vector<std::pair<milliseconds, milliseconds>> cuts{{0ms, 1ms},
                                                                {-5s, 1ms},
                                                                {1ms, 1ms},
                                                                {2h, 2h},
                                                                {24h, 24h},
                                                                {25h, 24h},
                                                                {milliseconds::max(), 24h},
                                                                {milliseconds::min(), 1ms}};
  for (const auto& [asked, given] : cuts) {
    CAPTURE(asked.count());
    const auto after = after_failure(star_rules(short_policy),
                                     {.outcome = Outcome::failed, .error_code = "HTTP_429", .retry_after = asked});
    CHECK(after.next_run == NextRun{given, given, true, true});
  }
}

TEST_CASE("a retry_after that is not exact is spread, and the attempt keeps what was given") {
  const auto after_draw = [](double drawn) {
    const Ending ending{
        .outcome = Outcome::failed, .error_code = "X", .retry_after = 60s, .precision = Precision::about};
    return after_attempt({}, star_rules(), ending, drawn).value().next_run;
  };
  CHECK(after_draw(0.0) == NextRun{60s, 45s, true, true});
  CHECK(after_draw(0.5) == NextRun{60s, 60s, true, true});
  CHECK(after_draw(0.9999999) == NextRun{60s, 75s, true, true});
}

TEST_CASE("retry_after does not make a failure retryable, nor extend the number of retries") {
  const Ending ending{.outcome = Outcome::failed, .error_code = "HTTP_429", .retry_after = 5s};
  CHECK(after_failure({.policy = policy, .auto_retry_for = {}}, ending).status == Status::failed);
  CHECK(after_failure(star_rules(NoRetry{}), ending).status == Status::failed);
  CHECK(after_failure(star_rules(), ending, {.retry_count = 3}).status == Status::failed);
}

TEST_CASE("a task whose policy was shortened under it has no retries left") {
  CHECK(after_failure(star_rules(), {.outcome = Outcome::failed, .error_code = "X"}, {.retry_count = 9}).status ==
        Status::failed);
}

TEST_CASE("an attempt that fails without a code is an unhandled exception") {
  const auto after =
      after_failure({.policy = policy, .auto_retry_for = {"UNHANDLED_EXCEPTION"}}, Ending{.outcome = Outcome::failed});
  CHECK(after.error_code == "UNHANDLED_EXCEPTION");
  CHECK(after.status == Status::pending);
}

TEST_CASE("a failure that another try cannot mend is never retried, whatever is listed") {
  for (std::string_view code : {codes::invalid_args, codes::invalid_result, codes::snoozed_too_often}) {
    CAPTURE(std::string{code});
    CHECK(after_failure(star_rules(), code).status == Status::failed);
    CHECK(after_failure({.policy = policy, .auto_retry_for = {std::string{code}}}, code).status == Status::failed);
  }
}

TEST_CASE("a code is listed by its whole name or by the star alone") {
  const auto is_retryable_by = [](const std::string& listed, std::string_view code) {
    return is_retryable({.policy = policy, .auto_retry_for = {listed}}, code);
  };
  CHECK(is_retryable_by("HTTP_503", "HTTP_503"));
  CHECK(is_retryable_by("*", "HTTP_503"));
  CHECK_FALSE(is_retryable_by("HTTP_50", "HTTP_503"));
  CHECK_FALSE(is_retryable_by("HTTP_5033", "HTTP_503"));
  CHECK_FALSE(is_retryable_by("HTTP_*", "HTTP_503"));
  CHECK_FALSE(is_retryable_by("http_503", "HTTP_503"));
  CHECK_FALSE(is_retryable({.policy = policy, .auto_retry_for = {}}, "HTTP_503"));
}

TEST_CASE("the loss with the number max_losses dead-letters the task, whatever its policy") {
  const Ending lost{.outcome = Outcome::lost};
  for (int max_losses : {1, 2, 100}) {
    CAPTURE(max_losses);
    const Rules rules{.policy = NoRetry{}, .auto_retry_for = {}, .max_losses = max_losses};
    CHECK(after_attempt({.losses = max_losses - 1}, rules, lost, draw)->status == Status::failed);
    CHECK(after_attempt({.losses = max_losses}, rules, lost, draw)->status == Status::failed);
    if (max_losses > 1) {
      CHECK(after_attempt({.losses = max_losses - 2}, rules, lost, draw)->status == Status::pending);
    }
  }
}

TEST_CASE("an interruption runs again however often it happens and whatever was lost or spent") {
  const TaskState worn{.attempt = 1000, .retry_count = 3, .losses = 2};
  const Rules rules{.policy = policy, .auto_retry_for = {}, .max_losses = 1, .retry_lost = false};
  const auto after = after_attempt(worn, rules, {.outcome = Outcome::interrupted}, draw);
  CHECK(after == Transition{Status::pending, Outcome::interrupted, std::nullopt, 3, 2, 0, NextRun{}});
}

TEST_CASE("a snooze spends nothing but itself, whatever was lost or spent") {
  const TaskState worn{.attempt = 1000, .retry_count = 3, .losses = 2, .snoozes = 8};
  const Rules rules{.policy = policy, .auto_retry_for = {}, .max_losses = 1, .max_snoozes = 9, .retry_lost = false};
  const auto after = after_attempt(worn, rules, {.outcome = Outcome::snoozed, .snooze = 1h}, draw);
  CHECK(after == Transition{Status::pending, Outcome::snoozed, std::nullopt, 3, 2, 9, NextRun{1h, 1h}});
}

TEST_CASE("a wait that the handler has planned is no snooze of those that are counted and limited") {
  const Rules rules{.policy = policy, .auto_retry_for = {}, .max_snoozes = 1};
  const Ending wait{.outcome = Outcome::snoozed, .snooze = 1h, .snooze_count = SnoozeCount::not_counted};
  const auto after = after_attempt({.snoozes = 1}, rules, wait, draw);
  CHECK(after == Transition{Status::pending, Outcome::snoozed, std::nullopt, 0, 0, 1, NextRun{1h, 1h}});
}

TEST_CASE("a snooze beyond max_snoozes fails the task for good, and is not counted") {
  const Ending snooze{.outcome = Outcome::snoozed, .snooze = 1h};
  for (int max_snoozes : {0, 1, 1000}) {
    CAPTURE(max_snoozes);
    Rules rules = star_rules();
    rules.max_snoozes = max_snoozes;
    const auto after = after_attempt({.snoozes = max_snoozes}, rules, snooze, draw);
    CHECK(after == Transition{Status::failed, Outcome::failed, codes::snoozed_too_often, 0, 0, max_snoozes});
    rules.dead_letter = false;
    CHECK(after_attempt({.snoozes = max_snoozes}, rules, snooze, draw)->status == Status::discarded);
    if (max_snoozes > 0) CHECK(after_attempt({.snoozes = max_snoozes - 1}, rules, snooze, draw)->will_retry());
  }
}

TEST_CASE("a task whose cancellation was requested ends, whatever its attempt came to, and success stands") {
  for (const Case& one : all_cases()) {
    if (one.status != Status::running) continue;
    CAPTURE(one);
    TaskState task = task_of(one);
    task.cancel_requested = true;
    const auto after = after_attempt(task, rules_of(one), ending_of(one), draw);
    REQUIRE(after.has_value());
    if (one.outcome == Outcome::succeeded) {
      CHECK(after == transition_of(one));
      continue;
    }
    CHECK(after->status == Status::cancelled);
    CHECK_FALSE(after->next_run.has_value());
    CHECK(after->retry_count == task.retry_count);  // a retry that will not be is not spent
    const bool lost = one.outcome == Outcome::lost;
    CHECK(after->outcome == (lost ? Outcome::lost : Outcome::cancelled));
    CHECK(after->error_code == (lost ? "WORKER_LOST" : "CANCELLED"));
    CHECK(after->losses == task.losses + (lost ? 1 : 0));
    CHECK(after->snoozes == task.snoozes);  // the attempt was cancelled
  }
}

TEST_CASE("to learn of a cancellation after deciding comes to the same as before, and twice to the same as once") {
  for (const Case& one : all_cases()) {
    if (one.status != Status::running) continue;
    CAPTURE(one);
    TaskState task = task_of(one);
    const Ending ending = ending_of(one);
    const auto late = under_cancel(after_attempt(task, rules_of(one), ending, draw).value());
    task.cancel_requested = true;
    CHECK(late == after_attempt(task, rules_of(one), ending, draw));
    CHECK(under_cancel(late) == late);
  }
}

TEST_CASE("a next run that would fall after expires_at is not: the task expires, and keeps what its attempt came to") {
  for (const Case& one : all_cases()) {
    if (one.status != Status::running) continue;
    CAPTURE(one);
    const Transition without = transition_of(one).value();
    const milliseconds delay = without.next_run.value_or(NextRun{}).delay;
    const auto after = [&](std::optional<milliseconds> expires_in) {
      TaskState task = task_of(one);
      task.expires_in = expires_in;
      return after_attempt(task, rules_of(one), ending_of(one), draw).value();
    };
    CHECK(after({}) == without);
    CHECK(after(24h) == without);
    CHECK(after(delay) == without);  // on the stroke it may still begin
    for (milliseconds too_early : {delay - 1ms, milliseconds{-1}, milliseconds{-24h}}) {
      CAPTURE(too_early.count());
      const Transition late = after(too_early);
      if (!without.next_run) {
        CHECK(late == without);  // an ended task does not expire
        continue;
      }
      CHECK(late.status == Status::expired);
      CHECK_FALSE(late.will_retry());
      CHECK(late.outcome == one.outcome);
      CHECK(late.code() == expected_code(one.outcome));
      CHECK(late.retry_count == task_of(one).retry_count);  // a retry that will not be is not spent
      CHECK(late.losses == without.losses);
      CHECK(late.snoozes == without.snoozes);
    }
  }
}

TEST_CASE("to learn after deciding that a task expires comes to the same as before, and twice to the same as once") {
  for (const Case& one : all_cases()) {
    if (one.status != Status::running) continue;
    CAPTURE(one);
    TaskState task = task_of(one);
    const Transition late = under_expiry(after_attempt(task, rules_of(one), ending_of(one), draw).value());
    task.expires_in = milliseconds{-1};
    CHECK(late == after_attempt(task, rules_of(one), ending_of(one), draw));
    CHECK(under_expiry(late) == late);
  }
}

TEST_CASE("a task that is cancelled and past its time is cancelled, in whatever order that is learnt") {
  for (const Case& one : all_cases()) {
    if (one.status != Status::running) continue;
    CAPTURE(one);
    TaskState task = task_of(one);
    const Transition decided = after_attempt(task, rules_of(one), ending_of(one), draw).value();
    task.cancel_requested = true;
    task.expires_in = milliseconds{-1};
    const auto known_before = after_attempt(task, rules_of(one), ending_of(one), draw);
    CHECK(known_before == under_cancel(decided));
    CHECK(known_before == under_expiry(under_cancel(decided)));
    if (decided.next_run) CHECK(known_before == under_cancel(under_expiry(decided)));
  }
}

TEST_CASE("a policy out of its limits is refused where a delay is asked of it") {
  CHECK_THROWS_AS(after_failure(star_rules(Exponential{}), "HTTP_503"), InvalidPolicy);
}

TEST_CASE("statuses and outcomes are read back from their text, and nothing else is") {
  for (Status status : all_statuses) CHECK(status_from_text(to_text(status)) == status);
  for (Outcome outcome : all_outcomes) CHECK(outcome_from_text(to_text(outcome)) == outcome);
  CHECK(to_text(Status::pending) == "pending");
  CHECK(to_text(Status::expired) == "expired");
  CHECK(to_text(Outcome::timed_out) == "timed_out");
  CHECK(to_text(Outcome::interrupted) == "interrupted");
  for (std::string_view text : {"", "Pending", "running ", "lost", "unknown"}) {
    CHECK_FALSE(status_from_text(text).has_value());
  }
  for (std::string_view text : {"", "pending", "timed out", "Lost"}) CHECK_FALSE(outcome_from_text(text).has_value());
}
