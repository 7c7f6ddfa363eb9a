// The snippets of docs/retry.md, word for word, with checks of the guide's statements. tests/docs finds each one here.
#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/retry.hpp>
#include <dogged/retry_executor.hpp>
#include <dogged/testing.hpp>
#include <dogged/worker.hpp>

#include "retry_world.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;

namespace retry_guide {
struct Payment {
  int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, cents)
struct Receipt {
  std::string id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, id)

namespace {

constexpr dogged::Task<Payment, Receipt> charge_card{"retry_guide.charge_card"};

struct PaymentDeclined : std::runtime_error {
  PaymentDeclined() : std::runtime_error("declined") {}
};
struct HttpError : std::runtime_error {
  explicit HttpError(int code) : std::runtime_error("HTTP " + std::to_string(code)), status(code) {}
  int status;
};

struct Response {
  int status = 0;
  std::string body;
  std::string retry_after;
  std::string date;
};

// The answers of the snippets' services, the next answer last.
Response next_response;
std::vector<int> next_statuses;
bool ledger_is_down = false;
int ledger_calls = 0;

Response post(std::string_view, const Payment&, std::chrono::steady_clock::time_point) { return next_response; }

std::string get(const std::string& url, std::chrono::steady_clock::time_point) {
  const int status = next_statuses.back();
  next_statuses.pop_back();
  if (status != 200) throw HttpError{status};
  return "page of " + url;
}

int ask_ledger(const std::string&) {
  ++ledger_calls;
  if (ledger_is_down) throw std::runtime_error{"the ledger is down"};
  return 7;
}

const dogged::RetryPolicy policy = dogged::exponential(30s).with_multiplier(3).with_max_retries(10).with_max_delay(6h);

Receipt charge(dogged::Context& ctx, const Payment& payment) {
  const Response response = post("https://pay.example/charges", payment, ctx.deadline());  // your HTTP client
  if (response.status == 201) return {response.body};
  const dogged::Classification failure =
      dogged::classify_http(response.status, {.retry_after = response.retry_after, .date = response.date});
  throw dogged::TaskError{failure, "the payment service answered " + std::to_string(response.status)};
}

TASK_REGISTER(charge, charge_card, .queue = "payments",
              .retry = dogged::Exponential{.base = 30s, .multiplier = 3, .max_retries = 10, .max_delay = 6h},
              .auto_retry_for = dogged::codes::http_retryable + dogged::codes::connect_transient +
                                dogged::ErrorCodes{"TIMEOUT", "LEDGER_UNAVAILABLE"},
              .timeout = 10s);

const dogged::Classifier classifier = dogged::Classifier{}.set(
    dogged::CodeSource::http, 409, {.category = dogged::Category::transient, .code = "ORDER_IS_LOCKED"});

const dogged::ExceptionMapper mapper =
    dogged::ExceptionMapper{}
        .map<PaymentDeclined>([](const PaymentDeclined&) {
          return dogged::Classification{.category = dogged::Category::permanent, .code = "PAYMENT_DECLINED"};
        })
        .map<HttpError>([](const HttpError& error) { return dogged::classify_http(error.status); });

std::string load(const std::string& url, dogged::RetryOptions options) {
  options.attempt_timeout = 2s;
  options.on_retry = [](const dogged::RetrySummary& so_far, dogged::milliseconds delay) {
    std::clog << "attempt " << so_far.attempts << " failed; the next in " << delay.count() << " ms\n";
  };
  const auto is_worth_retrying = [](const std::exception_ptr& error) {
    return dogged::RetryVerdict{mapper.map(error).classification};
  };
  auto page = dogged::retry_if(
      dogged::exponential(100ms).with_max_retries(4).with_max_delay(2s),
      [&](const dogged::AttemptContext& attempt) { return get(url, attempt.deadline); },  // your HTTP client
      is_worth_retrying, options);
  return std::move(page).value();  // throws the last error if there is no value
}

/// A page that was just made may not be there yet. It is asked for three times, and never later than a second.
const auto until_it_is_there = [](int attempt,
                                  const dogged::FailedAttempt& failure) -> std::optional<dogged::milliseconds> {
  if (failure.error_code == "HTTP_404" && attempt > 3) return std::nullopt;
  return std::min<dogged::milliseconds>(100ms * attempt, 1s);
};

std::string load_new(const std::string& url, const dogged::RetryOptions& options) {
  return dogged::retry(
             until_it_is_there, [&](const dogged::AttemptContext& attempt) { return get(url, attempt.deadline); },
             options)
      .value();
}

dogged::WorkerOptions worker_options() { return {.policies = {{"until_it_is_there", until_it_is_there}}}; }

constexpr dogged::RetryPolicy by_name =
    dogged::Custom{.name = "until_it_is_there", .max_retries = 8};  // of TASK_REGISTER

dogged::CircuitBreaker ledger{{.failure_threshold = 5, .recovery_timeout = 30s, .success_threshold = 2}};

int balance(const std::string& account, dogged::RetryOptions options) {
  options.breaker = &ledger;
  return dogged::retry(
             dogged::exponential(50ms).with_max_retries(2), [&] { return ask_ledger(account); }, options)
      .value();
}

dogged::RetryBudget ledger_budget{{.share = 0.1, .min_retries_per_second = 1}};  // one for all calls to the ledger

int balance_within_budget(const std::string& account, dogged::RetryOptions options) {
  options.budget = &ledger_budget;
  return dogged::retry(
             dogged::exponential(50ms).with_max_retries(4), [&] { return ask_ledger(account); }, options)
      .value();
}

int balance_or_later(const std::string& account) {
  try {
    return ledger.run([&] { return ask_ledger(account); });
  } catch (const dogged::CircuitOpen& open) {
    throw dogged::TaskError{"LEDGER_UNAVAILABLE", open.what()}.retry_after(open.retry_after().value_or(30s));
  }
}

std::string settings(const dogged::Environment& environment = dogged::process_environment) {
  const auto file = dogged::RetryConfigFile::from_json(
      R"({"tasks": {"card.charge": {"max_attempts": 6, "max_delay": "1h"}}})", "retry.json");
  return dogged::resolve_retry_config(
             {.operation = "card.charge", .policy = policy, .file = &file, .environment = environment})
      .to_text();
}

/// Calls of the ledger as operators configure them: one for all calls, since its breaker counts them together.
struct ConfiguredLedger {
  dogged::RetryConfig config;
  std::unique_ptr<dogged::CircuitBreaker> breaker =
      config.breaker() ? std::make_unique<dogged::CircuitBreaker>(*config.breaker()) : nullptr;

  int balance(const std::string& account, dogged::RetryOptions options) {
    options.breaker = breaker.get();  // none: every call is let through
    const auto is_listed = [this](const std::exception_ptr& error) {
      if (!config.auto_retry_for) return true;  // as dogged::retry
      const dogged::Classification failure = mapper.map(error).classification;
      return std::any_of(config.auto_retry_for->begin(), config.auto_retry_for->end(),
                         [&](const std::string& code) { return code == "*" || code == failure.code.view(); });
    };
    return dogged::retry_if(
               config.policy(), [&] { return ask_ledger(account); }, is_listed, options)
        .value();
  }
};

dogged::TaskError failure_of_charge(const Response& response) {
  next_response = response;
  dogged::testing::FakeContext attempt;
  try {
    static_cast<void>(charge(attempt, Payment{}));
  } catch (const dogged::TaskError& error) {
    return error;
  }
  throw std::logic_error{"the charge succeeded"};
}

}  // namespace

TEST_CASE("the guide's policy for another company's outage goes on for a little more than a day") {
  dogged::milliseconds sum{0};
  for (int retry = 1; const auto range = dogged::delay_range(policy, retry); ++retry) sum += range->backoff;
  CHECK(sum > 24h);
  CHECK(sum < 28h);
}

TEST_CASE("the guide's handler fails with the code of the status, and waits as the service asks") {
  next_response = {.status = 201, .body = "r-1", .retry_after = {}, .date = {}};
  dogged::testing::FakeContext attempt;
  CHECK(charge(attempt, Payment{}).id == "r-1");
  const auto throttled = failure_of_charge({.status = 429, .body = {}, .retry_after = "120", .date = {}});
  CHECK(throttled.code() == "HTTP_429");
  CHECK(throttled.retry_after() == 120s);
  CHECK(failure_of_charge({.status = 429, .body = {}, .retry_after = {}, .date = {}}).retry_after() == std::nullopt);
  CHECK(failure_of_charge({.status = 503, .body = {}, .retry_after = {}, .date = {}}).retry_after() == std::nullopt);
}

TEST_CASE("the defaults are those of the guide's tables") {
  const auto text = [](const dogged::RetryPolicy& of) { return dogged::policy_to_text(of); };
  CHECK(text(dogged::exponential()) == "exponential base=100ms max_retries=4 max_delay=5m jitter=25%");
  CHECK(text(dogged::fixed(1s)) == "fixed interval=1s max_retries=4 jitter=25%");
  CHECK(text(dogged::linear(1s, 2s)) == "linear initial=1s increment=2s max_retries=4 jitter=25%");
  CHECK(dogged::Exponential{}.max_delay == 24h);
  CHECK(dogged::Exponential{}.multiplier == 2);
  CHECK(text(dogged::TaskOptions{}.retry) == "fixed intervals=1m,5m,15m jitter=25%");
  CHECK(text(dogged::RetryConfig{}.policy()) == "exponential base=100ms max_retries=2 max_delay=1m jitter=25%");
  CHECK(text(dogged::ClientOptions{}.retry) == "exponential base=100ms max_retries=20 max_delay=5s jitter=25%");
  CHECK(dogged::ClientOptions{}.retry_for == 30s);
  CHECK(dogged::RetryExecutor::default_timeout == 5min);
  CHECK(dogged::RetryOptions{}.attempt_timeout == 0ms);
  CHECK(dogged::TaskOptions{}.timeout == 0ms);
  CHECK(dogged::provider_retry_after == 60s);
  CHECK(dogged::TaskOptions{}.auto_retry_for.empty());
  CHECK(dogged::TaskOptions{}.max_losses == 3);
  CHECK(dogged::TaskOptions{}.retry_lost);
  CHECK(dogged::TaskOptions{}.dead_letter);
  CHECK(dogged::TaskOptions{}.max_snoozes == 1000);
  CHECK(std::get<dogged::Custom>(dogged::CallPolicy{until_it_is_there}.policy()).max_retries == 20);
  CHECK(dogged::CircuitBreakerSettings{} == dogged::CircuitBreakerSettings{5, 30s, 2});
  CHECK(dogged::RetryBudgetSettings{} == dogged::RetryBudgetSettings{0.2, 10, 10s});
  CHECK(dogged::CollectPolicies{.errors = dogged::NoRetry{}}.error_retries == dogged::ErrorRetries::shared);
  CHECK(dogged::CollectPolicies{.errors = dogged::NoRetry{}}.max_results == 1000);
}

TEST_CASE("the guide's words on codes are true") {
  CHECK(classifier.http(409).code == "ORDER_IS_LOCKED");
  CHECK(classifier.http(409).category == dogged::Category::transient);
  CHECK(dogged::classify_http(409).category == dogged::Category::permanent);
  CHECK(mapper.map(std::make_exception_ptr(PaymentDeclined{})).classification.code == "PAYMENT_DECLINED");
  CHECK(mapper.map(std::make_exception_ptr(HttpError{503})).classification.code == "HTTP_503");
  CHECK(mapper.map(std::make_exception_ptr(std::runtime_error{"?"})).classification.code == "UNHANDLED_EXCEPTION");
  for (const std::string_view code : {"HTTP_503", "HTTP_429"}) CHECK(dogged::codes::http_retryable.contains(code));
  for (const std::string_view code : {"CONNECT_REFUSED", "CONNECT_TIMEOUT", "DNS_FAILURE"}) {
    CHECK(dogged::codes::connect_transient.contains(code));
  }
  for (const std::string_view code : {"PG_40001", "PG_40P01", "PG_57P01"}) {
    CHECK(dogged::codes::sqlstate_transient.contains(code));
  }
  CHECK(dogged::codes::aws_throttled.contains("AWS_THROTTLING_EXCEPTION"));
  CHECK(dogged::classify_sqlstate("23505").code == "PG_23505");
  for (const std::string_view code : {"HTTP_400", "HTTP_401", "PG_23505", "UNHANDLED_EXCEPTION", "TIMEOUT"}) {
    CHECK_FALSE(dogged::is_retryable(dogged::classify_name(code).category));
  }
}

TEST_CASE("the guide's loader tries again what may pass, and not what may not") {
  retry_world::World world;
  next_statuses = {200, 503, 502};
  CHECK(load("/a", world.options()) == "page of /a");
  CHECK(world.waits == std::vector<dogged::milliseconds>{100ms, 200ms});
  next_statuses = {200, 404};
  CHECK_THROWS_AS(load("/a", world.options()), HttpError);
  CHECK(world.waits.size() == 2);
}

TEST_CASE("the guide's own policy waits for what is not there yet, and not for ever") {
  retry_world::World world;
  next_statuses = {200, 404, 404};
  CHECK(load_new("/new", world.options()) == "page of /new");
  CHECK(world.waits == std::vector<dogged::milliseconds>{100ms, 200ms});
  CHECK(until_it_is_there(4, {.error_code = "HTTP_404"}) == std::nullopt);
  CHECK(until_it_is_there(20, {.error_code = "HTTP_503"}) == 1s);
  CHECK(worker_options().policies.count("until_it_is_there") == 1);
  CHECK(dogged::policy_to_text(by_name) == "custom name=until_it_is_there max_retries=8");
}

TEST_CASE("the guide's test does not wait") {
  std::vector<std::chrono::nanoseconds> waits;
  dogged::RetryOptions options;
  options.wait = [&](std::chrono::nanoseconds wait, const std::stop_token&) {
    waits.push_back(wait);
    return true;  // it was not stopped
  };
  options.draw = [] { return 0.5; };  // the middle of the jitter's range
  next_statuses = {200, 503};
  CHECK(load("/b", options) == "page of /b");
  CHECK(waits == std::vector<std::chrono::nanoseconds>{100ms});
}

TEST_CASE("the guide's breaker opens after five failures, and its task comes back when it may be asked again") {
  retry_world::World world;
  ledger.reset();
  ledger_is_down = true;
  ledger_calls = 0;
  CHECK_THROWS_WITH(balance("a", world.options()), "the ledger is down");
  CHECK_THROWS_WITH(balance("a", world.options()), "the ledger is down");
  CHECK(ledger_calls == 5);
  CHECK_THROWS_AS(balance("a", world.options()), dogged::RetryEnded);
  try {
    static_cast<void>(balance_or_later("a"));
    FAIL("was let through");
  } catch (const dogged::TaskError& error) {
    CHECK(error.code() == "LEDGER_UNAVAILABLE");
    CHECK((error.retry_after() > 0ms && error.retry_after() <= 30s));
  }
  CHECK(ledger_calls == 5);
  ledger.reset();
  ledger_is_down = false;
  CHECK(balance_or_later("a") == 7);
  CHECK(balance("a", world.options()) == 7);
}

TEST_CASE("the guide's budget ends the retries of calls that all fail") {
  retry_world::World world;
  ledger_is_down = true;
  ledger_calls = 0;
  auto options = world.options();
  options.wait = [](std::chrono::nanoseconds, const std::stop_token&) { return true; };
  for (int i = 0; i < 90; ++i) CHECK_THROWS_WITH(balance_within_budget("a", options), "the ledger is down");
  CHECK(ledger_calls == 100);
  ledger_is_down = false;
}

TEST_CASE("the guide's settings resolve to what it prints") {
  const dogged::RetryConfig config = dogged::RetryConfig::from_json(R"({"preset": "http_request", "max_attempts": 6})");
  const dogged::RetryPolicy of_config = config.policy();
  CHECK(dogged::max_retries(of_config) == 5);
  const auto environment = [](const std::string& variable) -> std::optional<std::string> {
    if (variable == "CARD_CHARGE_RETRY_MAX_BACKOFF_MS") return "60000";
    return std::nullopt;
  };
  CHECK(settings(environment) == R"(policy_type = exponential_backoff (TASK_REGISTER)
policy_name = none (built-in default), not used
max_attempts = 6 (file retry.json /tasks/card.charge/max_attempts)
initial_delay = 30s (TASK_REGISTER)
intervals = none (built-in default), not used
max_delay = 1m (environment CARD_CHARGE_RETRY_MAX_BACKOFF_MS)
multiplier = 3 (TASK_REGISTER)
increment = 30s (built-in default), not used
jitter = 25% (TASK_REGISTER)
dead_letter_enabled = true (built-in default)
circuit_breaker = none (built-in default)
auto_retry_for = not said (built-in default)
)");
}

TEST_CASE("the guide's configured calls have the breaker of the config, and retry the codes that it lists") {
  retry_world::World world;
  const auto calls_with = [&](const std::string& json, int times) {
    ConfiguredLedger configured{dogged::RetryConfig::from_json(json)};
    ledger_calls = 0;
    for (int i = 0; i < times; ++i) CHECK_THROWS(configured.balance("a", world.options()));
    return ledger_calls;
  };
  ledger_is_down = true;  // UNHANDLED_EXCEPTION
  CHECK(calls_with(R"({"policy_type": "circuit_breaker"})", 1) == 3);
  CHECK(world.waits == std::vector<dogged::milliseconds>{40s, 40s});
  CHECK(calls_with(R"({"policy_type": "circuit_breaker", "circuit_breaker": {"failure_threshold": 2}})", 9) == 2);
  CHECK(calls_with(R"({"max_attempts": 2})", 9) == 18);
  CHECK(calls_with(R"({"max_attempts": 2, "auto_retry_for": ["http_retryable"]})", 9) == 9);
  CHECK(calls_with(R"({"max_attempts": 2, "auto_retry_for": ["*"]})", 9) == 18);
  ledger_is_down = false;
}

TEST_CASE("the guide's client gives up sooner than others") {
  const dogged::ClientOptions impatient{.retry = dogged::exponential(50ms).with_max_retries(3), .retry_for = 500ms};
  CHECK(impatient.retry_for < dogged::ClientOptions{}.retry_for);
  CHECK(dogged::max_retries(impatient.retry) == 3);
}

}  // namespace retry_guide
