// Layers of retry settings: which layer counts, how the environment and the file are read, and which source is named.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <dogged/resolved_retry_config.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
}

const Environment nothing = environment_of({});

RetryConfigFile file_of(const std::string& text) { return RetryConfigFile::from_json(text, "retry.json"); }

/// With an empty environment.
ResolvedRetryConfig resolved(RetryLayers layers) {
  layers.environment = nothing;
  return resolve_retry_config(layers);
}

ResolvedRetryConfig resolved_in(const Environment& environment, RetryLayers layers = {}) {
  layers.operation = "webhook.deliver";
  layers.environment = environment;
  return resolve_retry_config(layers);
}

const ResolvedRetryField& field(const ResolvedRetryConfig& resolved, std::string_view name) {
  for (const ResolvedRetryField& field : resolved.fields) {
    if (field.name == name) return field;
  }
  throw std::logic_error("no such field");
}

std::string origin(const ResolvedRetryConfig& resolved, std::string_view name) {
  return field(resolved, name).origin.text;
}

template <class Action>
std::string refusal(Action action) {
  try {
    (void)action();
    return "taken";
  } catch (const InvalidPolicy& error) {
    return error.what();
  }
}

std::string refusal_of_file(const std::string& text) {
  return refusal([&] { return file_of(text); });
}

std::string refusal_of_variable(const std::string& name, const std::string& value) {
  return refusal([&] { return resolved_in(environment_of({{name, value}})); });
}

}  // namespace

TEST_CASE("Of any two layers, the higher one's value applies, with its origin") {
  struct Case {
    RetryLayer layer;
    int max_attempts;
    std::string origin;
  };
  // Each layer says another number of attempts, the lowest first.
  const std::vector<Case> cases{
      {RetryLayer::file_defaults, 11, "file retry.json /defaults/max_attempts"},
      {RetryLayer::program, 12, "TASK_REGISTER"},
      {RetryLayer::preset, 6, "preset database_write"},
      {RetryLayer::file_task, 14, "file retry.json /tasks/webhook.deliver/max_attempts"},
      {RetryLayer::environment, 15, "environment RETRY_MAX_ATTEMPTS"},
      {RetryLayer::operation_environment, 16, "environment WEBHOOK_DELIVER_RETRY_MAX_ATTEMPTS"},
  };
  const auto resolve_with = [](const std::vector<Case>& said) {
    RetryConfigFile file{.name = "retry.json"};
    std::map<std::string, std::string> variables;
    RetryLayers layers{.file = &file};
    for (const auto& [layer, attempts, text] : said) {
      if (layer == RetryLayer::file_defaults) file.defaults.max_attempts = attempts;
      if (layer == RetryLayer::program) layers.policy = Exponential{.base = 1s, .max_retries = attempts - 1};
      if (layer == RetryLayer::preset) layers.preset = "database_write";
      if (layer == RetryLayer::file_task) file.tasks["webhook.deliver"].max_attempts = attempts;
      if (layer == RetryLayer::environment) variables["RETRY_MAX_ATTEMPTS"] = std::to_string(attempts);
      if (layer == RetryLayer::operation_environment) {
        variables["WEBHOOK_DELIVER_RETRY_MAX_ATTEMPTS"] = std::to_string(attempts);
      }
    }
    return resolved_in(environment_of(variables), layers);
  };
  for (std::size_t low = 0; low < cases.size(); ++low) {
    for (std::size_t high = low; high < cases.size(); ++high) {
      CAPTURE(cases[low].origin, cases[high].origin);
      const ResolvedRetryConfig resolved = resolve_with({cases[low], cases[high]});
      CHECK(resolved.config.max_attempts == cases[high].max_attempts);
      CHECK(field(resolved, "max_attempts") == ResolvedRetryField{.name = "max_attempts",
                                                                  .value = std::to_string(cases[high].max_attempts),
                                                                  .origin = {cases[high].layer, cases[high].origin},
                                                                  .used = true});
    }
  }
}

TEST_CASE("Where no source says anything, the built-in default applies, or the program's own") {
  const ResolvedRetryConfig built_in = resolved({.operation = "a"});
  CHECK(built_in.config == RetryConfig{});
  for (const ResolvedRetryField& field : built_in.fields) CHECK(field.origin == RetryOrigin{});

  const ResolvedRetryConfig fallback = resolved({.operation = "a", .fallback = default_retry_policy});
  CHECK(fallback.config.policy() == RetryPolicy{default_retry_policy});
  CHECK(origin(fallback, "intervals") == "built-in default");
}

TEST_CASE("A file's defaults apply where the program says nothing, and beside its policy for what no policy has") {
  const RetryConfigFile file = file_of(R"({"defaults": {"max_attempts": 9, "dead_letter_enabled": false}})");
  CHECK(resolved({.operation = "a", .fallback = default_retry_policy, .file = &file}).config.max_attempts == 9);
  const Exponential policy{.base = 1s, .max_retries = 5};
  const ResolvedRetryConfig beside = resolved({.operation = "a", .policy = policy, .file = &file});
  CHECK(beside.config.policy() == RetryPolicy{policy});
  CHECK_FALSE(beside.config.dead_letter_enabled);
}

TEST_CASE("A preset that the file names replaces the one that the program names") {
  const RetryConfigFile file = file_of(R"({"tasks": {"a": {"preset": "cache_get"}}})");
  CHECK(resolved({.operation = "a", .preset = "cache_set", .file = &file}).config == retry_preset("cache_get").config);
  CHECK(resolved({.operation = "b", .preset = "cache_set", .file = &file}).config == retry_preset("cache_set").config);
  CHECK(refusal([&] {
          return resolved({.operation = "b", .preset = "cache_sett"});
        }).starts_with(R"("cache_sett" is not a preset (did you mean "cache_set"?); write )"));
}

TEST_CASE("The codes of a higher layer replace those of a lower one") {
  const RetryConfigFile file =
      file_of(R"({"tasks": {"a": {"auto_retry_for": ["HTTP_503"]}, "b": {"auto_retry_for": []}}})");
  const std::vector<std::string> registered{"HTTP_429", "HTTP_500"};
  const auto of = [&](const std::string& operation) {
    return resolved({.operation = operation, .auto_retry_for = registered, .file = &file});
  };
  CHECK(of("a").config.auto_retry_for == std::vector<std::string>{"HTTP_503"});
  CHECK(of("b").config.auto_retry_for == std::vector<std::string>{});
  CHECK(of("c").config.auto_retry_for == registered);
  CHECK(origin(of("c"), "auto_retry_for") == "TASK_REGISTER");
  CHECK(field(of("c"), "auto_retry_for").value == "HTTP_429,HTTP_500");
}

TEST_CASE("Fewer attempts cut a registered list of intervals, more repeat its last") {
  const auto intervals_for = [](const std::string& attempts) {
    const auto resolved =
        resolved_in(environment_of({{"RETRY_MAX_ATTEMPTS", attempts}}), {.policy = default_retry_policy});
    return std::get<Fixed>(resolved.config.policy()).intervals;
  };
  CHECK(intervals_for("3") == Intervals{60s, 300s});
  CHECK(intervals_for("6") == Intervals{60s, 300s, 900s, 900s, 900s});
}

TEST_CASE("A first delay of a higher layer replaces a list of intervals, and a list replaces a first delay") {
  const ResolvedRetryConfig one =
      resolved_in(environment_of({{"RETRY_INITIAL_BACKOFF_MS", "500"}}), {.policy = default_retry_policy});
  CHECK(one.config.policy() == RetryPolicy{Fixed{.interval = 500ms, .max_retries = 3}});
  CHECK(origin(one, "intervals") == "environment RETRY_INITIAL_BACKOFF_MS");

  const RetryConfigFile file = file_of(R"({"tasks": {"a": {"intervals": ["1s", "2s"]}}})");
  const ResolvedRetryConfig list =
      resolved({.operation = "a", .policy = Fixed{.interval = 1s, .max_retries = 9}, .file = &file});
  CHECK(list.config.policy() == RetryPolicy{Fixed{.intervals = {1s, 2s}}});
  CHECK(origin(list, "max_attempts") == "file retry.json /tasks/a/intervals");
}

TEST_CASE("A list that becomes another policy type begins with its first interval") {
  const RetryConfigFile file = file_of(R"({"tasks": {"a": {"policy_type": "exponential_backoff"}}})");
  CHECK(resolved({.operation = "a", .policy = default_retry_policy, .file = &file}).config.policy() ==
        RetryPolicy{Exponential{.base = 60s, .max_retries = 3}});
}

TEST_CASE("A task that is registered as never retried stays so, unless its own entry says otherwise") {
  const RetryLayers never{.policy = NoRetry{}};
  const ResolvedRetryConfig global = resolved_in(environment_of({{"RETRY_MAX_ATTEMPTS", "5"}}), never);
  CHECK(global.config.policy() == RetryPolicy{NoRetry{}});
  CHECK_FALSE(field(global, "max_attempts").used);
  CHECK(refusal([&] {
          return resolved_in(environment_of({{"WEBHOOK_DELIVER_RETRY_MAX_ATTEMPTS", "5"}}), never);
        }) ==
        "environment WEBHOOK_DELIVER_RETRY_MAX_ATTEMPTS has no effect with policy_type no_retry (TASK_REGISTER); it "
        "takes effect with exponential_backoff, linear_backoff, fixed_interval, circuit_breaker or custom");
  const RetryConfigFile file = file_of(R"({"tasks": {"a": {"policy_type": "fixed_interval"}}})");
  CHECK(resolved({.operation = "a", .policy = NoRetry{}, .file = &file}).config.policy() ==
        RetryPolicy{Fixed{.interval = 100ms, .max_retries = 2, .max_delay = 60s}});
}

TEST_CASE("A setting for every operation may have no effect on one, and is shown so") {
  const ResolvedRetryConfig resolved = resolved_in(environment_of({{"RETRY_BACKOFF_MULTIPLIER", "3"}}),
                                                   {.policy = Fixed{.interval = 1s, .max_retries = 2}});
  CHECK(resolved.to_text().find("\nmultiplier = 3 (environment RETRY_BACKOFF_MULTIPLIER), not used\n") !=
        std::string::npos);
}

TEST_CASE("A ceiling for every operation cuts, and a delay of one operation above a lower ceiling is refused") {
  const RetryLayers layers{.preset = "cache_get"};
  const auto cut = resolved_in(environment_of({{"RETRY_INITIAL_BACKOFF_MS", "6000"}}), layers);
  CHECK(delay_range(cut.config.policy(), 1)->backoff == 5s);
  CHECK(cut.to_text().find("\ninitial_delay = 6s (environment RETRY_INITIAL_BACKOFF_MS), cut by max_delay\n") !=
        std::string::npos);
  CHECK(refusal([&] {
          return resolved_in(environment_of({{"WEBHOOK_DELIVER_RETRY_INITIAL_BACKOFF_MS", "6000"}}), layers);
        }) ==
        "environment WEBHOOK_DELIVER_RETRY_INITIAL_BACKOFF_MS is up to 6s, which max_delay, 5s (preset cache_get), "
        "would cut; set max_delay as well, 6s to 24h");
}

TEST_CASE("Only a first delay or an interval above the ceiling is shown as cut") {
  const auto text_with = [](const std::string& ceiling_ms, const RetryPolicy& policy) {
    return resolved_in(environment_of({{"RETRY_MAX_BACKOFF_MS", ceiling_ms}}), {.policy = policy}).to_text();
  };
  const auto cut_lines = [](const std::string& text) {
    std::string lines;
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
      const std::string line = text.substr(begin, end - begin);
      if (line.find(", cut by max_delay") != std::string::npos) lines += line + "\n";
    }
    return lines;
  };
  const RetryPolicy doubling = Exponential{.base = 1s, .max_retries = 10};
  CHECK(cut_lines(text_with("1000", doubling)).empty());
  CHECK(cut_lines(text_with("999", doubling)) == "initial_delay = 1s (TASK_REGISTER), cut by max_delay\n");
  CHECK(cut_lines(text_with("900000", default_retry_policy)).empty());
  CHECK(cut_lines(text_with("60000", default_retry_policy)) ==
        "intervals = 1m,5m,15m (TASK_REGISTER), cut by max_delay\n");
  CHECK(cut_lines(text_with("1", NoRetry{})).empty());
}

TEST_CASE("Every variable sets its field") {
  const RetryConfig config = resolved_in(environment_of({{"RETRY_MAX_ATTEMPTS", "21"},
                                                         {"RETRY_INITIAL_BACKOFF_MS", "1"},
                                                         {"RETRY_MAX_BACKOFF_MS", "86400000"},
                                                         {"RETRY_BACKOFF_MULTIPLIER", "1.5"},
                                                         {"RETRY_JITTER_ENABLED", "false"}}))
                                 .config;
  CHECK(config ==
        RetryConfig{
            .max_attempts = 21, .initial_delay = 1ms, .max_delay = 24h, .multiplier = 1.5, .jitter = Jitter::none()});
}

TEST_CASE("A variable may count retries without the first attempt, and is named where it came from") {
  const ResolvedRetryConfig resolved = resolved_in(environment_of({{"RETRY_MAX_RETRIES", "5"}}));
  CHECK(resolved.config.max_attempts == 6);
  CHECK(resolved.to_text().find("\nmax_attempts = 6 (environment RETRY_MAX_RETRIES)\n") != std::string::npos);
  CHECK(resolved_in(environment_of({{"RETRY_MAX_RETRIES", "0"}})).config.policy() == RetryPolicy{NoRetry{}});
  CHECK(resolved_in(environment_of({{"RETRY_MAX_RETRIES", "20"}})).config.max_attempts == 21);
  CHECK(resolved_in(environment_of({{"RETRY_MAX_ATTEMPTS", "2"}, {"WEBHOOK_DELIVER_RETRY_MAX_RETRIES", "2"}}))
            .config.max_attempts == 3);
  CHECK(refusal([&] {
          return resolved_in(environment_of({{"RETRY_MAX_RETRIES", "21"}}));
        }) == "environment RETRY_MAX_RETRIES is \"21\"; it must be a whole number, 0 to 20");
  CHECK(refusal([&] {
          return resolved_in(environment_of({{"RETRY_MAX_RETRIES", "3"}, {"RETRY_MAX_ATTEMPTS", "4"}}));
        }) == "environment RETRY_MAX_RETRIES says in other words what RETRY_MAX_ATTEMPTS says; unset one of them");
}

TEST_CASE("A file that says jitter_enabled is shown with that key") {
  const RetryConfigFile file = file_of(R"({"tasks": {"webhook.deliver": {"jitter_enabled": false}}})");
  CHECK(resolved_in(environment_of({}), {.policy = default_retry_policy, .file = &file})
            .to_text()
            .find("\njitter = none (file retry.json /tasks/webhook.deliver/jitter_enabled)\n") != std::string::npos);
}

TEST_CASE("Jitter that is enabled keeps its kind, and is a quarter where there was none") {
  const Environment on = environment_of({{"RETRY_JITTER_ENABLED", "1"}});
  CHECK(resolved_in(on, {.preset = "cache_get"}).config.jitter == Jitter::absolute(25ms));
  const Exponential exact{.base = 1s, .max_retries = 1, .jitter = Jitter::none()};
  CHECK(resolved_in(on, {.policy = exact}).config.jitter == Jitter::proportional(0.25));
}

TEST_CASE("A variable that is no number in its limits is refused by name, with value and limit") {
  const std::string too_large = "99999999999999999999999999";
  for (const std::string& value : std::vector<std::string>{"0", "-1", "22", "three", "3.5", "1e1", " 3", "3 ", "+3",
                                                           "0x3", "nan", "inf", too_large}) {
    CHECK(refusal_of_variable("RETRY_MAX_ATTEMPTS", value) ==
          "environment RETRY_MAX_ATTEMPTS is \"" + value + "\"; it must be a whole number, 1 to 21");
  }
  for (const std::string& name :
       std::vector<std::string>{"RETRY_INITIAL_BACKOFF_MS", "WEBHOOK_DELIVER_RETRY_MAX_BACKOFF_MS"}) {
    for (const std::string& value :
         std::vector<std::string>{"0", "-100", "100ms", "1.5", "86400001", "nan", "inf", too_large}) {
      CHECK(refusal_of_variable(name, value) ==
            "environment " + name + " is \"" + value + "\"; it must be a whole number, 1 to 86400000");
    }
  }
  for (const std::string& value :
       std::vector<std::string>{"0", "0.99", "-2", "100.1", "nan", "inf", "-inf", "1e400", "2x", "twice"}) {
    CHECK(refusal_of_variable("RETRY_BACKOFF_MULTIPLIER", value) ==
          "environment RETRY_BACKOFF_MULTIPLIER is \"" + value + "\"; it must be a number, 1 to 100");
  }
  for (const std::string& value : std::vector<std::string>{"yes", "TRUE", "2", "-1"}) {
    CHECK(refusal_of_variable("RETRY_JITTER_ENABLED", value) ==
          "environment RETRY_JITTER_ENABLED is \"" + value + "\"; it must be true or 1, false or 0");
  }
}

TEST_CASE("An empty variable is a mistake, not a default") {
  CHECK(refusal_of_variable("RETRY_MAX_ATTEMPTS", "") ==
        "environment RETRY_MAX_ATTEMPTS is empty; unset it, or set it to a whole number, 1 to 21");
  CHECK(refusal_of_variable("WEBHOOK_DELIVER_RETRY_JITTER_ENABLED", "") ==
        "environment WEBHOOK_DELIVER_RETRY_JITTER_ENABLED is empty; unset it, or set it to true or 1, false or 0");
}

TEST_CASE("An operation's name in the environment is upper case with _ for all else") {
  CHECK(environment_name("database_write") == "DATABASE_WRITE");
  CHECK(environment_name("webhook.deliver") == "WEBHOOK_DELIVER");
  CHECK(environment_name("a:B/c-9") == "A_B_C_9");
  CHECK(environment_name("mü") == "M__");
  CHECK_THROWS_AS(resolve_retry_config({}), InvalidInput);
}

TEST_CASE("The environment is the process's where no other is given") {
  CHECK(process_environment("PATH").has_value());
  CHECK_FALSE(process_environment("DOGGED_TEST_VARIABLE_THAT_NOBODY_SETS"));
}

TEST_CASE("A file's mistake is named with the file and the JSON pointer") {
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"({"tasks": {"webhook.deliver": {"max_attempts": 0}}})",
       "file retry.json /tasks/webhook.deliver/max_attempts is 0; it must be 1 to 21"},
      {R"({"tasks": {"a/b": {"max_attempts": 0}}})",
       "file retry.json /tasks/a~1b/max_attempts is 0; it must be 1 to 21"},
      {R"({"defaults": {"initial_delay": 100}})",
       R"(file retry.json /defaults/initial_delay cannot be 100; a duration has a unit: write "100ms")"},
      {R"({"task": {}})", R"(file retry.json has no key "task" (did you mean "tasks"?); it takes defaults or tasks)"},
      {R"({"tasks": []})",
       R"(file retry.json /tasks cannot be an array; write an object such as {"webhook.deliver": {"max_attempts": 5}})"},
      {R"({"tasks": {"a": 5}})",
       R"(file retry.json /tasks/a cannot be 5; write an object such as {"max_attempts": 5})"},
      {R"({"tasks": {"a b": {}}})",
       R"(file retry.json /tasks has the name "a b", which no task has: a name is 1 to 128 of A-Z a-z 0-9 . _ : / - )"
       "beginning with a letter or a digit"},
      {R"({"tasks": {"a": {}, "a": {}}})", "file retry.json /tasks/a is there twice; leave one out"},
      {R"({"tasks": {"a": {"jitter": true, "jitter": true}}})",
       "file retry.json /tasks/a/jitter is there twice; leave one out"},
      {"{\"tasks\":\n  {\"a\": {]}}", "file retry.json is not JSON: line 2, column 10"},
  };
  for (const auto& [text, message] : refused) {
    CAPTURE(text);
    CHECK(refusal_of_file(text) == message);
  }
}

TEST_CASE("The same key in two tasks is no duplicate") {
  const RetryConfigFile file = file_of(R"({"tasks": {"a": {"max_attempts": 2}, "b": {"max_attempts": 3}}})");
  CHECK(file.tasks.at("a").max_attempts == 2);
  CHECK(file.tasks.at("b").max_attempts == 3);
}

TEST_CASE("What applies is printed with its origin, line by line") {
  const RetryConfigFile file = file_of(R"({"defaults": {"circuit_breaker": {"failure_threshold": 10}},
      "tasks": {"webhook.deliver": {"preset": "http_request", "max_delay": "1m"}}})");
  CHECK(resolved_in(environment_of({{"RETRY_MAX_ATTEMPTS", "7"}}), {.policy = default_retry_policy, .file = &file})
            .to_text() ==
        "policy_type = exponential_backoff (preset http_request)\n"
        "policy_name = none (built-in default), not used\n"
        "max_attempts = 7 (environment RETRY_MAX_ATTEMPTS)\n"
        "initial_delay = 200ms (preset http_request)\n"
        "intervals = none (preset http_request), not used\n"
        "max_delay = 1m (file retry.json /tasks/webhook.deliver/max_delay)\n"
        "multiplier = 2 (preset http_request)\n"
        "increment = 200ms (built-in default), not used\n"
        "jitter = 100ms (preset http_request)\n"
        "dead_letter_enabled = false (preset http_request)\n"
        "circuit_breaker = failure_threshold=10 recovery_timeout=30s success_threshold=2 (file retry.json "
        "/defaults/circuit_breaker)\n"
        "auto_retry_for = not said (built-in default)\n");
}

TEST_CASE("What the program says of dead letters counts over the file's defaults and under its entry for the task") {
  RetryConfigFile file = file_of(R"({"defaults": {"dead_letter_enabled": true}})");
  CHECK(origin(resolved({.operation = "a", .dead_letter_enabled = false, .file = &file}), "dead_letter_enabled") ==
        "TASK_REGISTER");
  CHECK_FALSE(resolved({.operation = "a", .dead_letter_enabled = false, .file = &file}).config.dead_letter_enabled);
  file = file_of(R"({"tasks": {"a": {"dead_letter_enabled": true}}})");
  CHECK(resolved({.operation = "a", .dead_letter_enabled = false, .file = &file}).config.dead_letter_enabled);
}
