// Operators' retry settings, applied to the tasks that a program registers.
#include "main/configured_retries.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tasks/in_force.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using runtime::Declaration;
using runtime::Definitions;

namespace {

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
}

const Environment nothing = environment_of({});

constexpr TaskOptions says_all{
    .retry = Exponential{.base = 1s, .max_retries = 3}, .auto_retry_for = {"LISTED"}, .dead_letter = false};

/// `plain` says nothing of retries, `exact` everything.
Definitions definitions() { return runtime::make_definitions({{"plain", {}, {}}, {"exact", says_all, {}}}); }

RetryConfigFile file_of(const std::string& text) { return RetryConfigFile::from_json(text, "retry.json"); }

Definitions configured(const std::string& file_text, const Environment& environment = nothing) {
  Definitions all = definitions();
  const RetryConfigFile file = file_of(file_text);
  (void)runtime::configure_retries(all, &file, environment);
  return all;
}

std::vector<std::string> changes(const std::string& file_text, const Environment& environment = nothing) {
  Definitions all = definitions();
  const RetryConfigFile file = file_of(file_text);
  return runtime::configure_retries(all, &file, environment).changes;
}

std::vector<std::string> warnings(const std::string& file_text, const Environment& environment = nothing) {
  Definitions all = definitions();
  const RetryConfigFile file = file_of(file_text);
  return runtime::configure_retries(all, &file, environment).warnings;
}

const Declaration& in_force(const Definitions& all, const std::string& name) {
  return all.find(name)->second.in_force->current();
}

std::string refusal(const std::string& file_text, const Environment& environment = nothing) {
  try {
    (void)configured(file_text, environment);
    return "taken";
  } catch (const InvalidPolicy& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("Without a file and variables, what TASK_REGISTER says applies, and is said to come from there") {
  Definitions all = definitions();
  const runtime::ConfiguredRetries configured = runtime::configure_retries(all, nullptr, nothing);
  CHECK(configured.changes.empty());
  CHECK(configured.warnings.empty());
  const Declaration& plain = in_force(all, "plain");
  CHECK(plain.rules.policy == RetryPolicy{default_retry_policy});
  CHECK(plain.rules.auto_retry_for.empty());
  CHECK(plain.rules.dead_letter);
  CHECK(plain.sources.at("intervals") == "built-in default");
  CHECK(plain.sources.at("auto_retry_for") == "built-in default");

  const Declaration& exact = in_force(all, "exact");
  CHECK(exact.rules.policy == says_all.retry);
  CHECK(exact.rules.auto_retry_for == std::vector<std::string>{"LISTED"});
  CHECK_FALSE(exact.rules.dead_letter);
  for (const char* setting :
       {"policy_type", "max_attempts", "initial_delay", "auto_retry_for", "dead_letter_enabled"}) {
    CHECK(exact.sources.at(setting) == "TASK_REGISTER");
  }
}

TEST_CASE("What a file says of a task decides after its attempts, and is what the worker declares") {
  const Definitions all = configured(R"({"tasks": {"exact": {"max_attempts": 6, "auto_retry_for": ["BUSY"],
                                                             "dead_letter_enabled": true}}})");
  const Declaration& declaration = in_force(all, "exact");
  CHECK(declaration.rules.policy == RetryPolicy{Exponential{.base = 1s, .max_retries = 5}});
  CHECK(declaration.policy_text == "exponential base=1s max_retries=5 jitter=25%");
  CHECK(declaration.rules.auto_retry_for == std::vector<std::string>{"BUSY"});
  CHECK(declaration.rules.dead_letter);
  CHECK(declaration.sources.at("max_attempts") == "file retry.json /tasks/exact/max_attempts");
  CHECK(declaration.sources.at("multiplier") == "TASK_REGISTER");
  CHECK(all.find("exact")->second.declared.policy_text == declaration.policy_text);
  CHECK(in_force(all, "plain").rules.policy == RetryPolicy{default_retry_policy});
}

TEST_CASE("A file's defaults apply to what TASK_REGISTER leaves at its default, and to nothing else") {
  const Definitions all =
      configured(R"({"defaults": {"max_attempts": 2, "auto_retry_for": ["*"], "dead_letter_enabled": true}})");
  CHECK(max_retries(in_force(all, "plain").rules.policy) == 1);
  CHECK(in_force(all, "plain").rules.auto_retry_for == std::vector<std::string>{"*"});
  CHECK(in_force(all, "exact").rules.policy == says_all.retry);
  CHECK(in_force(all, "exact").rules.auto_retry_for == std::vector<std::string>{"LISTED"});
  CHECK_FALSE(in_force(all, "exact").rules.dead_letter);
}

TEST_CASE("The environment counts over the file, and a task's own variable over that of all tasks") {
  const Definitions all = configured(R"({"tasks": {"exact": {"max_attempts": 6}, "plain": {"max_attempts": 6}}})",
                                     environment_of({{"RETRY_MAX_ATTEMPTS", "3"}, {"EXACT_RETRY_MAX_ATTEMPTS", "9"}}));
  CHECK(max_retries(in_force(all, "plain").rules.policy) == 2);
  CHECK(in_force(all, "plain").sources.at("max_attempts") == "environment RETRY_MAX_ATTEMPTS");
  CHECK(max_retries(in_force(all, "exact").rules.policy) == 8);
  CHECK(in_force(all, "exact").sources.at("max_attempts") == "environment EXACT_RETRY_MAX_ATTEMPTS");
}

TEST_CASE("A task that is configured to one attempt has the policy none, and the source of that is named") {
  const Definitions all = configured("{}", environment_of({{"EXACT_RETRY_MAX_ATTEMPTS", "1"}}));
  CHECK(in_force(all, "exact").policy_text == "none");
  CHECK(in_force(all, "exact").sources.at("policy_type") == "environment EXACT_RETRY_MAX_ATTEMPTS");
}

TEST_CASE("Each task whose settings differ from TASK_REGISTER's has one line, with both and the sources") {
  const std::vector<std::string> lines =
      changes(R"({"tasks": {"exact": {"max_attempts": 6}}})", environment_of({{"EXACT_RETRY_JITTER_ENABLED", "0"}}));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "task exact: max_attempts = 6 (file retry.json /tasks/exact/max_attempts), jitter = none (environment "
        "EXACT_RETRY_JITTER_ENABLED); TASK_REGISTER: exponential base=1s max_retries=3 jitter=25%, retried for LISTED, "
        "no dead letters");
  CHECK(changes(R"({"tasks": {"exact": {"max_attempts": 4}}})").empty());
  CHECK(changes(R"({"tasks": {"plain": {"dead_letter_enabled": false}}})").size() == 1);
  CHECK(changes(R"({"tasks": {"plain": {"auto_retry_for": ["BUSY"]}}})").size() == 1);
}

TEST_CASE("A declaration names the configuration that it comes from, each place once") {
  const Definitions all = configured("{}", environment_of({{"EXACT_RETRY_MAX_ATTEMPTS", "1"}}));
  CHECK(in_force(all, "exact").to_text() ==
        "none, retried for LISTED, no dead letters (by environment EXACT_RETRY_MAX_ATTEMPTS)");
  CHECK(in_force(all, "plain").to_text() == "fixed intervals=1m,5m,15m jitter=25%, retried for no code");
}

namespace {

constexpr TaskOptions with_circuit{.circuit = "payments-api", .circuit_settings = {.failure_threshold = 7}};

/// `charge` and `refund` share a circuit, `plain` has none.
Definitions with_circuits(const std::string& file_text) {
  Definitions all =
      runtime::make_definitions({{"plain", {}, {}}, {"charge", with_circuit, {}}, {"refund", with_circuit, {}}});
  const RetryConfigFile file = file_of(file_text);
  (void)runtime::configure_retries(all, &file, nothing);
  return all;
}

/// `payments-api 7 30s (TASK_REGISTER)`.
std::string circuit_of(const Definitions& all, const std::string& name) {
  const runtime::Definition& definition = all.find(name)->second;
  const auto source = definition.declared.sources.find("circuit_breaker");
  const std::string by = source == definition.declared.sources.end() ? "nobody" : source->second;
  if (definition.circuit.empty()) return "none (" + by + ")";
  const CircuitBreakerSettings& settings = definition.circuit_settings;
  return definition.circuit + " " + std::to_string(settings.failure_threshold) + " " +
         std::to_string(settings.recovery_timeout.count()) + "ms (" + by + ")";
}

}  // namespace

TEST_CASE("Without configuration tasks have the circuit that TASK_REGISTER names, or none") {
  const Definitions all = with_circuits("{}");
  CHECK(circuit_of(all, "plain") == "none (built-in default)");
  CHECK(circuit_of(all, "charge") == "payments-api 7 30000ms (TASK_REGISTER)");
}

TEST_CASE("A circuit breaker in the file gives a task without one a circuit of its own name") {
  const Definitions all =
      with_circuits(R"({"tasks": {"plain": {"circuit_breaker": {"failure_threshold": 2, "recovery_timeout": "1m"}}}})");
  CHECK(circuit_of(all, "plain") == "plain 2 60000ms (file retry.json /tasks/plain/circuit_breaker)");
  CHECK(in_force(all, "plain").sources.at("circuit_breaker") == "file retry.json /tasks/plain/circuit_breaker");
  CHECK(circuit_of(all, "charge") == "payments-api 7 30000ms (TASK_REGISTER)");
}

TEST_CASE("A circuit breaker in the file gives its settings to the circuit that is declared, for all that share it") {
  const Definitions all = with_circuits(R"({"tasks": {"refund": {"circuit_breaker": {"failure_threshold": 2}}}})");
  CHECK(circuit_of(all, "charge") == "payments-api 2 30000ms (file retry.json /tasks/refund/circuit_breaker)");
  CHECK(circuit_of(all, "refund") == "payments-api 2 30000ms (file retry.json /tasks/refund/circuit_breaker)");
}

TEST_CASE("A circuit breaker in the file's defaults is for tasks without a circuit alone") {
  const Definitions all = with_circuits(R"({"defaults": {"circuit_breaker": {"failure_threshold": 2}}})");
  CHECK(circuit_of(all, "plain") == "plain 2 30000ms (file retry.json /defaults/circuit_breaker)");
  CHECK(circuit_of(all, "charge") == "payments-api 7 30000ms (TASK_REGISTER)");
}

TEST_CASE("A circuit breaker that is false takes a task's circuit away, and no other's") {
  const Definitions all = with_circuits(R"({"tasks": {"charge": {"circuit_breaker": false}}})");
  CHECK(circuit_of(all, "charge") == "none (file retry.json /tasks/charge/circuit_breaker)");
  CHECK(circuit_of(all, "refund") == "payments-api 7 30000ms (TASK_REGISTER)");
}

TEST_CASE("The policy_type circuit_breaker gives a task a circuit, and no retry comes before it may be half-open") {
  const Definitions all = with_circuits(
      R"({"tasks": {"plain": {"policy_type": "circuit_breaker", "jitter": false},
                    "charge": {"policy_type": "circuit_breaker", "circuit_breaker": {"recovery_timeout": "1m"}}}})");
  CHECK(circuit_of(all, "plain") == "plain 5 30000ms (file retry.json /tasks/plain/policy_type)");
  CHECK(in_force(all, "plain").policy_text == "fixed interval=30s max_retries=3 jitter=none");
  CHECK(circuit_of(all, "charge") == "payments-api 5 60000ms (file retry.json /tasks/charge/circuit_breaker)");
  CHECK(delay_range(in_force(all, "charge").rules.policy, 1).value().shortest == 1min);
}

TEST_CASE(
    "With the policy_type circuit_breaker the delay is said to be the breaker's, with the source of the breaker") {
  const Definitions all = with_circuits(
      R"({"tasks": {"plain": {"policy_type": "circuit_breaker", "jitter": false},
                    "charge": {"policy_type": "circuit_breaker", "circuit_breaker": {"recovery_timeout": "1m"}},
                    "refund": {"policy_type": "circuit_breaker", "max_attempts": 1}}})");
  CHECK(in_force(all, "plain").sources ==
        runtime::RetrySources{{"policy_type", "file retry.json /tasks/plain/policy_type"},
                              {"max_attempts", "built-in default"},
                              {"recovery_timeout", "file retry.json /tasks/plain/policy_type"},
                              {"jitter", "file retry.json /tasks/plain/jitter"},
                              {"dead_letter_enabled", "built-in default"},
                              {"circuit_breaker", "file retry.json /tasks/plain/policy_type"},
                              {"circuit", "file retry.json /tasks/plain/policy_type"},
                              {"auto_retry_for", "built-in default"}});
  CHECK(in_force(all, "charge").sources.at("recovery_timeout") == "file retry.json /tasks/charge/circuit_breaker");
  CHECK(in_force(all, "charge").sources.at("circuit") == "TASK_REGISTER");
  CHECK(in_force(all, "refund").sources.count("recovery_timeout") == 0);  // it is never retried
  CHECK(in_force(all, "refund").sources.at("policy_type") == "file retry.json /tasks/refund/max_attempts");
}

TEST_CASE("Tasks that share a circuit cannot be given different settings of it") {
  const auto refused = [](const std::string& refund) {
    try {
      (void)with_circuits(R"({"tasks": {"charge": {"circuit_breaker": {"failure_threshold": 2}}, "refund": )" + refund +
                          "}}");
      return std::string{"taken"};
    } catch (const InvalidPolicy& error) {
      return std::string{error.what()};
    }
  };
  CHECK(
      refused(R"({"circuit_breaker": {"failure_threshold": 3}})") ==
      "file retry.json /tasks/refund/circuit_breaker: the tasks charge and refund share the circuit \"payments-api\", "
      "and file retry.json /tasks/charge/circuit_breaker gives it other settings; give both the same, or leave one "
      "out");
  CHECK(refused(R"({"circuit_breaker": {"failure_threshold": 2}})") == "taken");
  CHECK(refused("{}") == "taken");
}

TEST_CASE("A task whose circuit is configured has a line that says so") {
  const std::vector<std::string> lines = changes(R"({"tasks": {"plain": {"circuit_breaker": {}}}})");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "task plain: circuit_breaker = failure_threshold=5 recovery_timeout=30s success_threshold=2 (file retry.json "
        "/tasks/plain/circuit_breaker); TASK_REGISTER: fixed intervals=1m,5m,15m jitter=25%, retried for no code");
  CHECK(changes(R"({"tasks": {"plain": {"circuit_breaker": false}}})").empty());
}

TEST_CASE("Retries that are configured for a task without codes are warned of, once a task, with every place") {
  const std::string not_retried = "), so that no failure is retried; list codes ";
  const std::string remedy =
      not_retried + "in its TASK_REGISTER, or as auto_retry_for of /tasks/plain in the file of --retry-config";
  using Lines = std::vector<std::string>;
  CHECK(
      warnings(R"({"tasks": {"plain": {"max_attempts": 6}, "exact": {"max_attempts": 6}}})") ==
      Lines{"file retry.json /tasks/plain/max_attempts has no effect: auto_retry_for of task plain is empty (built-in "
            "default" +
            remedy});
  CHECK(
      warnings("{}", environment_of({{"PLAIN_RETRY_INITIAL_BACKOFF_MS", "500"}})) ==
      Lines{"environment PLAIN_RETRY_INITIAL_BACKOFF_MS has no effect: auto_retry_for of task plain is empty (built-in "
            "default" +
            remedy});
  CHECK(warnings(R"({"tasks": {"plain": {"preset": "http_request", "jitter": "full", "auto_retry_for": []}}})",
                 environment_of({{"RETRY_JITTER_ENABLED", "0"}, {"PLAIN_RETRY_MAX_ATTEMPTS", "6"}})) ==
        Lines{"file retry.json /tasks/plain/preset, file retry.json /tasks/plain/jitter, environment "
              "PLAIN_RETRY_MAX_ATTEMPTS have no effect: auto_retry_for of task plain is empty (file retry.json "
              "/tasks/plain/auto_retry_for" +
              not_retried + "there"});
}

TEST_CASE("Retries that are configured are not warned of where codes are listed, none are wanted, or for all tasks") {
  CHECK(warnings(R"({"defaults": {"auto_retry_for": ["*"]}, "tasks": {"plain": {"max_attempts": 6}}})").empty());
  CHECK(warnings(R"({"tasks": {"plain": {"policy_type": "no_retry"}}})").empty());
  CHECK(warnings(R"({"tasks": {"plain": {"dead_letter_enabled": false, "circuit_breaker": {}}}})").empty());
  CHECK(warnings(R"({"defaults": {"max_attempts": 6}})", environment_of({{"RETRY_MAX_ATTEMPTS", "6"}})).empty());
}

TEST_CASE("A variable out of its limits is refused by its name") {
  CHECK(refusal("{}", environment_of({{"PLAIN_RETRY_MAX_ATTEMPTS", "22"}})) ==
        "environment PLAIN_RETRY_MAX_ATTEMPTS is \"22\"; it must be a whole number, 1 to 21");
}

TEST_CASE("Tasks of a file that the program does not register are found, with the name that may be meant") {
  const auto found = runtime::unregistered_tasks(
      file_of(R"({"tasks": {"plain": {}, "exakt": {}, "of.another.program": {}, "palni": {}, "plain.other": {}}})"),
      definitions());
  REQUIRE(found.size() == 4);
  CHECK(found[0].name == "exakt");
  CHECK(found[0].suggestion == " (did you mean \"exact\"?)");
  CHECK(found[1].name == "of.another.program");
  CHECK(found[1].suggestion.empty());
  CHECK(found[2].name == "palni");
  CHECK(found[2].suggestion == " (did you mean \"plain\"?)");  // two swaps are two mistakes
  CHECK(found[3].name == "plain.other");
  CHECK(found[3].suggestion.empty());  // names of one family are none
}

TEST_CASE("a .retry that lists no codes is warned of, unless operators list codes") {
  const Definitions registered =
      runtime::make_definitions({{"forgot", {.retry = Exponential{.base = 2s, .max_retries = 3}}, {}}});
  const auto warnings_with = [&](const char* file_text) {
    Definitions all = registered;
    const RetryConfigFile file = file_of(file_text);
    return runtime::configure_retries(all, &file, nothing).warnings;
  };
  const std::vector<std::string> said = warnings_with("{}");
  REQUIRE(said.size() == 1);
  CAPTURE(said.front());
  CHECK(said.front().find("task forgot: its .retry is never used") == 0);
  CHECK(said.front().find("list codes, or \"*\" for all") != std::string::npos);
  CHECK(warnings_with(R"({"tasks": {"forgot": {"auto_retry_for": ["*"]}}})").empty());
}
