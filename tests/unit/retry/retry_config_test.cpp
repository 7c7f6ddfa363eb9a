// A RetryConfig by itself: its defaults, limits, JSON, the policy that it makes, and the presets.
#include <cctype>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/classification.hpp>
#include <dogged/code_sets.hpp>
#include <dogged/error.hpp>
#include <dogged/retry_config.hpp>

#include "refused_numbers.hpp"
#include "retry/named_code_sets.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using dogged::test::infinity;
using dogged::test::not_a_number;
using nlohmann::json;

namespace {

/// The message of from_json for text that it refuses.
std::string refusal(const std::string& text) {
  try {
    return "taken: " + RetryConfig::from_json(text).to_json();
  } catch (const InvalidPolicy& error) {
    return error.what();
  }
}

std::string refusal(const RetryConfig& config) {
  try {
    (void)config.policy();
    return "taken";
  } catch (const InvalidPolicy& error) {
    return error.what();
  }
}

std::string refusal(const CircuitBreakerSettings& settings) {
  return refusal(RetryConfig{.circuit_breaker = settings});
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

using Cases = std::vector<std::pair<std::string, std::string>>;

void check_refused(const Cases& cases) {
  for (const auto& [text, message] : cases) {
    CAPTURE(text.substr(0, 200));
    CHECK(refusal(text) == message);
  }
}

}  // namespace

TEST_CASE("An empty JSON object is the built-in default") {
  const RetryConfig config = RetryConfig::from_json("{}");
  CHECK(config == RetryConfig{});
  CHECK(config.dead_letter_enabled);
  CHECK_FALSE(config.breaker());
  CHECK(config.policy() == RetryPolicy{Exponential{.base = 100ms, .max_retries = 2, .max_delay = 60s}});
}

TEST_CASE("Each policy type makes its policy") {
  CHECK(RetryConfig::from_json(R"({"policy_type": "exponential_backoff", "max_attempts": 5, "initial_delay": "1s",
            "max_delay": "1h", "multiplier": 3, "jitter": false})")
            .policy() ==
        RetryPolicy{
            Exponential{.base = 1s, .multiplier = 3, .max_retries = 4, .max_delay = 1h, .jitter = Jitter::none()}});
  CHECK(RetryConfig::from_json(R"({"policy_type": "linear_backoff", "increment": "5s", "jitter": "full"})").policy() ==
        RetryPolicy{
            Linear{.initial = 100ms, .increment = 5s, .max_retries = 2, .max_delay = 60s, .jitter = Jitter::full()}});
  CHECK(RetryConfig::from_json(R"({"policy_type": "fixed_interval", "initial_delay": "2s"})").policy() ==
        RetryPolicy{Fixed{.interval = 2s, .max_retries = 2, .max_delay = 60s}});
  CHECK(RetryConfig::from_json(R"({"policy_type": "no_retry"})").policy() == RetryPolicy{NoRetry{}});
}

TEST_CASE("A linear backoff without increment grows by its initial delay") {
  CHECK(RetryConfig::from_json(R"({"policy_type": "linear_backoff", "initial_delay": "2s"})").policy() ==
        RetryPolicy{Linear{.initial = 2s, .increment = 2s, .max_retries = 2, .max_delay = 60s}});
}

TEST_CASE("One attempt is no retry, 21 attempts are 20 retries") {
  CHECK(RetryConfig{.max_attempts = 1}.policy() == RetryPolicy{NoRetry{}});
  CHECK(max_retries(RetryConfig{.max_attempts = 21}.policy()) == 20);
}

TEST_CASE("A list of intervals is one retry each, cut or its last repeated as max_attempts says") {
  const auto intervals_of = [](const std::string& rest) {
    const std::string text = R"({"policy_type": "fixed_interval", "intervals": ["1s", "2s", "3s"])" + rest + "}";
    return std::get<Fixed>(RetryConfig::from_json(text).policy()).intervals;
  };
  CHECK(intervals_of("") == Intervals{1s, 2s, 3s});
  CHECK(intervals_of(R"(, "max_attempts": 3)") == Intervals{1s, 2s});
  CHECK(intervals_of(R"(, "max_attempts": 6)") == Intervals{1s, 2s, 3s, 3s, 3s});
}

TEST_CASE("Jitter is a switch, a percentage, a duration or full") {
  const auto jitter_of = [](const std::string& written) {
    return RetryConfig::from_json(R"({"jitter": )" + written + "}").jitter;
  };
  CHECK(jitter_of("true") == Jitter::proportional(0.25));
  CHECK(jitter_of("false") == Jitter::none());
  CHECK(jitter_of(R"("none")") == Jitter::none());
  CHECK(jitter_of(R"("full")") == Jitter::full());
  CHECK(jitter_of(R"("10%")") == Jitter::proportional(0.1));
  CHECK(jitter_of(R"("50ms")") == Jitter::absolute(50ms));
}

TEST_CASE("A circuit breaker stands in front of any policy") {
  const RetryConfig config = RetryConfig::from_json(R"({"circuit_breaker": {"recovery_timeout": "5s"}})");
  CHECK(config.breaker() == CircuitBreakerSettings{.recovery_timeout = 5s});
  CHECK(config.policy() == RetryConfig{}.policy());
  CHECK_FALSE(RetryConfig::from_json(R"({"circuit_breaker": false})").breaker());
}

TEST_CASE("With policy type circuit_breaker no retry comes before the breaker's recovery") {
  const RetryConfig config = RetryConfig::from_json(R"({"policy_type": "circuit_breaker"})");
  CHECK(config.breaker() == CircuitBreakerSettings{});
  CHECK(config.policy() == RetryPolicy{Fixed{.interval = 40s, .max_retries = 2}});
  CHECK(delay_range(config.policy(), 1)->shortest == 30s);
  CHECK(RetryConfig::from_json(R"({"policy_type": "circuit_breaker", "jitter": "2s"})").policy() ==
        RetryPolicy{Fixed{.interval = 32s, .max_retries = 2, .jitter = Jitter::absolute(2s)}});
  CHECK(RetryConfig::from_json(R"({"policy_type": "circuit_breaker", "jitter": false,
            "circuit_breaker": {"recovery_timeout": "24h"}})")
            .policy() == RetryPolicy{Fixed{.interval = 24h, .max_retries = 2, .jitter = Jitter::none()}});
}

TEST_CASE("Jitter that leaves a breaker no time to recover is refused") {
  const std::string text = ", and with policy_type circuit_breaker no retry comes before recovery_timeout, ";
  const std::string end = ": the interval would be above 24h; make one of them smaller";
  check_refused({
      {R"({"policy_type": "circuit_breaker", "jitter": "full"})", "jitter is full" + text + "30s" + end},
      {R"({"policy_type": "circuit_breaker", "jitter": "100%"})", "jitter is 100%" + text + "30s" + end},
      {R"({"policy_type": "circuit_breaker", "circuit_breaker": {"recovery_timeout": "20h"}})",
       "jitter is 25%" + text + "20h" + end},
  });
}

TEST_CASE("JSON has the settings that the policy type uses") {
  CHECK(json::parse(RetryConfig{}.to_json()) == json::parse(R"({"policy_type": "exponential_backoff",
      "max_attempts": 3, "initial_delay": "100ms", "max_delay": "1m", "multiplier": 2.0, "jitter": true,
      "dead_letter_enabled": true})"));
  CHECK(json::parse(RetryConfig{.policy_type = RetryPolicyType::no_retry}.to_json()) ==
        json::parse(R"({"policy_type": "no_retry", "dead_letter_enabled": true})"));
  CHECK(json::parse(RetryConfig{.policy_type = RetryPolicyType::fixed_interval,
                                .intervals = {1s, 5min},
                                .jitter = Jitter::absolute(50ms),
                                .circuit_breaker = CircuitBreakerSettings{},
                                .auto_retry_for = {{"HTTP_503"}}}
                        .to_json()) ==
        json::parse(R"({"policy_type": "fixed_interval", "max_attempts": 3, "intervals": ["1s", "5m"],
      "max_delay": "1m", "jitter": "50ms", "dead_letter_enabled": true,
      "circuit_breaker": {"failure_threshold": 5, "recovery_timeout": "30s", "success_threshold": 2},
      "auto_retry_for": ["HTTP_503"]})"));
}

TEST_CASE("A policy survives its way through a config") {
  for (const RetryPolicy& policy : std::vector<RetryPolicy>{
           NoRetry{}, default_retry_policy, Fixed{.interval = 60s, .max_retries = 20, .jitter = Jitter::full()},
           Exponential{.base = 1s, .multiplier = 1.5, .max_retries = 7, .max_delay = 1min},
           Linear{.initial = 1s, .increment = 0s, .max_retries = 4, .jitter = Jitter::absolute(1ms)}}) {
    CAPTURE(policy_to_text(policy));
    CHECK(RetryConfig::from_policy(policy).policy() == policy);
  }
  CHECK_THROWS_AS(RetryConfig::from_policy(Fixed{}), InvalidPolicy);
}

TEST_CASE("A value out of its limits is refused with the field, the value and the limit") {
  check_refused({
      {R"({"max_attempts": 0})", "/max_attempts is 0; it must be 1 to 21"},
      {R"({"max_attempts": -1})", "/max_attempts is -1; it must be 1 to 21"},
      {R"({"max_attempts": 22})", "/max_attempts is 22; it must be 1 to 21"},
      {R"({"max_attempts": 4294967297})", "/max_attempts cannot be 4294967297; write a whole number, 1 to 21"},
      {R"({"max_attempts": 18446744073709551615})",
       "/max_attempts cannot be 18446744073709551615; write a whole number, 1 to 21"},
      {R"({"max_attempts": 3.0})", "/max_attempts cannot be 3.0; write a whole number, 1 to 21"},
      {R"({"max_attempts": "3"})", R"(/max_attempts cannot be "3"; write a whole number, 1 to 21)"},
      {R"({"initial_delay": "0ms"})", "/initial_delay is 0ms; it must be 1ms to 24h"},
      {R"({"initial_delay": "25h"})", "/initial_delay is 25h; it must be 1ms to 24h"},
      {R"({"max_delay": "0s"})", "/max_delay is 0ms; it must be 1ms to 24h"},
      {R"({"max_delay": "1441m"})", "/max_delay is 24h1m; it must be 1ms to 24h"},
      {R"({"multiplier": 0.99})", "/multiplier is 0.99; it must be 1 to 100"},
      {R"({"multiplier": 0})", "/multiplier is 0; it must be 1 to 100"},
      {R"({"multiplier": -2})", "/multiplier is -2; it must be 1 to 100"},
      {R"({"multiplier": 101})", "/multiplier is 101; it must be 1 to 100"},
      {R"({"multiplier": 1e400})", "/multiplier is a number that is too large; no limit of a setting is above 1000"},
      {R"({"policy_type": "linear_backoff", "increment": "25h"})", "/increment is 25h; it must be 0ms to 24h"},
      {R"({"policy_type": "fixed_interval", "intervals": ["1s", "0s"]})", "/intervals/1 is 0ms; it must be 1ms to 24h"},
      {R"({"policy_type": "fixed_interval", "intervals": []})",
       R"(/intervals has no entry; write a list of 1 to 20 durations, such as ["1m", "5m"])"},
      {R"({"jitter": "0%"})", "/jitter has the proportion 0; it must be above 0 and up to 1 (100%)"},
      {R"({"jitter": "101%"})", "/jitter has the proportion 1.01; it must be above 0 and up to 1 (100%)"},
      {R"({"jitter": "0ms"})", "/jitter is 0ms; it must be 1ms to 24h"},
      {R"({"circuit_breaker": {"failure_threshold": 0}})",
       "/circuit_breaker/failure_threshold is 0; it must be 1 to 1000"},
      {R"({"circuit_breaker": {"success_threshold": 0}})",
       "/circuit_breaker/success_threshold is 0; it must be 1 to 1000"},
      {R"({"circuit_breaker": {"success_threshold": 1e3}})",
       "/circuit_breaker/success_threshold cannot be 1000.0; write a whole number, 1 to 1000"},
      {R"({"circuit_breaker": {"recovery_timeout": "0s"}})",
       "/circuit_breaker/recovery_timeout is 0ms; it must be 1ms to 24h"},
      {R"({"auto_retry_for": ["HTTP_503", "Http_429"]})",
       R"(/auto_retry_for/1 is "Http_429"; it must be 1 to 64 of A-Z 0-9 _ beginning with a letter, or * for every code)"},
      {R"({"auto_retry_for": ["A", "A"]})", R"(/auto_retry_for/1 is "A" once more; leave one out)"},
  });
}

TEST_CASE("A duration that is negative, or longer than any, is refused at each setting as just that") {
  const std::vector<std::pair<std::string, std::string>> places{
      {R"({"initial_delay": "DURATION"})", "/initial_delay"},
      {R"({"max_delay": "DURATION"})", "/max_delay"},
      {R"({"policy_type": "linear_backoff", "increment": "DURATION"})", "/increment"},
      {R"({"policy_type": "fixed_interval", "intervals": ["1s", "DURATION"]})", "/intervals/1"},
      {R"({"jitter": "DURATION"})", "/jitter"},
      {R"({"circuit_breaker": {"recovery_timeout": "DURATION"}})", "/circuit_breaker/recovery_timeout"},
  };
  for (const auto& [text, place] : places) {
    const auto refused = [&text = text, &place = place](const std::string& duration, const std::string& mistake) {
      std::string written = text;
      written.replace(written.find("DURATION"), std::string{"DURATION"}.size(), duration);
      check_refused({{written, place + ": \"" + duration + "\" is " + mistake + "; write a duration up to 24h"}});
    };
    refused("-5s", "negative");
    refused("-99999999999999h", "negative");
    refused("99999999999999h", "too long");
    refused("99999999999999999999999999ms", "too long");
  }
}

TEST_CASE("A set of codes is written by its name, and means its codes, each once") {
  const auto codes_of = [](const std::string& list) {
    return RetryConfig::from_json(R"({"auto_retry_for": )" + list + "}").auto_retry_for.value();
  };
  const auto texts = [](const ErrorCodes& codes) { return std::vector<std::string>{codes.begin(), codes.end()}; };
  CHECK(codes_of(R"(["aws_retryable"])") == texts(codes::aws_retryable));
  CHECK(codes_of(R"(["HTTP_503", "http_retryable", "MY_CODE", "http_throttled"])") ==
        texts(ErrorCodes{"HTTP_503"} + codes::http_retryable + ErrorCodes{"MY_CODE"}));
  CHECK(codes_of(R"(["http_retryable", "HTTP_503"])") == texts(codes::http_retryable));
}

TEST_CASE("Each list of codes has its own name in JSON") {
  const std::vector<NamedCodeSet>& sets = named_code_sets();
  CHECK(sets.size() == 23);
  for (const auto& [name, codes] : sets) {
    CAPTURE(name);
    const auto separator = name.rfind('_');
    const std::string_view what = name.substr(separator + 1);
    for (const std::string_view code : codes) {
      const Category category = classify_name(code).category;
      CHECK((what == "retryable" ? is_retryable(category) : what == to_text(category)));
      const std::string source{name.substr(0, separator)};
      if (source == "base" || source == "connect" || source == "curl" || source == "errno") continue;
      CHECK(std::string{code}.starts_with(source == "sqlstate" ? "PG_" : upper(source) + "_"));
    }
    CHECK(RetryConfig::from_json(R"({"auto_retry_for": [")" + std::string{name} + R"("]})").auto_retry_for->size() ==
          codes.size());
  }
}

TEST_CASE("Codes that no list may have are refused, with the nearest set where one may be meant") {
  const std::string sets =
      "; write a code in upper case, * for every code, or a set: base_transient, base_throttled, base_retryable, "
      "connect_transient, http_transient, http_throttled, http_retryable, sqlstate_transient, curl_transient, "
      "errno_transient, grpc_transient, grpc_throttled, grpc_retryable, aws_transient, aws_throttled, aws_retryable, "
      "azure_transient, azure_throttled, azure_retryable, mongodb_transient, mongodb_throttled, mongodb_retryable or "
      "redis_transient";
  check_refused({
      {R"({"auto_retry_for": ["HTTP_503", "http_429"]})",
       R"(/auto_retry_for/1 is "http_429", and there is no such set of codes)" + sets},
      {R"({"auto_retry_for": ["A", "redis_transiant"]})",
       R"(/auto_retry_for/1 is "redis_transiant", and there is no such set of codes (did you mean "redis_transient"?))" +
           sets},
      {R"({"auto_retry_for": ["redis_transient", "redis_transient"]})",
       R"(/auto_retry_for/1 is "redis_transient" once more; leave one out)"},
      {R"({"auto_retry_for": ["aws_retryable", "sqlstate_transient", "mongodb_retryable"]})",
       R"(/auto_retry_for has 78 codes; it must have at most 64, or "*" alone for every code)"},
      {R"({"auto_retry_for": ["*", "A"]})",
       R"(/auto_retry_for/0 is "*", which is every code, and stands alone; leave it out, or the other entries)"},
      {R"({"auto_retry_for": ["aws_retryable", "*"]})",
       R"(/auto_retry_for/1 is "*", which is every code, and stands alone; leave it out, or the other entries)"},
      {R"({"auto_retry_for": "http_transient"})",
       R"(/auto_retry_for cannot be "http_transient"; write a list of codes or of their sets, such as ["HTTP_429", )"
       R"("connect_transient"])"},
  });
}

TEST_CASE("A config whose codes are all codes and others is written as all") {
  const std::string written = RetryConfig{.auto_retry_for = {{"A", "*"}}}.to_json();
  CHECK(json::parse(written).at("auto_retry_for") == json{"*"});
  CHECK(RetryConfig::from_json(written).auto_retry_for == std::vector<std::string>{"*"});
}

TEST_CASE("A config that a program fills with bad values makes no policy") {
  CHECK(refusal(RetryConfig{.max_attempts = 0}) == "max_attempts is 0; it must be 1 to 21");
  CHECK(refusal(RetryConfig{.max_attempts = std::numeric_limits<int>::min()}) ==
        "max_attempts is -2147483648; it must be 1 to 21");
  CHECK(refusal(RetryConfig{.initial_delay = -1ms}) == "initial_delay is -1ms; it must be 1ms to 24h");
  CHECK(refusal(RetryConfig{.initial_delay = milliseconds::max()}).ends_with("; it must be 1ms to 24h"));
  CHECK(refusal(RetryConfig{.max_delay = 0ms}) == "max_delay is 0ms; it must be 1ms to 24h");
  CHECK(refusal(RetryConfig{.multiplier = not_a_number}) == "multiplier is nan; it must be 1 to 100");
  CHECK(refusal(RetryConfig{.multiplier = infinity}) == "multiplier is inf; it must be 1 to 100");
  CHECK(refusal(RetryConfig{.increment = -1s}) == "increment is -1s; it must be 0ms to 24h");
  CHECK(refusal(RetryConfig{.jitter = Jitter::proportional(not_a_number)}) ==
        "jitter has the proportion nan; it must be above 0 and up to 1 (100%)");
  Intervals many;
  for (int i = 0; i < 21; ++i) many.push_back(1s);
  CHECK(refusal(RetryConfig{.intervals = many}) == "intervals has 21 entries; it must have 1 to 20");
  CHECK(refusal(RetryConfig{.auto_retry_for = std::vector<std::string>(65, "A")}) ==
        "auto_retry_for has 65 codes; it must have at most 64, or \"*\" alone for every code");
}

TEST_CASE("A circuit breaker's settings have limits") {
  CHECK(refusal(CircuitBreakerSettings{1, 1ms, 1}) == "taken");
  CHECK(refusal(CircuitBreakerSettings{1000, 24h, 1000}) == "taken");
  CHECK(refusal(CircuitBreakerSettings{.failure_threshold = 0}) ==
        "circuit_breaker/failure_threshold is 0; it must be 1 to 1000");
  CHECK(refusal(CircuitBreakerSettings{.failure_threshold = 1001}) ==
        "circuit_breaker/failure_threshold is 1001; it must be 1 to 1000");
  CHECK(refusal(CircuitBreakerSettings{.recovery_timeout = -1ms}) ==
        "circuit_breaker/recovery_timeout is -1ms; it must be 1ms to 24h");
  CHECK(refusal(CircuitBreakerSettings{.recovery_timeout = 24h + 1ms}) ==
        "circuit_breaker/recovery_timeout is 24h1ms; it must be 1ms to 24h");
  CHECK(refusal(CircuitBreakerSettings{.success_threshold = -1}) ==
        "circuit_breaker/success_threshold is -1; it must be 1 to 1000");
}

TEST_CASE("A duration without its unit is refused, with the one that was meant") {
  check_refused({
      {R"({"initial_delay": 100})", R"(/initial_delay cannot be 100; a duration has a unit: write "100ms")"},
      {R"({"max_delay": 1.5})",
       R"(/max_delay cannot be 1.5; write a duration with its unit, such as "100ms" or "60s")"},
      {R"({"circuit_breaker": {"recovery_timeout": -5}})",
       R"(/circuit_breaker/recovery_timeout cannot be -5; write a duration with its unit, such as "100ms" or "60s")"},
      {R"({"initial_delay": "100"})",
       R"(/initial_delay: "100" is not a duration; write whole milliseconds as numbers with the units d, h, m, s and )"
       R"(ms, the larger first, such as 250ms, 30s, 1.5s or 1h30m)"},
      {R"({"jitter": 50})",
       R"(/jitter cannot be 50; write true, false, "full", a percentage such as "25%", or a duration such as "50ms")"},
  });
}

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Each of the first words is refused as the value of `key`, and the second offered.
void check_offered(const std::string& key, const std::string& choices, const Pairs& written_and_offered) {
  for (const auto& [written, offered] : written_and_offered) {
    const std::string refused =
        key == "preset" ? ": \"" + written + "\" is not a preset" : " cannot be \"" + written + "\"";
    check_refused({{"{\"" + key + "\": \"" + written + "\"}",
                    "/" + key + refused + " (did you mean \"" + offered + "\"?)" + choices}});
  }
}

}  // namespace

TEST_CASE("A misspelt key, policy type or preset is refused, and the nearest offered") {
  const std::string keys =
      "; it takes preset, policy_type, policy_name, max_attempts, initial_delay, intervals, max_delay, multiplier, "
      "increment, "
      "jitter, "
      "dead_letter_enabled, circuit_breaker, auto_retry_for or jitter_enabled";
  const std::string types =
      "; write exponential_backoff, linear_backoff, fixed_interval, circuit_breaker, no_retry or custom";
  const std::string presets =
      "; write database_write, database_read, pubsub_publish, cache_get, cache_set, broker_publish or http_request";
  check_refused({
      {R"({"max_atempts": 5})", R"(the retry config has no key "max_atempts" (did you mean "max_attempts"?))" + keys},
      {R"({"max_retries": 5})",
       R"(the retry config has no key "max_retries"; write max_attempts, which counts the first attempt as well)"},
      {R"({"retries": 5})", R"(the retry config has no key "retries")" + keys},
      {R"({"circuit_breaker": {"failure_treshold": 5}})",
       R"(/circuit_breaker has no key "failure_treshold" (did you mean "failure_threshold"?); it takes )"
       "failure_threshold, recovery_timeout or success_threshold"},
      {R"({"policy_type": "exponential_backof"})",
       R"(/policy_type cannot be "exponential_backof" (did you mean "exponential_backoff"?))" + types},
      {R"({"policy_type": "Quadratic"})", R"(/policy_type cannot be "Quadratic")" + types},
      {R"({"preset": "http_requests"})",
       R"(/preset: "http_requests" is not a preset (did you mean "http_request"?))" + presets},
  });
  check_offered("policy_type", types,
                {{"exponential", "exponential_backoff"},
                 {"fixed", "fixed_interval"},
                 {"linear", "linear_backoff"},
                 {"none", "no_retry"},
                 {"EXPONENTIAL_BACKOFF", "exponential_backoff"},
                 {"Exponential-Backoff", "exponential_backoff"},
                 {"exp_backof", "exponential_backoff"},
                 {"circuitbreaker", "circuit_breaker"}});
  check_offered("preset", presets,
                {{"databse_wirte", "database_write"},
                 {"http", "http_request"},
                 {"pubsub", "pubsub_publish"},
                 {"Database Write", "database_write"},
                 {"write", "database_write"}});
  for (const auto& [key, offered] : Pairs{{"initial_delay_ms", "initial_delay"},
                                          {"backoff_multiplier", "multiplier"},
                                          {"attempts", "max_attempts"},
                                          {"maxAttempts", "max_attempts"},
                                          {"jittr", "jitter"},
                                          {"jitter_enable", "jitter_enabled"}}) {
    check_refused({{"{\"" + key + "\": 1}",
                    "the retry config has no key \"" + key + "\" (did you mean \"" + offered + "\"?)" + keys}});
  }
  CHECK_THROWS_WITH(retry_preset("cache_sat"), R"("cache_sat" is not a preset (did you mean "cache_set"?))" + presets);
}

TEST_CASE("A setting that the policy type does not use is refused") {
  check_refused({
      {R"({"policy_type": "fixed_interval", "multiplier": 3})",
       "/multiplier has no effect with policy_type fixed_interval (/policy_type); it takes effect with "
       "exponential_backoff"},
      {R"({"policy_type": "no_retry", "max_attempts": 3})",
       "/max_attempts has no effect with policy_type no_retry (/policy_type); it takes effect with "
       "exponential_backoff, linear_backoff, fixed_interval, circuit_breaker or custom"},
      {R"({"increment": "1s"})",
       "/increment has no effect with policy_type exponential_backoff (built-in default); it takes effect with "
       "linear_backoff"},
      {R"({"policy_type": "fixed_interval", "intervals": ["1s"], "initial_delay": "1s"})",
       "/initial_delay has no effect beside intervals; leave one of them out"},
      {R"({"policy_type": "circuit_breaker", "circuit_breaker": false})",
       "/circuit_breaker cannot be false with policy_type circuit_breaker; leave it out, or write its settings"},
  });
}

TEST_CASE("A delay that the default ceiling would cut is refused, and one that its own ceiling cuts is not") {
  check_refused({
      {R"({"initial_delay": "2m"})",
       "/initial_delay is up to 2m, which max_delay, 1m (built-in default), would cut; set max_delay as well, 2m to "
       "24h"},
      {R"({"policy_type": "fixed_interval", "intervals": ["1m", "5m"]})",
       "/intervals is up to 5m, which max_delay, 1m (built-in default), would cut; set max_delay as well, 5m to 24h"},
      {R"({"preset": "cache_get", "initial_delay": "6s"})",
       "/initial_delay is up to 6s, which max_delay, 5s (preset cache_get), would cut; set max_delay as well, 6s to "
       "24h"},
  });
  CHECK(RetryConfig::from_json(R"({"initial_delay": "2m", "max_delay": "1m"})").initial_delay == 2min);
}

TEST_CASE("A key that is there twice is refused") {
  check_refused({
      {R"({"max_attempts": 3, "jitter": true, "max_attempts": 4})", "/max_attempts is there twice; leave one out"},
      {R"({"circuit_breaker": {"failure_threshold": 1, "failure_threshold": 1}})",
       "/circuit_breaker/failure_threshold is there twice; leave one out"},
  });
}

TEST_CASE("Text that is no JSON object is refused, with the place") {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  check_refused({
      {"", "the retry config is not JSON: line 1, column 1"},
      {"{\n  \"multiplier\": NaN}", "the retry config is not JSON: line 2, column 17"},
      {"[]", R"(the retry config cannot be an array; write an object such as {"max_attempts": 5})"},
      {"null", R"(the retry config cannot be null; write an object such as {"max_attempts": 5})"},
      {R"({"circuit_breaker": 5})",
       R"(/circuit_breaker cannot be 5; write an object such as {"failure_threshold": 5}, or false)"},
      {R"({"jitter": )" + deep + "}", "/jitter is nested more deeply than any setting"},
      {std::string(1024 * 1024 + 1, ' '), "the retry config is 1048577 bytes long; it must be at most 1048576 (1 MiB)"},
  });
}

TEST_CASE("Every preset has the figures of the manual, and a reason") {
  struct Expected {
    std::string name;
    int attempts;
    milliseconds first_delay;
    milliseconds max_delay;
    bool dead_letter;
  };
  const std::vector<Expected> expected{
      {"database_write", 6, 100ms, 30s, true}, {"database_read", 4, 50ms, 10s, false},
      {"pubsub_publish", 6, 50ms, 5s, true},   {"cache_get", 4, 50ms, 5s, false},
      {"cache_set", 4, 50ms, 5s, false},       {"broker_publish", 6, 100ms, 30s, true},
      {"http_request", 4, 200ms, 10s, false},
  };
  REQUIRE(retry_presets().size() == expected.size());
  for (const Expected& figures : expected) {
    CAPTURE(figures.name);
    const RetryPreset& preset = retry_preset(figures.name);
    CHECK(preset.config == RetryConfig{.max_attempts = figures.attempts,
                                       .initial_delay = figures.first_delay,
                                       .max_delay = figures.max_delay,
                                       .jitter = Jitter::absolute(figures.first_delay / 2),
                                       .dead_letter_enabled = figures.dead_letter});
    CHECK_FALSE(preset.reason.empty());
    CHECK(RetryConfig::from_json(R"({"preset": ")" + figures.name + R"("})") == preset.config);
  }
}

TEST_CASE("jitter_enabled is another word for jitter, and turns a jitter beside it off or leaves it") {
  const auto jitter_of = [](const char* text) { return RetryConfig::from_json(text).jitter; };
  CHECK(jitter_of(R"({"jitter_enabled": true})") == Jitter::proportional(0.25));
  CHECK(jitter_of(R"({"jitter_enabled": false})") == Jitter::none());
  CHECK(jitter_of(R"({"jitter_enabled": true, "jitter": "50ms"})") == Jitter::absolute(50ms));
  CHECK(jitter_of(R"({"jitter_enabled": false, "jitter": "50ms"})") == Jitter::none());
  check_refused({
      {R"({"jitter_enabled": true, "jitter": false})",
       "/jitter_enabled is true, and jitter is false; leave one of them out"},
      {R"({"jitter_enabled": "yes"})", R"(/jitter_enabled cannot be "yes"; write true or false)"},
  });
}

TEST_CASE("A preset's settings are replaced by those beside it") {
  const RetryConfig config = RetryConfig::from_json(R"({"max_attempts": 8, "preset": "http_request"})");
  CHECK(config.max_attempts == 8);
  CHECK(config.initial_delay == 200ms);
}
