// The errors of a worker or a producer that cannot start: the cause and the remedy. Also a program's declarations.
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>

#include <spdlog/sinks/ringbuffer_sink.h>

#include "base/session.hpp"
#include "db/conninfo.hpp"
#include "db/errors.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"
#include "support/wrong_urls.hpp"

using namespace dogged;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::other_work;
using test::registered;
using test::shows_password;
using test::TestDatabase;
using test::work;
using test::wrong_urls;

namespace {

constexpr Task<nlohmann::json> third{"third"};

ConnectionError refusal_of(const std::string& url) {
  return error_of<ConnectionError>([&] { (void)Client{url}; });
}

struct Ended {
  int status = 0;
  std::string said;
};

/// The worker program, with nothing of the surroundings that names a database.
Ended run_worker_program(const std::string& arguments) {
  const std::string command = "env -u DATABASE_URL -u PGHOST " DOGGED_LOAD_WORKER " " + arguments + " 2>&1";
  std::array<char, 4096> part{};
  Ended ended;
  std::FILE* output = ::popen(command.c_str(), "r");
  if (output == nullptr) throw std::logic_error("no process could be started");
  while (std::fgets(part.data(), part.size(), output) != nullptr) ended.said += part.data();
  ended.status = WEXITSTATUS(::pclose(output));
  return ended;
}

std::string in_shell_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

}  // namespace

TEST_CASE("a program that registers no task is refused, and told of the usual cause") {
  const auto error = error_of<InvalidInput>([] { (void)runtime::make_definitions({}); });
  CHECK(contains(error.message(), "registers no task"));
  CHECK(contains(error.hint(), "dogged_add_worker"));
}

TEST_CASE("tasks that are registered twice are all named") {
  const auto error = error_of<InvalidInput>([] {
    (void)runtime::make_definitions(
        {does_nothing(work), does_nothing(other_work), does_nothing(third), does_nothing(third), does_nothing(work)});
  });
  CHECK(contains(error.message(), "work"));
  CHECK(contains(error.message(), "third"));
  CHECK_FALSE(contains(error.message(), "other"));
  CHECK(contains(error.hint(), "TASK_REGISTER"));
}

TEST_CASE("the program's exception mapper is for tasks that name none of their own") {
  static const auto mapper_to = [](const char* code) {
    return ExceptionMapper{}.map<std::exception>(
        [code](const std::exception&) { return Classification{.code = code}; });
  };
  detail::RegisteredTask with_own = does_nothing(other_work);
  with_own.options.exceptions = +[]() -> const ExceptionMapper& {
    static const ExceptionMapper own = mapper_to("OF_THE_TASK");
    return own;
  };
  const auto definitions = runtime::make_definitions({does_nothing(work), with_own}, mapper_to("OF_THE_PROGRAM"));
  const auto code_for = [&](const auto& key) {
    const auto exception = std::make_exception_ptr(std::runtime_error{"x"});
    return definitions.find(key.name())->second.exceptions.map(exception).classification.code.str();
  };
  CHECK(code_for(work) == "OF_THE_PROGRAM");
  CHECK(code_for(other_work) == "OF_THE_TASK");
}

TEST_CASE("tasks of one circuit have the settings that one of them gives, and two that differ are refused") {
  const auto of_circuit = [](const auto& key, const CircuitBreakerSettings& settings) {
    detail::RegisteredTask task = does_nothing(key);
    task.options.circuit = "payments-api";
    task.options.circuit_settings = settings;
    return task;
  };
  const auto definitions = runtime::make_definitions(
      {of_circuit(work, {.failure_threshold = 3}), of_circuit(other_work, {}), does_nothing(third)});
  CHECK(definitions.find(other_work.name())->second.circuit_settings.failure_threshold == 3);
  CHECK(definitions.find(third.name())->second.circuit_settings == CircuitBreakerSettings{});
  const auto error = error_of<InvalidInput>([&] {
    (void)runtime::make_definitions(
        {of_circuit(work, {.failure_threshold = 3}), of_circuit(other_work, {.failure_threshold = 4})});
  });
  CHECK(contains(error.message(), "work"));
  CHECK(contains(error.message(), "other"));
  CHECK(contains(error.message(), "payments-api"));
}

TEST_CASE("a server that is down is a ConnectionError that says how to start one") {
  const auto error = refusal_of("postgresql://someone@/some?host=/tmp/no-such-directory-of-dogged");
  INFO(error.what());
  CHECK(contains(error.message(), "/tmp/no-such-directory-of-dogged"));
  CHECK(contains(error.hint(), "dogged dev up"));
  CHECK(error.sqlstate().empty());
}

TEST_CASE("a worker whose server is down does not start") {
  runtime::WorkerSettings settings;
  settings.database.url = "postgresql://someone@/some?host=/tmp/no-such-directory-of-dogged";
  settings.name = "test worker";
  const runtime::WakeFd stop;
  CHECK_THROWS_AS(
      (runtime::Worker{settings, runtime::make_definitions({does_nothing(work)}), spdlog::default_logger(), stop}),
      ConnectionError);
}

TEST_CASE("a database that does not exist is a ConnectionError that says how to make it") {
  const std::string server = test::server_url();
  const auto error = refusal_of(server + (contains(server, "?") ? "&" : "?") + "dbname=no_such_database");
  INFO(error.what());
  CHECK(contains(error.message(), "no_such_database"));
  CHECK(contains(error.hint(), "createdb"));
}

TEST_CASE("a role that does not exist is a ConnectionError that says how to make it") {
  const std::string server = test::server_url();
  const auto error = refusal_of(server + (contains(server, "?") ? "&" : "?") + "user=no_such_role");
  INFO(error.what());
  CHECK(contains(error.message(), "no_such_role"));
  CHECK(contains(error.hint(), "createuser"));
}

TEST_CASE("a text that is no database URL is InvalidInput, which shows what a URL looks like") {
  for (const std::string url : {"mysql//nonsense", "postgresql://host:notaport/db", "host", "hostt=here",
                                "postgresql://h/x?sslmode=perhaps", "host=127.0.0.1 port=1 connect_timeout=soon"}) {
    const auto error = error_of<InvalidInput>([&] { (void)Client{url}; });
    INFO(error.what());
    CHECK(contains(error.hint(), "postgresql://user:password@host:5432/database"));
  }
}

TEST_CASE("an option whose value libpq does not take is named") {
  const auto message_for = [](const std::string& url) {
    return error_of<InvalidInput>([&] { (void)Client{url}; }).message();
  };
  CHECK(contains(message_for("host=h port=five"), "port"));
  CHECK(contains(message_for("host=h sslmode=perhaps"), "sslmode"));
  CHECK(contains(message_for("host=127.0.0.1 port=1 connect_timeout=soon"), "connect_timeout"));
}

TEST_CASE("no error of a client shows the password of a database URL, however wrong") {
  for (const std::string& url : wrong_urls()) {
    const auto error = error_of<Error>([&] { (void)Client{url}; });
    INFO(error.what());
    CHECK_FALSE(shows_password(error.what()));
  }
}

TEST_CASE("neither a worker's error nor its log shows the password of a database URL, however wrong") {
  for (const std::string& url : wrong_urls()) {
    runtime::WorkerSettings settings;
    settings.database.url = url;
    settings.name = "test worker";
    const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
    const auto log = std::make_shared<spdlog::logger>("test", lines);
    const runtime::WakeFd stop;
    const auto error = error_of<Error>([&] {
      (void)runtime::Worker{settings, runtime::make_definitions({does_nothing(work)}), log, stop};
    });
    INFO(error.what());
    CHECK_FALSE(shows_password(error.what()));

    runtime::Session session{settings.database, "claimer", log};
    session.recover_from(error, {});
    REQUIRE(lines->last_formatted().size() == 1);
    CHECK_FALSE(shows_password(lines->last_formatted().front()));
  }
}

TEST_CASE("a worker program says nothing of a password in its database URL, wherever the URL stands") {
  for (const std::string& url : wrong_urls()) {
    for (const std::string& option : {std::string{"--database-url="}, std::string{"--database-ur="}}) {
      const Ended ended = run_worker_program(option + in_shell_quotes(url));
      INFO(ended.said);
      CHECK((ended.status == 2 || ended.status == 3));
      CHECK_FALSE(shows_password(ended.said));
    }
  }
  CHECK(run_worker_program("--database-url=mysql://u:t0psecret-w0rd@h/x").status == 2);
}

TEST_CASE("a statement that can never succeed against the schema is a mistake of dogged, and no refusal is") {
  const auto refused = [](const std::string& sqlstate) {
    return db::is_defect(DatabaseError{"claim: no", "", sqlstate});
  };
  for (const char* sqlstate : {"42703", "42883", "42P01", "42601", "42804", "3F000", "42P10", "42725"}) {
    INFO(sqlstate);
    CHECK(refused(sqlstate));
  }
  for (const char* sqlstate :
       {"", "40001", "40P01", "42501", "55P03", "57014", "57P01", "25006", "53300", "53100", "58030"}) {
    INFO(sqlstate);
    CHECK_FALSE(refused(sqlstate));
  }
  CHECK(db::is_defect(std::logic_error{"a broken invariant"}));
  CHECK(db::is_defect(std::bad_optional_access{}));
  CHECK(db::is_defect(error_of<nlohmann::json::exception>([] { (void)nlohmann::json("no \xFF").dump(); })));
  CHECK_FALSE(db::is_defect(InvalidInput{"an operator's trigger refuses it"}));
  CHECK_FALSE(db::is_defect(SchemaMismatch{"the schema is older"}));
  CHECK_FALSE(db::is_defect(std::bad_alloc{}));
  CHECK_FALSE(db::is_defect(ConnectionError{"refused", "", ""}));
  CHECK(db::is_refusal(InvalidInput{"an operator's trigger refuses it"}));
  CHECK(db::is_refusal(DatabaseError{"claim: no", "", "42501"}));
  CHECK_FALSE(db::is_refusal(DatabaseError{"claim: no", "", "42703"}));
  CHECK_FALSE(db::is_refusal(ConnectionError{"refused", "", ""}));
  CHECK_FALSE(db::is_refusal(std::bad_alloc{}));
}

TEST_CASE("a worker program that meets a mistake of dogged ends with code 70, and its last line says so") {
  TestDatabase database;
  std::string part;
  SECTION("in a statement of a service") {
    part = "lease";
    database.script("alter table dogged.workers rename column clock_ahead_ms to gone");
  }
  SECTION("in an answer, before it has registered") {
    part = "start";
    database.script(
        "alter table dogged.settings alter column max_result_bytes drop not null; "
        "update dogged.settings set max_result_bytes = null");
  }
  const Ended ended =
      run_worker_program("--heartbeat 100ms --lease 10s --schema " + in_shell_quotes(database.schema()) +
                         " --database-url " + in_shell_quotes(database.settings().url));
  INFO(ended.said);
  CHECK(ended.status == 70);
  CHECK(contains(ended.said, "the worker ends, because its " + part + " met a mistake that no retry mends"));
  CHECK(contains(ended.said, "please report the line"));
}

TEST_CASE("the server's reasons to refuse a connection have a remedy each") {
  const auto hint_for = [](const std::string& reason) {
    return db::connect_error("connection to server at \"db\" (192.0.2.1), port 5432 failed: " + reason).hint();
  };
  CHECK(contains(hint_for("FATAL:  password authentication failed for user \"app\""), "the password"));
  CHECK(contains(hint_for("fe_sendauth: no password supplied"), "PGPASSWORD"));
  CHECK(contains(hint_for("FATAL:  no pg_hba.conf entry for host \"192.0.2.2\", user \"app\", database \"app\", no "
                          "encryption"),
                 "pg_hba.conf"));
  CHECK(contains(hint_for("FATAL:  sorry, too many clients already"), "max_connections"));
  CHECK(contains(hint_for("FATAL:  database \"app\" does not exist"), "createdb"));
  CHECK(contains(hint_for("Connection refused\n\tIs the server running on that host?"), "dogged dev up"));
}
