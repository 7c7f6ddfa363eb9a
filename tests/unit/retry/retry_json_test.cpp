// Policies as JSON.
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/policy.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using nlohmann::json;

namespace {

json as_json(const RetryPolicy& policy) { return json::parse(policy_to_json(policy)); }

}  // namespace

TEST_CASE("a policy's JSON has every field, durations in milliseconds") {
  CHECK(as_json(NoRetry{}) == json::parse(R"({"policy": "none"})"));
  CHECK(as_json(default_retry_policy) == json::parse(R"({
      "policy": "fixed", "intervals_ms": [60000, 300000, 900000], "max_delay_ms": 86400000,
      "jitter": {"kind": "proportional", "proportion": 0.25}})"));
  CHECK(as_json(Fixed{.interval = 60s, .max_retries = 5, .jitter = Jitter::none()}) == json::parse(R"({
      "policy": "fixed", "interval_ms": 60000, "max_retries": 5, "max_delay_ms": 86400000,
      "jitter": {"kind": "none"}})"));
  CHECK(as_json(Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h}) == json::parse(R"({
      "policy": "exponential", "base_ms": 30000, "multiplier": 2.0, "max_retries": 5, "max_delay_ms": 3600000,
      "jitter": {"kind": "proportional", "proportion": 0.25}})"));
  CHECK(as_json(Linear{.initial = 1s, .increment = 5s, .max_retries = 4, .jitter = Jitter::full()}) ==
        json::parse(R"({"policy": "linear", "initial_ms": 1000, "increment_ms": 5000, "max_retries": 4,
      "max_delay_ms": 86400000, "jitter": {"kind": "full"}})"));
  CHECK(as_json(Fixed{.intervals = {1s}, .jitter = Jitter::absolute(50ms)}).at("jitter") ==
        json::parse(R"({"kind": "absolute", "amount_ms": 50})"));
}

TEST_CASE("fields that have a default may be left out of the JSON") {
  CHECK(policy_from_json(R"({"policy": "exponential", "base_ms": 30000, "max_retries": 5})") ==
        RetryPolicy{Exponential{.base = 30s, .max_retries = 5}});
  CHECK(policy_from_json(R"({"policy": "fixed", "intervals_ms": [60000, 300000, 900000]})") ==
        RetryPolicy{default_retry_policy});
}

TEST_CASE("JSON that is not a policy is refused with the key and what it takes") {
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"("none")", R"(policy cannot be "none"; write an object such as {"policy":"exponential","base_ms":30000,)"
                    R"("max_retries":5})"},
      {"null", R"(policy cannot be null; write an object such as {"policy":"exponential","base_ms":30000,)"
               R"("max_retries":5})"},
      {"{}", "a retry policy needs policy"},
      {R"({"policy": 1})", R"(policy cannot be 1; write none, fixed, exponential, linear or custom)"},
      {R"({"policy": "Linear"})",
       R"("Linear" is not a policy (did you mean "linear"?); write none, fixed, exponential, linear or custom)"},
      {R"({"policy": "none", "max_retries": 3})", R"("max_retries" is not a key of none; it takes policy)"},
      {R"({"policy": "exponential", "base": 30, "max_retries": 5})",
       R"("base" is not a key of exponential (did you mean "base_ms"?); it takes policy, base_ms, multiplier, )"
       R"(max_retries, max_delay_ms or jitter)"},
      {R"({"policy": "exponential", "base_m": 30, "max_retries": 5})",
       R"("base_m" is not a key of exponential (did you mean "base_ms"?); it takes policy, base_ms, multiplier, )"
       R"(max_retries, max_delay_ms or jitter)"},
      {R"({"policy": "exponential", "max_retries": 5})", "exponential needs base_ms"},
      {R"({"policy": "exponential", "base_ms": 30000})", "exponential needs max_retries"},
      {R"({"policy": "linear", "initial_ms": 1, "max_retries": 5})", "linear needs increment_ms"},
      {R"({"policy": "fixed"})", "a fixed policy needs intervals, or interval with max_retries; it has neither"},
      {R"({"policy": "exponential", "base_ms": "30s", "max_retries": 5})",
       R"(base_ms cannot be "30s"; write whole milliseconds, up to 86400000 (24h))"},
      {R"({"policy": "exponential", "base_ms": 30000.0, "max_retries": 5})",
       R"(base_ms cannot be 30000.0; write whole milliseconds, up to 86400000 (24h))"},
      {R"({"policy": "exponential", "base_ms": 18446744073709551615, "max_retries": 5})",
       R"(base_ms cannot be 18446744073709551615; write whole milliseconds, up to 86400000 (24h))"},
      {R"({"policy": "exponential", "base_ms": null, "max_retries": 5})",
       R"(base_ms cannot be null; write whole milliseconds, up to 86400000 (24h))"},
      {R"({"policy": "exponential", "base_ms": 0, "max_retries": 5})", "base is 0ms; it must be 1ms to 24h"},
      {R"({"policy": "exponential", "base_ms": 1, "max_retries": true})",
       R"(max_retries cannot be true; write a whole number, 1 to 20)"},
      {R"({"policy": "exponential", "base_ms": 1, "max_retries": 4294967301})",
       "max_retries is 4294967301; it must be 1 to 20"},
      {R"({"policy": "exponential", "base_ms": 1, "max_retries": 5, "multiplier": "2"})",
       R"(multiplier cannot be "2"; write a number, 1 to 100)"},
      {R"({"policy": "exponential", "base_ms": 1, "max_retries": 5, "multiplier": 0})",
       "multiplier is 0; it must be 1 to 100"},
      {R"({"policy": "exponential", "base_ms": 1, "max_retries": 5, "max_delay_ms": 86400001})",
       "max_delay is 24h1ms; it must be 1ms to 24h"},
      {R"({"policy": "fixed", "intervals_ms": 60000})",
       R"(intervals_ms cannot be 60000; write a list of 1 to 20 whole milliseconds)"},
      {R"({"policy": "fixed", "intervals_ms": [60000, "5m"]})",
       R"(intervals_ms[1] cannot be "5m"; write whole milliseconds, up to 86400000 (24h))"},
      {R"({"policy": "fixed", "intervals_ms": []})",
       "a fixed policy needs intervals, or interval with max_retries; it has neither"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": "full"})",
       R"(jitter cannot be "full"; write an object such as {"kind":"full"})"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {}})", "jitter needs kind"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "fuzzy"}})",
       R"(kind cannot be "fuzzy"; write none, proportional, absolute or full)"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "full", "proportion": 1}})",
       R"("proportion" is not a key of jitter full; it takes kind)"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "none", "amount_ms": 1}})",
       R"("amount_ms" is not a key of jitter none; it takes kind)"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "proportional"}})",
       "jitter proportional needs proportion"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "proportional", "proportion": 2}})",
       "jitter has the proportion 2; it must be above 0 and up to 1 (100%)"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "absolute", "amount": 2}})",
       R"("amount" is not a key of jitter absolute (did you mean "amount_ms"?); it takes kind or amount_ms)"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "absolute"}})",
       "jitter absolute needs amount_ms"},
      {R"({"policy": "fixed", "intervals_ms": [1], "jitter": {"kind": "absolute", "amount_ms": 0.5}})",
       R"(amount_ms cannot be 0.5; write whole milliseconds, up to 86400000 (24h))"},
  };
  for (const auto& [text, message] : refused) {
    CAPTURE(text);
    CHECK_THROWS_AS(policy_from_json(text), InvalidPolicy);
    CHECK_THROWS_WITH(policy_from_json(text), message);
  }
}

TEST_CASE("text that is not JSON is refused, with the place") {
  CHECK_THROWS_WITH(policy_from_json(R"({"policy": NaN})"), "the policy is not JSON: at byte 12 of 15");
}

TEST_CASE("a number that no type holds is refused") {
  CHECK_THROWS_AS(policy_from_json(R"({"policy": "linear", "initial_ms": 1e400})"), InvalidPolicy);
}

TEST_CASE("a value of any depth is refused without a stack", "[one_thread]") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_THROWS_WITH(policy_from_json(R"({"policy": "fixed", "interval_ms": )" + deep + "}"),
                    "interval_ms cannot be an array; write whole milliseconds, up to 86400000 (24h)");
}
