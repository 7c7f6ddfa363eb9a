// The options of worker programs: a value out of its range is refused, with the option's name and the range.
#include "main/worker_options.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "main/worker_settings.hpp"
#include "support/captured_errors.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using runtime::CommandLine;
using test::CapturedErrors;

namespace {

/// Parsed beside --list-tasks, which needs no database.
std::optional<int> parse(std::vector<std::string> arguments, CommandLine& options) {
  arguments.insert(arguments.begin(), {"worker", "--list-tasks"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return runtime::parse_command_line(static_cast<int>(argv.size()), argv.data(), options);
}

runtime::WorkerSettings taken(const std::vector<std::string>& arguments) {
  CommandLine line;
  const auto exit_code = parse(arguments, line);
  CHECK_FALSE(exit_code);
  return runtime::settings_of(line.worker);
}

/// The program's message before it ends with exit code 2.
std::string refusal_of(const std::vector<std::string>& arguments) {
  const CapturedErrors errors;
  CommandLine line;
  try {
    const auto exit_code = parse(arguments, line);
    if (exit_code == 2) return errors.text();
    static_cast<void>(runtime::settings_of(line.worker));
    return "taken";
  } catch (const InvalidInput& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Range {
  std::string option;
  std::vector<std::string> least_and_most;  ///< taken
  std::vector<std::string> refused;
  std::string said;  ///< of the range
};

}  // namespace

TEST_CASE("each option of a worker takes the ends of its range, and refuses what lies beyond with name and range") {
  const Range range = GENERATE(values<Range>({
      {"--heartbeat", {"10ms", "20m"}, {"9ms", "0s", "20m1ms", "99999h"}, "it must be 10ms to 20m"},
      {"--lease", {"30ms", "1h"}, {"29ms", "0s", "1h1ms", "99999h"}, "it must be 30ms to 1h"},
      {"--grace", {"0s", "24h"}, {"24h1ms", "99999h"}, "it must be 0ms to 24h"},
      {"--stop-grace", {"0s", "24h"}, {"24h1ms", "99999h"}, "it must be 0ms to 24h"},
      {"--poll-interval", {"10ms", "10m"}, {"9ms", "0s", "10m1ms", "99999h"}, "it must be 10ms to 10m"},
      {"--max-abandoned-threads", {"0", "10000"}, {"-1", "10001", "2147483647"}, "it must be 0 to 10000"},
  }));
  for (const std::string& value : range.least_and_most) {
    CAPTURE(range.option, value);
    std::vector<std::string> arguments{range.option + "=" + value};
    if (range.option == "--heartbeat") arguments.push_back("--lease=1h");  // what lasts three heartbeats
    if (range.option == "--lease") arguments.push_back("--heartbeat=10ms");
    static_cast<void>(taken(arguments));
  }
  for (const std::string& value : range.refused) {
    const std::string message = refusal_of({range.option + "=" + value});
    CAPTURE(message);
    CHECK(has(message, range.option + " is " + value + "; " + range.said));
  }
}

TEST_CASE("a text that is no duration is refused by an option of a worker with its range") {
  for (const std::string option : {"--heartbeat", "--lease", "--grace", "--stop-grace", "--poll-interval"}) {
    for (const std::string value : {"5", "1.5", "5 s", "soon", "1e3s"}) {
      const std::string message = refusal_of({option + "=" + value});
      CAPTURE(option, value, message);
      CHECK(has(message, option + ": \"" + value + "\" is not a duration"));
      CHECK(has(message, option == "--heartbeat"       ? "10ms to 20m"
                         : option == "--lease"         ? "30ms to 1h"
                         : option == "--poll-interval" ? "10ms to 10m"
                                                       : "0ms to 24h"));
    }
  }
}

TEST_CASE("a duration that is negative, or longer than any, is refused by an option of a worker as just that") {
  CHECK(has(refusal_of({"--grace=-1s"}), "--grace: \"-1s\" is negative; write a duration up to 24h"));
  CHECK(has(refusal_of({"--heartbeat=-1s"}), "--heartbeat: \"-1s\" is negative; write a duration up to 20m"));
  CHECK(has(refusal_of({"--lease=99999999999999999999h"}),
            "--lease: \"99999999999999999999h\" is too long; write a duration up to 1h"));
}

TEST_CASE("a number of threads that is none, or too large for any number, is refused by its option") {
  for (const std::string value : {"99999999999999999999", "two", "1.5"}) {
    const std::string message = refusal_of({"--max-abandoned-threads=" + value});
    CAPTURE(value, message);
    CHECK(has(message, "--max-abandoned-threads: \"" + value + "\" is not a number of threads; write 0 to 10000"));
  }
}

TEST_CASE("a misspelt option of a worker is refused with the option that was meant") {
  const std::string message = refusal_of({"--databse-url=postgresql://app:t0psecret@h/x"});
  INFO(message);
  CHECK(has(message, "a worker has no option --databse-url (did you mean \"--database-url\"?)"));
  CHECK_FALSE(has(message, "t0psecret"));
}

TEST_CASE("an option with an empty value is refused, not taken for one that was left out") {
  for (const std::string option : {"--database-url", "--schema", "--queues", "--name", "--heartbeat", "--retry-config",
                                   "--metrics-listen", "--metrics-names", "--log-level", "--log-format"}) {
    const std::string message = refusal_of({option, ""});
    CAPTURE(option, message);
    CHECK(has(message, option + " is empty; give a value, or leave the option out"));
  }
}

TEST_CASE("a word that an option of a worker does not know is refused with the words that it knows") {
  CHECK(has(refusal_of({"--log-format", "jsno"}),
            "--log-format: \"jsno\" is not a format of the log (did you mean \"json\"?); write text, json or logfmt"));
  CHECK(has(refusal_of({"--log-level", "loud"}),
            "--log-level: \"loud\" is not a level of the log; write trace, debug, info, warn, error or off"));
  CHECK(has(refusal_of({"--metrics-listen=:9464", "--metrics-names", "prom"}),
            "--metrics-names: \"prom\" is not a choice of names; write dogged, otel or both"));
  CHECK(has(refusal_of({"--metrics-listen", "bad"}), "--metrics-listen is \"bad\": it has no port"));
}

TEST_CASE("an option of a worker without its value, with one too many, or given twice is refused as just that") {
  CHECK(has(refusal_of({"--lease"}), "--lease has no value; write --lease DURATION"));
  CHECK(has(refusal_of({"--poll-only=maybe"}), "--poll-only takes no value; give it alone, or leave it out"));
  CHECK(has(refusal_of({"--lease=1s", "--lease=2s"}), "--lease is given more than once"));
}

TEST_CASE("a bad value of a variable is refused with the variable's name, and one of the option with the option's") {
  struct Mistake {
    const char* variable;
    std::string option;
  };
  for (const auto& [variable, option] :
       {Mistake{"DOGGED_METRICS_LISTEN", "--metrics-listen"}, Mistake{"DOGGED_METRICS_NAMES", "--metrics-names"},
        Mistake{"DOGGED_LOG_FORMAT", "--log-format"}}) {
    CAPTURE(variable);
    REQUIRE(::setenv(variable, "bad", 1) == 0);
    const std::string of_variable = refusal_of({});
    const std::string of_option = refusal_of({option + "=wrong"});
    ::unsetenv(variable);
    CAPTURE(of_variable, of_option);
    CHECK(of_variable.starts_with(variable));
    CHECK(has(of_variable, "\"bad\""));
    CHECK(of_option.starts_with(option));
    CHECK(has(of_option, "\"wrong\""));
  }
}

TEST_CASE("names of metrics are refused where no metrics are served, unless the environment names them") {
  CHECK(has(refusal_of({"--metrics-names", "otel"}), "--metrics-names is otel, and this worker serves no metrics"));
  REQUIRE(::setenv("DOGGED_METRICS_NAMES", "otel", 1) == 0);
  const std::string said = refusal_of({});
  ::unsetenv("DOGGED_METRICS_NAMES");
  CHECK(said == "taken");
}

TEST_CASE("a concurrency is 1 to 1000") {
  CHECK(taken({"--queues=a:1,b:1000"}).queues == std::map<std::string, int>{{"a", 1}, {"b", 1000}});
  for (const std::string value : {"0", "-1", "1001", "99999999999", "", "+5", "5.0", "many"}) {
    const std::string message = refusal_of({"--queues=a:" + value});
    CAPTURE(value, message);
    CHECK(has(message, "--queues: the concurrency of a is \"" + value + "\"; it must be 1 to 1000"));
  }
  CHECK(has(refusal_of({"--queues=a"}), "is not a queue's name and its concurrency"));
  CHECK(has(refusal_of({"--queues=a:1,a:2"}), "--queues names a twice"));
}

TEST_CASE("a database URL in place of queues shows no part of its password") {
  for (const char* url : {"u:t0psecret-w0rd@h/x", "postgresql:/u:t0psecret-w0rd@h"}) {
    const std::string message = refusal_of({"--queues", url});
    CAPTURE(message);
    CHECK(has(message, "--queues"));
    CHECK_FALSE(has(message, "t0psecret"));
    CHECK_FALSE(has(message, "w0rd"));
  }
}

TEST_CASE("a lease that does not last three heartbeats is refused with both, and with what would do") {
  const std::string message = refusal_of({"--lease=10s", "--heartbeat=4s"});
  CHECK(has(message, "the lease is 10s and the heartbeat 4s"));
  CHECK(has(message, "(12s)"));
  CHECK(taken({"--lease=12s", "--heartbeat=4s"}).lease == 12s);
}

TEST_CASE("a worker that only polls looks each second, unless it is told otherwise") {
  CHECK(taken({}).poll_interval == 10s);
  CHECK(taken({"--poll-only"}).poll_interval == 1s);
  CHECK(taken({"--poll-only", "--poll-interval=100ms"}).poll_interval == 100ms);
}

TEST_CASE("a worker's name is one line") {
  CHECK(taken({"--name=mail 1 (Köln)"}).name == "mail 1 (Köln)");
  for (const std::string name : {"a\nb", "a\x1b[2J", "a\u202eb", "a\xff"}) {
    const std::string message = refusal_of({"--name=" + name});
    INFO(message);
    CHECK(has(message, "--name"));
    CHECK_FALSE(has(message, name));
  }
}

TEST_CASE("options of an embedded worker that are out of their range are refused by name, value and range") {
  struct Mistake {
    std::string said;
    WorkerOptions options;
  };
  const std::vector<Mistake> mistakes{
      {"WorkerOptions::heartbeat is 9ms; it must be 10ms to 20m", {.heartbeat = 9ms}},
      {"WorkerOptions::lease is 2h; it must be 30ms to 1h", {.lease = 2h}},
      {"the lease is 12s and the heartbeat 5s", {.lease = 12s}},
      {"WorkerOptions::grace is 25h; it must be 0ms to 24h", {.grace = 25h}},
      {"WorkerOptions::stop_grace is -1ms; it must be 0ms to 24h", {.stop_grace = -1ms}},
      {"WorkerOptions::poll_interval is 11m; it must be 10ms to 10m", {.poll_interval = 11min}},
      {"WorkerOptions::max_abandoned_threads is -1; it must be 0 to 10000", {.max_abandoned_threads = -1}},
      {"WorkerOptions::default_concurrency is 0; it must be 1 to 1000", {.default_concurrency = 0}},
      {"WorkerOptions::queues: the concurrency of a is 1001; it must be 1 to 1000", {.queues = {{"a", 1001}}}},
      {"WorkerOptions::queues has \"a b\", which is no queue's name", {.queues = {{"a b", 1}}}},
      {"WorkerOptions::name has 129 bytes; it must be 1 to 128", {.name = std::string(129, 'a')}},
      {"WorkerOptions::name looks like a database URL", {.name = "postgresql://app:secret@h/x"}},
  };
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.said);
    try {
      static_cast<void>(runtime::settings_of(mistake.options));
      FAIL_CHECK("taken");
    } catch (const InvalidInput& error) {
      CHECK(has(error.what(), mistake.said));
    }
  }
}

TEST_CASE("metrics have dogged's names unless --metrics-names says otel or both") {
  const auto names = [](const std::vector<std::string>& arguments) {
    CommandLine line;
    CHECK_FALSE(parse(arguments, line));
    return line.worker.metrics_names;
  };
  CHECK(names({}) == MetricNames::dogged);
  CHECK(names({"--metrics-listen=:9464", "--metrics-names", "dogged"}) == MetricNames::dogged);
  CHECK(names({"--metrics-listen=:9464", "--metrics-names", "otel"}) == MetricNames::otel);
  CHECK(names({"--metrics-listen=:9464", "--metrics-names=both"}) == MetricNames::both);
}

TEST_CASE("workers of one process that are given no name have names of their own") {
  CHECK(runtime::settings_of(WorkerOptions{}).name != runtime::settings_of(WorkerOptions{}).name);
}
