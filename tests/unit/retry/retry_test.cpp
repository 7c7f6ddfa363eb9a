// Retrying a call in this process, in a world where time passes only by waiting.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include <dogged/retry.hpp>

#include "retry_world.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;

namespace {

using Clock = std::chrono::steady_clock;

/// Fails `failures` times, then gives 42.
struct Flaky {
  int failures;
  int calls = 0;
  int operator()() {
    if (++calls <= failures) throw std::runtime_error{"failure " + std::to_string(calls)};
    return 42;
  }
};

struct HttpError : std::runtime_error {
  explicit HttpError(std::optional<milliseconds> delay) : std::runtime_error("HTTP 429"), delay_(delay) {}
  [[nodiscard]] std::optional<milliseconds> retry_after() const { return delay_; }
  std::optional<milliseconds> delay_;
};

template <class T, class E>
class Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  static Expected bad(E error) { return Expected{std::in_place_index<1>, std::move(error)}; }
  [[nodiscard]] bool has_value() const { return content_.index() == 0; }
  T& operator*() & { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  E& error() & { return std::get<1>(content_); }
  E&& error() && { return std::get<1>(std::move(content_)); }

 private:
  template <class Index>
  Expected(Index index, E error) : content_(index, std::move(error)) {}
  std::variant<T, E> content_;
};

/// An expected without a value, and with an error that cannot be copied.
struct Done {
  std::unique_ptr<int> problem = {};
  [[nodiscard]] bool has_value() const { return problem == nullptr; }
  void operator*() const {}
  std::unique_ptr<int>& error() & { return problem; }
  std::unique_ptr<int>&& error() && { return std::move(problem); }
};

const Exponential policy = exponential(1s).with_max_retries(3);

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "none";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

template <class Error>
bool is_a(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

const auto never_called = [](const std::exception_ptr&) -> bool { throw std::logic_error{"the condition was asked"}; };

}  // namespace

TEST_CASE("a call that succeeds at once is made once, without a wait") {
  World world;
  const auto result = retry(
      policy, [] { return 42; }, world.options());
  CHECK(result.succeeded());
  CHECK(result.value() == 42);
  CHECK(result.attempts == 1);
  CHECK(result.error == nullptr);
  CHECK(world.waits.empty());
}

TEST_CASE("a call that fails is repeated after the policy's delays until it succeeds") {
  World world;
  const auto result = retry(policy, Flaky{.failures = 2}, world.options());
  CHECK(result.value() == 42);
  CHECK(result.attempts == 3);
  CHECK(result.elapsed == 3s);
  CHECK(text_of(result.error) == "failure 2");
  CHECK(world.waits == std::vector<milliseconds>{1s, 2s});
}

TEST_CASE("a call that keeps failing ends with the policy's retries, and value throws the last error") {
  World world;
  const auto result = retry(policy, Flaky{.failures = 100}, world.options());
  CHECK_FALSE(result);
  CHECK(result.end == RetryEnd::retries_spent);
  CHECK(result.attempts == 4);
  CHECK(world.waits.size() == 3);
  CHECK_THROWS_WITH(result.value(), "failure 4");
}

TEST_CASE("a policy without retries makes one attempt") {
  World world;
  const auto result = retry(NoRetry{}, Flaky{.failures = 1}, world.options());
  CHECK(result.end == RetryEnd::retries_spent);
  CHECK(result.attempts == 1);
}

TEST_CASE("bad policies and options are refused before the first attempt") {
  Flaky call{.failures = 0};
  CHECK_THROWS_AS(retry(exponential(0ms), std::ref(call)), InvalidPolicy);
  RetryOptions options;
  options.attempt_timeout = -1ms;
  CHECK_THROWS_WITH(retry(policy, std::ref(call), options),
                    "attempt_timeout is -1ms; it must be 1ms to 24h, or 0 for none");
  options.attempt_timeout = 24h + 1ms;
  CHECK_THROWS_AS(retry(policy, std::ref(call), options), InvalidInput);
  CHECK(call.calls == 0);
}

TEST_CASE("a call may give nothing, a reference, or what can only be moved") {
  int number = 7;
  CHECK_NOTHROW(retry(policy, [] {}).value());
  CHECK(retry(policy, [&]() -> int& { return number; }).value() == 7);
  CHECK(*retry(policy, [] { return std::make_unique<int>(7); }).value() == 7);
}

TEST_CASE("only what the condition says is retried") {
  World world;
  const auto condition = [](const std::exception& error) { return std::string_view{error.what()} == "failure 1"; };
  const auto result = retry_if(policy, Flaky{.failures = 100}, condition, world.options());
  CHECK(result.end == RetryEnd::not_retryable);
  CHECK(result.attempts == 2);
  CHECK_THROWS_WITH(result.value(), "failure 2");
}

TEST_CASE("an exception that the condition cannot take is not retried") {
  World world;
  const auto throws_int = []() -> int { throw 3; };
  const auto result = retry_if(
      policy, throws_int, [](const std::exception&) { return true; }, world.options());
  CHECK(result.end == RetryEnd::not_retryable);
  CHECK(is_a<int>(result.error));
  const auto by_pointer = [](const std::exception_ptr& error) { return is_a<int>(error); };
  CHECK(retry_if(policy, throws_int, by_pointer, world.options()).attempts == 4);
}

TEST_CASE("a result without a value is a failure, and its error is kept") {
  World world;
  int calls = 0;
  const auto call = [&]() -> Expected<std::string, std::string> {
    if (++calls >= 3) return {"page"};
    return Expected<std::string, std::string>::bad("busy " + std::to_string(calls));
  };
  const auto result = retry_if(
      policy, call, [](const std::string& error) { return error != "busy 9"; }, world.options());
  CHECK(result.value() == "page");
  CHECK(result.attempts == 3);
  calls = -100;
  const auto failed = retry(policy, call, world.options());
  CHECK(failed.end == RetryEnd::retries_spent);
  REQUIRE(failed.error_value() != nullptr);
  CHECK(*failed.error_value() == "busy -96");
  CHECK_THROWS_AS(failed.value(), FailedResult<std::string>);
  CHECK_THROWS_WITH(failed.value(), "busy -96");
}

TEST_CASE("a result may hold no value, and an error that can only be moved") {
  World world;
  const auto result = retry(
      policy, [] { return Done{std::make_unique<int>(5)}; }, world.options());
  CHECK(result.attempts == 4);
  CHECK(**result.error_value() == 5);
  CHECK_NOTHROW(retry(policy, [] { return Done{}; }).value());
}

TEST_CASE("an exception out of a call with results is the last error") {
  World world;
  int calls = 0;
  const auto call = [&]() -> Expected<int, std::string> {
    if (++calls == 2) throw std::runtime_error{"thrown"};
    return Expected<int, std::string>::bad("returned");
  };
  const auto result = retry_if(
      policy, call, [](const std::string&) { return true; }, world.options());
  CHECK(result.end == RetryEnd::not_retryable);  // the condition knows nothing of exceptions
  CHECK(result.error_value() == nullptr);
  CHECK_THROWS_WITH(result.value(), "thrown");
}

TEST_CASE("the retry_after of an error replaces the policy's delay, cut to the limits") {
  World world;
  auto options = world.options();
  options.retry_after_of = retry_after_from<HttpError>();
  std::vector<std::optional<milliseconds>> asked{7s, std::nullopt, -1ms, 25h};
  std::size_t calls = 0;
  const auto call = [&] { throw HttpError{asked.at(calls++ % asked.size())}; };
  CHECK(retry(fixed(1s).with_max_retries(4), call, options).attempts == 5);
  CHECK(world.waits == std::vector<milliseconds>{7s, 1s, 1ms, 24h});
}

TEST_CASE("the retry_after of a verdict goes before that of the error") {
  World world;
  auto options = world.options();
  options.retry_after_of = retry_after_from<HttpError>();
  const auto call = [] { throw HttpError{7s}; };
  const auto verdict = [](const std::exception&) { return RetryVerdict{true, 3s}; };
  CHECK(retry_if(fixed(1s).with_max_retries(1), call, verdict, options).attempts == 2);
  CHECK(world.waits == std::vector<milliseconds>{3s});
}

TEST_CASE("the retry_after of a result's error is used without more ado") {
  World world;
  const auto call = [] { return Expected<int, HttpError>::bad(HttpError{7s}); };
  CHECK(retry(fixed(1s).with_max_retries(1), call, world.options()).attempts == 2);
  CHECK(world.waits == std::vector<milliseconds>{7s});
}

TEST_CASE("a retry whose stop token is set makes no attempt") {
  World world;
  world.stop.request_stop();
  Flaky call{.failures = 0};
  const auto result = retry(policy, std::ref(call), world.options());
  CHECK(result.end == RetryEnd::stopped);
  CHECK(result.attempts == 0);
  CHECK(call.calls == 0);
  CHECK_THROWS_WITH(result.value(), "there is no value: the retry ended as stopped");
}

TEST_CASE("a stop in an attempt ends the retry without asking the condition, and a stop in a wait without another") {
  World world;
  const auto stopping = [&]() -> int {
    world.stop.request_stop();
    throw std::runtime_error{"interrupted"};
  };
  const auto result = retry_if(policy, stopping, never_called, world.options());
  CHECK(result.end == RetryEnd::stopped);
  CHECK_THROWS_WITH(result.value(), "interrupted");
  CHECK(world.waits.empty());

  World other;
  auto options = other.options();
  options.wait = [](std::chrono::nanoseconds, const std::stop_token&) { return false; };
  const auto cut_short = retry(policy, Flaky{.failures = 9}, options);
  CHECK(cut_short.end == RetryEnd::stopped);
  CHECK(cut_short.attempts == 1);
}

TEST_CASE("a success is kept although a stop was requested meanwhile") {
  World world;
  CHECK(retry(
            policy, [&] { return world.stop.request_stop(); }, world.options())
            .value());
}

TEST_CASE("a retry whose deadline is past makes no attempt") {
  World world;
  for (const Clock::time_point deadline : {world.now, world.now - 1h, Clock::time_point::min()}) {
    auto options = world.options();
    options.deadline = deadline;
    const auto result = retry(
        policy, [] { return 1; }, options);
    CHECK(result.end == RetryEnd::deadline);
    CHECK(result.attempts == 0);
  }
}

TEST_CASE("a wait that would not end before the deadline is not begun") {
  World world;
  auto options = world.options();
  options.deadline = world.now + 3s;  // 1 s, then 2 s would end at it
  const auto result = retry(policy, Flaky{.failures = 9}, options);
  CHECK(result.end == RetryEnd::deadline);
  CHECK(result.attempts == 2);
  CHECK(result.elapsed == 1s);
  CHECK(world.waits == std::vector<milliseconds>{1s});
  CHECK_THROWS_WITH(result.value(), "failure 2");
}

TEST_CASE("a call is told its attempt, the sooner of its deadlines, and the stop token") {
  World world;
  auto options = world.options();
  options.attempt_timeout = 5s;
  options.deadline = world.now + 7s;
  std::vector<AttemptContext> contexts;
  const auto call = [&](const AttemptContext& context) -> int {
    contexts.push_back(context);
    throw std::runtime_error{"x"};
  };
  CHECK(retry(fixed(3s).with_jitter(Jitter::none()), call, options).attempts == 3);
  CHECK(contexts.at(0).attempt == 1);
  CHECK(contexts.at(2).attempt == 3);
  CHECK(contexts.at(0).deadline == Clock::time_point{5s});
  CHECK(contexts.at(1).deadline == Clock::time_point{7s});
  world.stop.request_stop();
  CHECK(contexts.at(0).stop.stop_requested());
}

TEST_CASE(
    "an attempt that fails after its time is a timeout with the failure inside, and one that succeeds a success") {
  World world;
  auto options = world.options();
  options.attempt_timeout = 5s;
  const auto late = [&](bool fails) {
    world.now += 5s;
    if (fails) throw HttpError{9s};
    return 42;
  };
  CHECK(retry(
            policy, [&] { return late(false); }, options)
            .value() == 42);

  options.retry_after_of = retry_after_from<HttpError>();
  std::string seen;
  const auto condition = [&](const std::exception& error) { return seen = error.what(), true; };
  const auto result = retry_if(
      fixed(1s).with_max_retries(1), [&] { return late(true); }, condition, options);
  CHECK(result.attempts == 2);
  CHECK(seen == "attempt 2 failed after its time of 5s");
  CHECK(world.waits == std::vector<milliseconds>{9s});
  try {
    static_cast<void>(result.value());
    FAIL("has a value");
  } catch (const AttemptTimeout& timeout) {
    CHECK_THROWS_AS(std::rethrow_if_nested(timeout), HttpError);
  }
}

TEST_CASE("hooks are told each wait, and the end once") {
  World world;
  auto options = world.options();
  std::vector<std::string> told;
  const auto tell = [&](const std::string& what, const RetrySummary& now) {
    told.push_back(what + ": " + std::to_string(now.attempts) + ", " + text_of(now.error));
  };
  options.on_retry = [&](const RetrySummary& now, milliseconds delay) {
    tell("waits " + std::to_string(delay.count()), now);
  };
  options.on_success = [&](const RetrySummary& now) { tell("success", now); };
  options.on_failure = [&](const RetrySummary& now) { tell(std::string{to_text(now.end)}, now); };
  CHECK(retry(policy, Flaky{.failures = 1}, options));
  CHECK_FALSE(retry(fixed(5s).with_max_retries(1), Flaky{.failures = 9}, options));
  CHECK(told == std::vector<std::string>{"waits 1000: 1, failure 1", "success: 2, failure 1",
                                         "waits 5000: 1, failure 1", "retries_spent: 2, failure 2"});
}

TEST_CASE("a hook that throws changes nothing, and is reported beside the error") {
  World world;
  auto options = world.options();
  options.on_retry = [](const RetrySummary&, milliseconds) { throw std::logic_error{"hook"}; };
  const auto good = retry(policy, Flaky{.failures = 1}, options);
  CHECK(good.value() == 42);
  CHECK(text_of(good.callback_error) == "hook");
  options.on_failure = [](const RetrySummary&) { throw std::logic_error{"last hook"}; };
  const auto bad = retry(policy, Flaky{.failures = 9}, options);
  CHECK(bad.end == RetryEnd::retries_spent);
  CHECK(text_of(bad.error) == "failure 4");
  CHECK(text_of(bad.callback_error) == "hook");  // the first
}

TEST_CASE("a condition, a retry_after_of, a draw or a wait that throws ends the retry, and both errors are reported") {
  const auto fails = [](RetryOptions options, const std::function<bool(const std::exception&)>& condition) {
    const auto result = retry_if(policy, Flaky{.failures = 9}, condition, options);
    CHECK(result.end == RetryEnd::callback_failed);
    CHECK(result.attempts == 1);
    CHECK(text_of(result.callback_error) == "callback");
    CHECK_THROWS_WITH(result.value(), "failure 1");
  };
  const auto yes = [](const std::exception&) { return true; };
  World world;
  fails(world.options(), [](const std::exception&) -> bool { throw std::logic_error{"callback"}; });
  auto options = world.options();
  options.retry_after_of = [](const std::exception_ptr&) -> std::optional<milliseconds> {
    throw std::logic_error{"callback"};
  };
  fails(options, yes);
  options = world.options();
  options.draw = []() -> double { throw std::logic_error{"callback"}; };
  fails(options, yes);
  options = world.options();
  options.wait = [](std::chrono::nanoseconds, const std::stop_token&) -> bool { throw std::logic_error{"callback"}; };
  fails(options, yes);
}

TEST_CASE("a hook that throws does not hide which callback has ended the retry") {
  const auto ended_by_callback = [](RetryOptions options, const std::function<bool(const std::exception&)>& condition) {
    options.on_retry = [](const RetrySummary&, milliseconds) { throw std::logic_error{"first hook"}; };
    options.on_failure = [](const RetrySummary& now) {
      CHECK(text_of(now.callback_error) == "callback");
      throw std::logic_error{"last hook"};
    };
    const auto result = retry_if(policy, Flaky{.failures = 9}, condition, options);
    CHECK(result.end == RetryEnd::callback_failed);
    CHECK(text_of(result.callback_error) == "callback");
    CHECK(text_of(result.error) == "failure " + std::to_string(result.attempts));
    return result.attempts;
  };
  const auto yes = [](const std::exception&) { return true; };
  World world;
  int asked = 0;
  CHECK(ended_by_callback(world.options(), [&](const std::exception&) -> bool {
          if (++asked == 2) throw std::logic_error{"callback"};
          return true;
        }) == 2);
  auto options = world.options();
  options.retry_after_of = [](const std::exception_ptr&) -> std::optional<milliseconds> {
    throw std::logic_error{"callback"};
  };
  CHECK(ended_by_callback(options, yes) == 1);
  options = world.options();
  options.draw = []() -> double { throw std::logic_error{"callback"}; };
  CHECK(ended_by_callback(options, yes) == 1);
  options = world.options();
  options.wait = [](std::chrono::nanoseconds, const std::stop_token&) -> bool { throw std::logic_error{"callback"}; };
  CHECK(ended_by_callback(options, yes) == 1);
}

TEST_CASE("a draw that is no number, below 0 or above 1 ends the retry with the reason") {
  const auto refused = [](double draw) {
    World world;
    auto options = world.options();
    options.draw = [draw] { return draw; };
    const auto result = retry(policy, Flaky{.failures = 9}, options);
    CHECK(result.end == RetryEnd::callback_failed);
    CHECK(world.waits.empty());
    return text_of(result.callback_error);
  };
  constexpr auto rule = "; it must be a random number in [0, 1)";
  CHECK(refused(std::numeric_limits<double>::quiet_NaN()) == std::string{"draw is nan"} + rule);
  CHECK(refused(-0.1) == std::string{"draw is -0.1"} + rule);
  CHECK(refused(1.1) == std::string{"draw is 1.1"} + rule);
}

namespace {

CircuitBreakerOptions in(World& world) {
  return {.now = [&world] { return world.now; }};
}

}  // namespace

TEST_CASE("without a deadline, a breaker that opens ends the retry") {
  World world;
  CircuitBreaker breaker{{.failure_threshold = 2}, in(world)};
  auto options = world.options();
  options.breaker = &breaker;
  const auto result = retry(policy, Flaky{.failures = 9}, options);
  CHECK(result.end == RetryEnd::circuit_open);
  CHECK(result.attempts == 2);
  CHECK_THROWS_WITH(result.value(), "failure 2");
  const auto refused = retry(
      policy, [] { return 1; }, options);
  CHECK(refused.attempts == 0);
  CHECK_THROWS_AS(refused.value(), RetryEnded);
}

TEST_CASE("with a deadline, an open breaker is waited for if it recovers before it and a retry is left") {
  World world;
  CircuitBreaker breaker{{.failure_threshold = 1, .recovery_timeout = 30s, .success_threshold = 1}, in(world)};
  auto options = world.options();
  options.breaker = &breaker;
  const auto outcome = [&](int max_retries, milliseconds within) {
    breaker.reset();
    options.deadline = world.now + within;
    return retry(fixed(1s).with_max_retries(max_retries), Flaky{.failures = 1}, options).end;
  };
  CHECK(outcome(2, 31s) == RetryEnd::succeeded);
  CHECK(world.waits == std::vector<milliseconds>{1s, 29s});
  CHECK(breaker.state() == CircuitState::closed);
  CHECK(outcome(2, 30s) == RetryEnd::circuit_open);
  CHECK(outcome(1, 31s) == RetryEnd::circuit_open);
}

TEST_CASE("a breaker that was forced open is not waited for") {
  World world;
  CircuitBreaker breaker{{}, in(world)};
  breaker.force_open();
  auto options = world.options();
  options.breaker = &breaker;
  options.deadline = world.now + 1h;
  CHECK(retry(
            policy, [] {}, options)
            .end == RetryEnd::circuit_open);
  CHECK(world.waits.empty());
}

TEST_CASE("a breaker does not count failures that the condition calls not retryable, nor those of a stop") {
  World world;
  CircuitBreaker breaker{{.failure_threshold = 1}, in(world)};
  auto options = world.options();
  options.breaker = &breaker;
  CHECK_FALSE(retry_if(
      policy, Flaky{.failures = 9}, [](const std::exception&) { return false; }, options));
  CHECK(breaker.state() == CircuitState::closed);
  const auto stopping = [&] {
    world.stop.request_stop();
    throw std::runtime_error{"interrupted"};
  };
  CHECK_FALSE(retry(policy, stopping, options));
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a retry around a breaker waits as long as the breaker says") {
  World world;
  CircuitBreaker breaker{{.failure_threshold = 1, .recovery_timeout = 30s, .success_threshold = 1}, in(world)};
  Flaky call{.failures = 1};
  const auto result = retry(
      fixed(1s), [&] { return breaker.run(std::ref(call)); }, world.options());
  CHECK(result.value() == 42);
  CHECK(world.waits == std::vector<milliseconds>{1s, 29s});
}

TEST_CASE("the default wait ends at once when it is stopped") {
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(wait_or_stop(24h, stop.get_token()));
  CHECK(wait_or_stop(0ns, {}));
}

TEST_CASE("the default wait ends when it is stopped from another thread") {
  std::stop_source stop;
  std::thread stopper{[&] { stop.request_stop(); }};
  CHECK_FALSE(wait_or_stop(std::chrono::nanoseconds::max(), stop.get_token()));
  stopper.join();
}

TEST_CASE("the defaults retry without any option") { CHECK(retry(fixed(1ms), Flaky{.failures = 2}).value() == 42); }
