// Policies as one line of text.
#include <string>
#include <utility>
#include <vector>

#include <dogged/policy.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

TEST_CASE("a policy is written with its jitter, and otherwise without what is at its default") {
  CHECK(policy_to_text(NoRetry{}) == "none");
  CHECK(policy_to_text(default_retry_policy) == "fixed intervals=1m,5m,15m jitter=25%");
  CHECK(policy_to_text(Fixed{.interval = 60s, .max_retries = 5, .jitter = Jitter::none()}) ==
        "fixed interval=1m max_retries=5 jitter=none");
  CHECK(policy_to_text(Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h}) ==
        "exponential base=30s max_retries=5 max_delay=1h jitter=25%");
  CHECK(policy_to_text(Exponential{.base = 1s, .multiplier = 1.5, .max_retries = 5, .jitter = Jitter::full()}) ==
        "exponential base=1s multiplier=1.5 max_retries=5 jitter=full");
  CHECK(policy_to_text(Linear{.initial = 1s, .max_retries = 4, .jitter = Jitter::absolute(50ms)}) ==
        "linear initial=1s increment=0ms max_retries=4 jitter=50ms");
  CHECK(policy_to_text(Fixed{.intervals = {1s}, .jitter = Jitter::proportional(1)}) ==
        "fixed intervals=1s jitter=100%");
  CHECK(policy_to_text(Fixed{.intervals = {1s}, .jitter = Jitter::proportional(0.005)}) ==
        "fixed intervals=1s jitter=0.5%");
}

TEST_CASE("a policy is read from what people write") {
  CHECK(policy_from_text("none") == RetryPolicy{NoRetry{}});
  CHECK(policy_from_text("fixed intervals=60s,300s,900s") == RetryPolicy{default_retry_policy});
  CHECK(policy_from_text("fixed interval=60s max_retries=5") == RetryPolicy{Fixed{.interval = 60s, .max_retries = 5}});
  CHECK(policy_from_text("  exponential\tmax_retries=5  base=30s\n") ==
        RetryPolicy{Exponential{.base = 30s, .max_retries = 5}});
  CHECK(policy_from_text("exponential base=1.5s multiplier=1e1 max_retries=5 max_delay=1h30m jitter=12.5%") ==
        RetryPolicy{Exponential{.base = 1'500ms,
                                .multiplier = 10,
                                .max_retries = 5,
                                .max_delay = 90min,
                                .jitter = Jitter::proportional(0.125)}});
  CHECK(policy_from_text("linear initial=1s increment=5s max_retries=4 jitter=50ms") ==
        RetryPolicy{Linear{.initial = 1s, .increment = 5s, .max_retries = 4, .jitter = Jitter::absolute(50ms)}});
}

TEST_CASE("a text that is not a policy is refused with the word and what could stand there") {
  const std::vector<std::pair<std::string, std::string>> refused{
      {"",
       "the policy is empty; write none, fixed, exponential, linear or custom and its fields, such as \"exponential "
       "base=30s max_retries=5\""},
      {" \n",
       "the policy is empty; write none, fixed, exponential, linear or custom and its fields, such as \"exponential "
       "base=30s max_retries=5\""},
      {"exponentail base=30s",
       "\"exponentail\" is not a policy (did you mean \"exponential\"?); write none, fixed, "
       "exponential, linear or custom"},
      {"quadratic", "\"quadratic\" is not a policy; write none, fixed, exponential, linear or custom"},
      {"Fixed",
       "\"Fixed\" is not a policy (did you mean \"fixed\"?); write none, fixed, exponential, linear or custom"},
      {"exponential_backoff base=30s",
       "\"exponential_backoff\" is not a policy (did you mean \"exponential\"?); write none, fixed, exponential, "
       "linear or custom"},
      {"EXPONENTIAL",
       "\"EXPONENTIAL\" is not a policy (did you mean \"exponential\"?); write none, fixed, exponential, linear or "
       "custom"},
      {"fixed_interval",
       "\"fixed_interval\" is not a policy (did you mean \"fixed\"?); write none, fixed, exponential, linear or "
       "custom"},
      {"no_retry",
       "\"no_retry\" is not a policy (did you mean \"none\"?); write none, fixed, exponential, linear or custom"},
      {"none jitter=full", "\"jitter\" is not a field of none, but of fixed; none has no fields"},
      {"none please", "\"please\" is not a field of none; none has no fields"},
      {"exponential bas=30s max_retries=5",
       "\"bas\" is not a field of exponential (did you mean \"base\"?); exponential takes base, multiplier, "
       "max_retries, max_delay or jitter"},
      {"fixed base=30s max_retries=5",
       "\"base\" is not a field of fixed, but of exponential; fixed takes intervals, interval, max_retries, "
       "max_delay or jitter"},
      {"exponential base=30s max_retries=5 base=60s", "base is there twice; leave one out"},
      {"exponential base", "base has no value; write base=VALUE, without spaces"},
      {"exponential base= 30s", "base has no value; write base=VALUE, without spaces"},
      {"exponential =30s",
       "\"\" is not a field of exponential; exponential takes base, multiplier, max_retries, "
       "max_delay or jitter"},
      {"exponential max_retries=5", "exponential needs base"},
      {"exponential base=30s", "exponential needs max_retries"},
      {"linear initial=1s max_retries=4", "linear needs increment"},
      {"fixed", "a fixed policy needs intervals, or interval with max_retries; it has neither"},
      {"fixed interval=60s intervals=60s",
       "a fixed policy takes either intervals, or interval with max_retries; it has both: leave one out"},
      {"exponential base=30 max_retries=5",
       "base: \"30\" is not a duration; write whole milliseconds as numbers with the units d, h, m, s and "
       "ms, the "
       "larger first, such as 250ms, 30s, 1.5s or 1h30m"},
      {"fixed intervals=60s,,900s",
       "intervals: \"\" is not a duration; write whole milliseconds as numbers with the units d, h, m, s and "
       "ms, "
       "the larger first, such as 250ms, 30s, 1.5s or 1h30m"},
      {"exponential base=-5s max_retries=5", "base: \"-5s\" is negative; write a duration up to 24h"},
      {"fixed intervals=1s,99999999999999h", "intervals: \"99999999999999h\" is too long; write a duration up to 24h"},
      {"fixed intervals=60s jitter=-5s", "jitter: \"-5s\" is negative; write a duration up to 24h"},
      {"fixed intervals=60s jitter=99999999999999h",
       "jitter: \"99999999999999h\" is too long; write a duration up to 24h"},
      {"exponential base=30s max_retries=five", "max_retries cannot be \"five\"; write a whole number, 1 to 20"},
      {"exponential base=30s max_retries=5.0", "max_retries cannot be \"5.0\"; write a whole number, 1 to 20"},
      {"exponential base=30s max_retries=25", "max_retries is 25; it must be 1 to 20"},
      {"exponential base=30s max_retries=4294967301", "max_retries is 4294967301; it must be 1 to 20"},
      {"exponential base=30s max_retries=99999999999999999999",
       "max_retries cannot be \"99999999999999999999\"; write a whole number, 1 to 20"},
      {"exponential base=30s max_retries=5 multiplier=two", "multiplier cannot be \"two\"; write a number, 1 to 100"},
      {"exponential base=30s max_retries=5 multiplier=2x", "multiplier cannot be \"2x\"; write a number, 1 to 100"},
      {"exponential base=30s max_retries=5 multiplier=nan", "multiplier is nan; it must be 1 to 100"},
      {"exponential base=30s max_retries=5 multiplier=1e999",
       "multiplier cannot be \"1e999\"; write a number, 1 to 100"},
      {"fixed intervals=60s jitter=25",
       "jitter cannot be \"25\"; write none, full, a percentage such as 25%, or a duration such as 50ms"},
      {"fixed intervals=60s jitter=%",
       "jitter cannot be \"%\"; write none, full, a percentage such as 25%, or a duration such as 50ms"},
      {"fixed intervals=60s jitter=nan%",
       "jitter cannot be \"nan%\"; write none, full, a percentage such as 25%, or a duration such as 50ms"},
      {"fixed intervals=60s jitter=150%", "jitter has the proportion 1.5; it must be above 0 and up to 1 (100%)"},
      {"fixed intervals=60s jitter=0ms", "jitter has the amount 0ms; it must be 1ms to 24h"},
      {"fixed intervals=60s max_delay=25h", "max_delay is 25h; it must be 1ms to 24h"},
  };
  for (const auto& [text, message] : refused) {
    CAPTURE(text);
    CHECK_THROWS_AS(policy_from_text(text), InvalidPolicy);
    CHECK_THROWS_WITH(policy_from_text(text), message);
  }
}

TEST_CASE("the text of more than 20 intervals is refused with their number") {
  std::string text = "fixed intervals=1s";
  for (int i = 0; i < 20; ++i) text += ",1s";
  CHECK_THROWS_WITH(policy_from_text(text), "intervals has 21 entries; it must have 1 to 20");
}

TEST_CASE("a megabyte of anything is refused with a short message") {
  for (const std::string& text : {std::string(1'000'000, 'x'), "fixed " + std::string(1'000'000, '\xff'),
                                  "exponential base=" + std::string(1'000'000, '9')}) {
    try {
      (void)policy_from_text(text);
      FAIL("was accepted");
    } catch (const InvalidPolicy& error) {
      CHECK(std::string{error.what()}.size() < 400);
    }
  }
}
