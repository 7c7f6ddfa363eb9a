// What a worker or a producer says that cannot start: the thing, and what to do about it; and what a program declares.
#include <stdexcept>

#include "db/errors.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using test::contains;
using test::error_of;
using test::registered;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json> work{"work"};
constexpr Task<nlohmann::json> other_work{"other"};
constexpr Task<nlohmann::json> third{"third"};

template <class Key>
detail::RegisteredTask does_nothing(const Key& key) {
  return registered(key, [](Context&, const nlohmann::json&) {});
}

ConnectionError refusal_of(const std::string& url) {
  return error_of<ConnectionError>([&] { (void)Client{url}; });
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

TEST_CASE("what is no database URL is a ConnectionError that shows what one looks like") {
  for (const std::string url : {"mysql//nonsense", "postgresql://host:notaport/db", "host", "hostt=here"}) {
    const auto error = refusal_of(url);
    INFO(error.what());
    CHECK(contains(error.hint(), "postgresql://user:password@host:5432/database"));
  }
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
