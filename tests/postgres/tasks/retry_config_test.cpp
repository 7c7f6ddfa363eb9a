// Worker programs that are started with settings of retries: a file, the environment, mistakes in both.
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using test::contains;
using test::eventually;
using test::TestDatabase;

namespace {

/// A directory that is there while this lives.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    if (::mkdtemp(name_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(name_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  /// The path of a new file.
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream{path(name)} << text;
    return path(name);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return name_ + "/" + name; }

 private:
  std::string name_ = "/tmp/dogged-test-XXXXXX";
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The program of load_worker.cpp, with nothing in its environment but `environment`. The task `load` fails as often as
/// its args say. TASK_REGISTER says: exponential, 4 ms, 3 retries, for the code LISTED.
class Program {
 public:
  Program(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), DOGGED_LOAD_WORKER);
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      ::posix_spawn_file_actions_addopen(&actions, fd, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    const int error = ::posix_spawn(&pid_, DOGGED_LOAD_WORKER, &actions, nullptr, pointers_to(arguments).data(),
                                    pointers_to(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), DOGGED_LOAD_WORKER);
  }
  ~Program() {
    if (pid_ != 0) (void)stop();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The program's exit code when the program has ended by itself; -1 if a signal ended the program.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int stop() {
    ::kill(pid_, SIGTERM);
    return wait();
  }
  /// The program's output so far.
  [[nodiscard]] std::string log() const {
    std::ostringstream text;
    text << std::ifstream{log_}.rdbuf();
    return text.str();
  }

 private:
  TemporaryDirectory directory_;
  std::string log_ = directory_.path("log");
  pid_t pid_ = 0;
};

std::vector<std::string> on(const TestDatabase& database, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"--database-url", database.settings().url, "--schema", database.schema()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The end of a task `load` that fails ten times with `code`.
std::string end_of_failing(TestDatabase& database, const std::string& code) {
  (void)database.value("select dogged.create_queue('load') as value");
  const TaskId id = database.client().enqueue(
      NewTask{"load", nlohmann::json{{"failures", 10}, {"code", code}}.dump(), {.queue = "load"}});
  REQUIRE(eventually([&] {
    const std::string status = database.status_of(id);
    return status == "failed" || status == "discarded";
  }));
  return database.status_of(id) + " after " + std::to_string(database.attempts_of(id).size());
}

std::string source_of(TestDatabase& database, const std::string& setting) {
  return database.value("select retry_sources->>$1 as value from dogged.task_definitions where name = 'load'",
                        db::Params{}.add(setting));
}

/// The message of a program that must refuse such a file. The program cannot reach its database, which would be exit
/// code 3.
std::string refusal_of(const std::string& file_text) {
  const TemporaryDirectory directory;
  Program program{
      {"--database-url", "postgresql://127.0.0.1:1/x", "--retry-config", directory.file("retry.json", file_text)}};
  CHECK(program.wait() == 2);
  return program.log();
}

constexpr const char* two_quick_attempts =
    R"({"tasks": {"load": {"policy_type": "fixed_interval", "max_attempts": 2, "initial_delay": "1ms",
                           "auto_retry_for": ["NEW"], "dead_letter_enabled": false}}})";

}  // namespace

TEST_CASE("a task's retries follow the file, and the database says so") {
  TestDatabase database;
  const TemporaryDirectory directory;
  const std::string path = directory.file("retry.json", two_quick_attempts);
  Program program{on(database, {"--retry-config", path})};
  CHECK(end_of_failing(database, "NEW") == "discarded after 2");
  CHECK(end_of_failing(database, "LISTED") == "discarded after 1");
  CHECK(program.stop() == 0);

  INFO(program.log());
  CHECK(contains(program.log(), "task load: policy_type = fixed_interval (file " + path + " /tasks/load/policy_type)"));
  CHECK_FALSE(contains(program.log(), "task until_stopped:"));
  CHECK(database.value("select retry_policy->>'policy' || ' ' || auto_retry_for::text || ' ' || dead_letter as value "
                       "from dogged.task_definitions where name = 'load'") == "fixed {NEW} false");
  CHECK(source_of(database, "max_attempts") == "file " + path + " /tasks/load/max_attempts");
  CHECK(source_of(database, "jitter") == "TASK_REGISTER");
}

TEST_CASE("a circuit breaker in the file is the task's circuit, which opens and puts its tasks off") {
  TestDatabase database;
  const TemporaryDirectory directory;
  const std::string path = directory.file(
      "retry.json",
      R"({"tasks": {"load": {"circuit_breaker": {"failure_threshold": 2, "recovery_timeout": "1h"}, "max_attempts": 2}}})");
  Program program{on(database, {"--retry-config", path})};
  CHECK(end_of_failing(database, "LISTED") == "failed after 2");
  CHECK(source_of(database, "circuit_breaker") == "file " + path + " /tasks/load/circuit_breaker");
  CHECK(database.value("select d.circuit || ' ' || c.failure_threshold || ' ' || c.recovery_timeout_ms as value "
                       "from dogged.task_definitions d join dogged.circuits c on c.name = d.circuit "
                       "where d.name = 'load'") == "load 2 3600000");
  CHECK(eventually(
      [&] { return database.value("select state as value from dogged.circuits where name = 'load'") == "open"; }));
  CHECK(program.stop() == 0);
  INFO(program.log());
  CHECK(contains(program.log(),
                 "task load: max_attempts = 2 (file " + path +
                     " /tasks/load/max_attempts), "
                     "circuit_breaker = failure_threshold=2 recovery_timeout=1h success_threshold=2 (file"));
}

TEST_CASE("the environment beats the file, and a task's own variable beats that of all") {
  TestDatabase database;
  const TemporaryDirectory directory;
  const std::string path = directory.file("retry.json", two_quick_attempts);
  Program program{on(database), {"DOGGED_RETRY_CONFIG=" + path, "RETRY_MAX_ATTEMPTS=5", "LOAD_RETRY_MAX_ATTEMPTS=3"}};
  CHECK(end_of_failing(database, "NEW") == "discarded after 3");
  CHECK(source_of(database, "max_attempts") == "environment LOAD_RETRY_MAX_ATTEMPTS");
  CHECK(source_of(database, "initial_delay") == "file " + path + " /tasks/load/initial_delay");
}

TEST_CASE("the environment counts without a file") {
  TestDatabase database;
  Program program{on(database), {"RETRY_MAX_ATTEMPTS=2"}};
  CHECK(end_of_failing(database, "LISTED") == "failed after 2");
  CHECK(source_of(database, "max_attempts") == "environment RETRY_MAX_ATTEMPTS");
  CHECK(source_of(database, "initial_delay") == "TASK_REGISTER");
}

TEST_CASE("of two workers with different settings the newer one's count, and both say whose they are") {
  TestDatabase database;
  Program older{on(database)};
  REQUIRE(end_of_failing(database, "LISTED") == "failed after 4");
  const TemporaryDirectory directory;
  Program newer{on(database, {"--retry-config",
                              directory.file("retry.json", R"({"tasks": {"load": {"dead_letter_enabled": false}}})")})};
  const std::string by =
      "no dead letters (by file " + directory.path("retry.json") + " /tasks/load/dead_letter_enabled)";
  CHECK(eventually([&] { return contains(older.log(), by); }));
  CHECK(eventually([&] { return contains(newer.log(), by); }));  // the older one may be the first to say so
  CHECK(newer.stop() == 0);
  CHECK(end_of_failing(database, "LISTED") == "discarded after 4");  // by the older one
}

TEST_CASE("a mistake in the file is refused with exit code 2, before anything is connected to") {
  CHECK(contains(refusal_of(R"({"tasks": {"load": {"max_attempts": 22}}})"),
                 "/retry.json /tasks/load/max_attempts is 22; it must be 1 to 21"));
  CHECK(contains(refusal_of(R"({"tasks": {"load": {"initial_delay": "5 parsecs"}}})"), "/tasks/load/initial_delay"));
  CHECK(contains(refusal_of(R"({"tasks": {"load": {"max_atempts": 5}}})"), "did you mean \"max_attempts\"?"));
  CHECK(contains(refusal_of(R"({"tasks": {"load": {"increment": "1s"}}})"), "has no effect with policy_type"));
  CHECK(contains(refusal_of("{"), "is not JSON: line 1"));
  CHECK(contains(refusal_of(R"({"tasks": {"load": {"circuit_breaker": {"failure_threshold": 0}}}})"),
                 "/tasks/load/circuit_breaker/failure_threshold is 0; it must be 1 to 1000"));
  CHECK(contains(refusal_of(std::string((1 << 20) + 1, ' ')), "File too large"));
}

TEST_CASE("a file that cannot be read is refused with exit code 2, and named") {
  const TemporaryDirectory directory;
  for (const auto& [path, reason] : {std::pair{directory.path("missing.json"), "No such file or directory"},
                                     std::pair{directory.path(""), "Is a directory"}}) {
    Program program{{"--list-tasks", "--retry-config", path}};
    CHECK(program.wait() == 2);
    INFO(program.log());
    CHECK(contains(program.log(), "cannot read the file \"" + path + "\": " + reason));
  }
}

TEST_CASE("a mistake in the environment is refused with exit code 2, and named") {
  Program program{{"--list-tasks"}, {"LOAD_RETRY_JITTER_ENABLED=maybe"}};
  CHECK(program.wait() == 2);
  INFO(program.log());
  CHECK(
      contains(program.log(), "environment LOAD_RETRY_JITTER_ENABLED is \"maybe\"; it must be true or 1, false or 0"));
}

TEST_CASE("retries of a task that retries no code are a warning when the worker starts, and no mistake") {
  const TemporaryDirectory directory;
  const std::string path =
      directory.file("retry.json", R"({"tasks": {"load": {"max_attempts": 6, "auto_retry_for": []}}})");
  Program program{{"--list-tasks", "--retry-config", path}};
  CHECK(program.wait() == 0);
  INFO(program.log());
  CHECK(contains(program.log(), "warning"));
  CHECK(contains(program.log(),
                 "file " + path + " /tasks/load/max_attempts has no effect: auto_retry_for of task load is empty"));
}

TEST_CASE("a file may have tasks of other programs, and a misspelt name is told of") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("retry.json", R"({"tasks": {"of.another.program": {}, "laod": {}}})");
  Program program{{"--list-tasks", "--retry-config", path}};
  CHECK(program.wait() == 0);
  INFO(program.log());
  CHECK(contains(program.log(), "/tasks/of.another.program: this program does not register such a task\n"));
  CHECK(contains(program.log(), "/tasks/laod: this program does not register such a task (did you mean \"load\"?)"));
}

TEST_CASE("a list of the tasks shows the retries that apply, and needs no database") {
  Program program{{"--list-tasks"}, {"LOAD_RETRY_MAX_ATTEMPTS=7"}};
  CHECK(program.wait() == 0);
  CHECK(contains(program.log(), "retry exponential base=4ms max_retries=6"));
  CHECK(contains(program.log(), "  dead_letter yes\n"));
  CHECK_FALSE(contains(program.log(), "circuit"));
  const TemporaryDirectory directory;
  const std::string path = directory.file("retry.json", R"({"tasks": {"load": {"dead_letter_enabled": false,
      "circuit_breaker": {"failure_threshold": 7, "recovery_timeout": "1m"}}}})");
  Program configured{{"--list-tasks", "--retry-config", path}};
  CHECK(configured.wait() == 0);
  CHECK(contains(configured.log(),
                 "  dead_letter no\n  circuit load failure_threshold=7 recovery_timeout=1m "
                 "success_threshold=2\n"));
}
