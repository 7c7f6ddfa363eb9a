// The attempt row after every way in which a handler can end.
#include <cerrno>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <system_error>

#include <dogged/retry.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

struct Address {
  std::string host;
  int port = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Address, host, port)

struct Delivery {
  std::string subject;
  std::vector<Address> targets;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Delivery, subject, targets)

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> answer{"answer"};
constexpr Task<Delivery> deliver{"deliver"};

constexpr RetryPolicy two_retries = Fixed{.interval = 10ms, .max_retries = 2};

bool has_ended(TestDatabase& database, TaskId id) {
  const std::string status = database.status_of(id);
  return status == "succeeded" || status == "failed";
}

/// The rows of a task `name` whose handler is `handler`, after it has ended.
test::Rows attempts_of_one(TestDatabase& database, const detail::RegisteredTask& task, const std::string& args = "{}") {
  RunningWorker worker{database, {task}};
  const TaskId id = database.client().enqueue(NewTask{task.name, args, {}});
  REQUIRE(eventually([&] { return has_ended(database, id); }));
  return database.attempts_of(id);
}

template <class Handler>
test::Rows attempts_of_work(TestDatabase& database, Handler handler, const TaskOptions& options = {}) {
  return attempts_of_one(database, registered(work, std::move(handler), options));
}

template <class Handler>
test::Rows attempts_of_answer(TestDatabase& database, Handler handler) {
  return attempts_of_one(database, registered(answer, std::move(handler), {.auto_retry_for = {"*"}}));
}

/// `policy`: the one that had no retry left; empty where none was asked.
void check_failed_for_good(const test::Row& attempt, std::string_view code, const std::string& policy = {}) {
  INFO("message: " << attempt.maybe_text("error_message").value_or("null"));
  CHECK(attempt.text("outcome") == "failed");
  CHECK(attempt.text("error_code") == code);
  CHECK_FALSE(attempt.boolean("will_retry"));
  CHECK(attempt.maybe_text("policy").value_or("") == policy);
  for (const char* column : {"next_retry_at", "backoff_ms", "delay_ms", "retry_after_ms"}) {
    INFO(column);
    CHECK(attempt.is_null(column));
  }
}

nlohmann::json details_of(const test::Row& attempt) { return nlohmann::json::parse(attempt.text("error_details")); }

}  // namespace

TEST_CASE("a success: the attempt names the task and the worker, says when and how long, and has no error") {
  TestDatabase database;
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {}, {.queue = "mail"})}};
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = "trace-1"});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));

  const test::Rows rows = database.attempts_of(id);
  const test::Row attempt = rows.one();
  CHECK(attempt.number("attempt") == 1);
  CHECK(attempt.text("name") == "work");
  CHECK(attempt.text("queue") == "mail");
  CHECK(attempt.text("outcome") == "succeeded");
  CHECK(attempt.number("worker_id") == worker.id());
  CHECK(attempt.text("trace_context") == "trace-1");
  CHECK_FALSE(attempt.boolean("will_retry"));
  for (const char* column : {"error_code", "error_message", "error_details", "next_retry_at", "policy", "backoff_ms",
                             "delay_ms", "retry_after_ms"}) {
    INFO(column);
    CHECK(attempt.is_null(column));
  }
  CHECK(
      database.value("select count(*) as value from dogged.task_attempts a join dogged.tasks t on t.id = a.task_id "
                     "where "
                     "t.enqueued_at <= a.claimed_at and a.claimed_at <= a.started_at and a.started_at <= a.finished_at "
                     "and a.finished_at <= clock_timestamp() and t.finished_at = a.finished_at and t.worker_id = "
                     "a.worker_id and t.attempt = 1 and t.retry_count = 0 and t.error_code is null and t.result is null"
                     " and t.claimed_at = a.claimed_at") == "1");
}

TEST_CASE("the time that an attempt took is the handler's") {
  TestDatabase database;
  const auto begun = std::chrono::steady_clock::now();
  const test::Rows rows =
      attempts_of_work(database, [](Context&, const nlohmann::json&) { std::this_thread::sleep_for(120ms); });
  const std::chrono::microseconds ran{rows.one().number("ran_us")};
  CHECK(ran >= 120ms);
  CHECK(ran < std::chrono::steady_clock::now() - begun);
}

TEST_CASE("a listed failure with retries left: the attempt says when and why it is tried again") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(
      database,
      [](Context& context, const nlohmann::json&) {
        if (context.attempt() == 1) {
          throw TaskError{"HTTP_503", "the server is busy"}.details({{"status", 503}, {"body", "try later"}});
        }
      },
      {.retry = two_retries, .auto_retry_for = {"HTTP_503"}});

  REQUIRE(rows.size() == 2);
  const test::Row failed = rows[0];
  CHECK(failed.text("outcome") == "failed");
  CHECK(failed.text("error_code") == "HTTP_503");
  CHECK(failed.text("error_message") == "the server is busy");
  CHECK(details_of(failed) == nlohmann::json{{"status", 503}, {"body", "try later"}});
  CHECK(failed.boolean("will_retry"));
  CHECK(failed.text("policy") == policy_to_text(two_retries));
  CHECK(failed.number("backoff_ms") == 10);
  CHECK(failed.number("delay_ms") >= 8);
  CHECK(failed.number("delay_ms") <= 12);
  CHECK(failed.is_null("retry_after_ms"));
  CHECK(rows[1].text("outcome") == "succeeded");
  CHECK(rows[1].number("attempt") == 2);
  CHECK(database.value("select retry_count as value from dogged.tasks") == "1");
}

TEST_CASE("while a retry waits the task is pending and shows when it is due and what went wrong") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context&, const nlohmann::json&) {
                                     throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = Fixed{.intervals = {1h}}, .auto_retry_for = {"BUSY"}})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.history_of(id) == "1 failed true"; }));
  CHECK(database.value(
            "select count(*) as value from dogged.tasks t join dogged.task_attempts a on a.task_id = t.id "
            "where "
            "t.status = 'pending' and t.deferred and t.next_retry_at = a.next_retry_at and t.attempt = 1 and "
            "t.retry_count = 1 and t.error_code = 'BUSY' and t.error_message = 'not now' and t.finished_at is "
            "null and t.next_retry_at between now() + interval '44 min' and now() + interval '75 min'") == "1");
}

TEST_CASE("a failure that is not listed ends the task at once") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database,
                                           [](Context&, const nlohmann::json&) {
                                             throw TaskError{"HTTP_404", "no such page"};
                                           },
                                           {.retry = two_retries, .auto_retry_for = {"HTTP_503"}});
  check_failed_for_good(rows.one(), "HTTP_404");
  CHECK(database.value("select error_code || ' ' || error_message || ' ' || retry_count as value from "
                       "dogged.dead_letters") == "HTTP_404 no such page 0");
}

TEST_CASE("a failure is not retried where no code is listed, whatever the policy") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database,
                                           [](Context&, const nlohmann::json&) {
                                             throw TaskError{"HTTP_503", "busy"};
                                           },
                                           {.retry = two_retries});
  check_failed_for_good(rows.one(), "HTTP_503");
}

TEST_CASE("the last retry spent ends the task, and its attempt says that it will not be retried") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database,
                                           [](Context&, const nlohmann::json&) {
                                             throw TaskError{"HTTP_503", "busy"};
                                           },
                                           {.retry = two_retries, .auto_retry_for = {"HTTP_503"}});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].boolean("will_retry"));
  CHECK(rows[1].boolean("will_retry"));
  check_failed_for_good(rows[2], "HTTP_503", policy_to_text(two_retries));
  CHECK(database.value("select attempts || ' ' || retry_count as value from dogged.dead_letters") == "3 2");
}

TEST_CASE("* lists every code, also that of an exception") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database,
                                           [](Context& context, const nlohmann::json&) {
                                             if (context.attempt() == 1) throw TaskError{"ANYTHING", "once"};
                                             if (context.attempt() == 2) throw std::runtime_error{"twice"};
                                           },
                                           {.retry = two_retries, .auto_retry_for = {"*"}});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].text("error_code") == "ANYTHING");
  CHECK(rows[1].text("error_code") == "UNHANDLED_EXCEPTION");
  CHECK(rows[1].boolean("will_retry"));
  CHECK(rows[2].text("outcome") == "succeeded");
}

TEST_CASE("an exception that is no TaskError is UNHANDLED_EXCEPTION, with its type and message") {
  TestDatabase database;
  const test::Rows rows =
      attempts_of_work(database, [](Context&, const nlohmann::json&) { throw std::out_of_range{"no such row"}; });
  check_failed_for_good(rows.one(), "UNHANDLED_EXCEPTION");
  CHECK(rows.one().text("error_message") == "no such row");
  CHECK(details_of(rows.one()) == nlohmann::json{{"exception", "std::out_of_range"}});
}

TEST_CASE("a thrown value that is no std::exception is UNHANDLED_EXCEPTION, with its type") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database, [](Context&, const nlohmann::json&) { throw 42; });
  check_failed_for_good(rows.one(), "UNHANDLED_EXCEPTION");
  CHECK(contains(rows.one().text("error_message"), "int"));
  CHECK(details_of(rows.one()) == nlohmann::json{{"exception", "int"}});
}

namespace {

struct CardDeclined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A declined card, and a mapping that fails itself.
const ExceptionMapper& card_errors() {
  static const ExceptionMapper mapper =
      ExceptionMapper{}
          .map<CardDeclined>([](const CardDeclined&) {
            return Classification{.category = Category::throttled, .code = "CARD_DECLINED", .retry_after = 40min};
          })
          .map<std::logic_error>([](const std::logic_error&) -> Classification { throw std::runtime_error{"no map"}; });
  return mapper;
}

}  // namespace

TEST_CASE("a task's mapper gives the code of an exception and the delay of its retry") {
  TestDatabase database;
  RunningWorker worker{
      database,
      {registered(work, [](Context&, const nlohmann::json&) { throw CardDeclined{"insufficient funds"}; },
                  {.retry = two_retries, .auto_retry_for = {"CARD_DECLINED"}, .exceptions = card_errors})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.history_of(id) == "1 failed true"; }));
  const test::Rows rows = database.attempts_of(id);
  CHECK(rows.one().text("error_code") == "CARD_DECLINED");
  CHECK(rows.one().text("error_message") == "insufficient funds");
  CHECK(database.value("select retry_after_ms as value from dogged.task_attempts") == "2400000");
  CHECK(database.value("select error_details->>'category' as value from dogged.task_attempts") == "throttled");
}

TEST_CASE("a mapper that throws loses neither the original error nor its own") {
  TestDatabase database;
  const test::Rows rows =
      attempts_of_work(database, [](Context&, const nlohmann::json&) { throw std::out_of_range{"no such row"}; },
                       {.exceptions = card_errors});
  check_failed_for_good(rows.one(), "UNHANDLED_EXCEPTION");
  CHECK(rows.one().text("error_message") == "no such row");
  CHECK(details_of(rows.one()) == nlohmann::json{{"exception", "std::out_of_range"}, {"mapper_error", "no map"}});
}

TEST_CASE("an errno that is thrown is retried where the ready lists say so") {
  TestDatabase database;
  const test::Rows rows =
      attempts_of_work(database,
                       [](Context& context, const nlohmann::json&) {
                         if (context.attempt() == 1)
                           throw std::system_error{ECONNREFUSED, std::generic_category(), "connect"};
                         throw std::system_error{EACCES, std::generic_category(), "open"};
                       },
                       {.retry = two_retries, .auto_retry_for = codes::errno_transient});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].text("error_code") == "CONNECT_REFUSED");
  check_failed_for_good(rows[1], "ERRNO_EACCES");
}

TEST_CASE("a TaskError with a code that is none is UNHANDLED_EXCEPTION, and says both the code and the message") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database, [](Context&, const nlohmann::json&) {
    throw TaskError{"http 503", "the server is busy"};
  });
  check_failed_for_good(rows.one(), "UNHANDLED_EXCEPTION");
  CHECK(contains(rows.one().text("error_message"), "\"http 503\""));
  CHECK(contains(rows.one().text("error_message"), "the server is busy"));
}

TEST_CASE("args of a wrong type are INVALID_ARGS with the JSON pointer, and not retried even with *") {
  TestDatabase database;
  const auto task = registered(deliver, [](Context&, const Delivery&) {},
                               {.retry = two_retries, .auto_retry_for = {"*", "INVALID_ARGS"}});
  const test::Rows rows = attempts_of_one(
      database, task, R"({"subject": "x", "targets": [{"host": "a", "port": 1}, {"host": "b", "port": "high"}]})");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(details_of(rows.one()) == nlohmann::json{{"path", "/targets/1/port"}});
  CHECK(contains(rows.one().text("error_message"), "/targets/1/port"));
  CHECK(contains(rows.one().text("error_message"), "must be number, but is string"));
}

TEST_CASE("args that lack a key are INVALID_ARGS with the JSON pointer of the key") {
  TestDatabase database;
  const auto task = registered(deliver, [](Context&, const Delivery&) {}, {.auto_retry_for = {"*"}});
  const test::Rows rows = attempts_of_one(database, task, R"({"subject": "x", "targets": [{"port": 1}]})");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(details_of(rows.one()) == nlohmann::json{{"path", "/targets/0/host"}});
}

TEST_CASE("args that are no object where one is needed are INVALID_ARGS at the top") {
  TestDatabase database;
  const auto task = registered(deliver, [](Context&, const Delivery&) {}, {.auto_retry_for = {"*"}});
  const test::Rows rows = attempts_of_one(database, task, "[1]");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(details_of(rows.one()) == nlohmann::json{{"path", ""}});
}

TEST_CASE("a number that only SQL can hold is INVALID_ARGS, not a wrong value") {
  TestDatabase database;
  const test::Rows rows =
      attempts_of_one(database, registered(work, [](Context&, const nlohmann::json&) {}), R"({"n": 1e400})");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
}

TEST_CASE("no value of the args stands in what INVALID_ARGS says, not even a number that is too large for a double") {
  TestDatabase database;
  const std::string digits(65'000, '4');
  const test::Rows rows = attempts_of_one(database, registered(deliver, [](Context&, const Delivery&) {}),
                                          R"({"subject": "x", "targets": [{"host": "a", "port": )" + digits + "}]}");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(rows.one().text("error_message").size() < 200);
  CHECK_FALSE(contains(rows.one().text("error_message"), "444"));
  CHECK_FALSE(contains(rows.one().text("error_details"), "444"));
}

TEST_CASE("INVALID_ARGS shows the beginning of a key, however long the key is") {
  TestDatabase database;
  const auto counts =
      registered(Task<std::map<std::string, int>>{"work"}, [](Context&, const std::map<std::string, int>&) {});
  const test::Rows rows = attempts_of_one(database, counts, "{\"" + std::string(20'000, 'k') + "\": \"x\"}");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(contains(rows.one().text("error_message"), "/kkk"));
  CHECK(rows.one().text("error_message").size() < 500);
  CHECK(rows.one().text("error_details").size() < 500);
}

TEST_CASE("INVALID_ARGS says which kind of value was expected where a list or a number stands for an object") {
  TestDatabase database;
  const auto [args, mistake] = GENERATE(table<std::string, std::string>({
      {"[]", "type must be object, but is array"},
      {"7", "type must be object, but is number"},
      {R"({"subject": "x", "targets": [[]]})", "at /targets/0: type must be object, but is array"},
  }));
  const test::Rows rows = attempts_of_one(database, registered(deliver, [](Context&, const Delivery&) {}), args);
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(contains(rows.one().text("error_message"), mistake));
}

TEST_CASE("INVALID_ARGS names no key below what is redacted") {
  TestDatabase database;
  const auto counts =
      registered(Task<std::map<std::string, std::map<std::string, int>>>{"work"},
                 [](Context&, const std::map<std::string, std::map<std::string, int>>&) {}, {.redact = {"/cards"}});
  const test::Rows rows = attempts_of_one(database, counts, R"({"cards": {"4711": "x"}})");
  check_failed_for_good(rows.one(), "INVALID_ARGS");
  CHECK(details_of(rows.one()) == nlohmann::json{{"path", "/cards"}});
  CHECK(contains(rows.one().text("error_message"), "at /cards: type must be number, but is string"));
}

TEST_CASE("a result that JSON cannot carry is INVALID_RESULT with the JSON pointer, and not retried") {
  TestDatabase database;
  const test::Rows rows = attempts_of_answer(database, [](Context&, const nlohmann::json&) {
    return nlohmann::json{{"mean", std::numeric_limits<double>::quiet_NaN()}};
  });
  check_failed_for_good(rows.one(), "INVALID_RESULT");
  CHECK(contains(rows.one().text("error_message"), "/mean is NaN"));
}

TEST_CASE("a result with invalid UTF-8 is INVALID_RESULT") {
  TestDatabase database;
  const test::Rows rows =
      attempts_of_answer(database, [](Context&, const nlohmann::json&) { return nlohmann::json("caf\xE9"); });
  check_failed_for_good(rows.one(), "INVALID_RESULT");
  CHECK(contains(rows.one().text("error_message"), "UTF-8"));
}

TEST_CASE("a result with a NUL is INVALID_RESULT") {
  TestDatabase database;
  const test::Rows rows = attempts_of_answer(database, [](Context&, const nlohmann::json&) {
    return nlohmann::json{{"text", std::string{"a\0b", 3}}};
  });
  check_failed_for_good(rows.one(), "INVALID_RESULT");
  CHECK(contains(rows.one().text("error_message"), "/text contains a NUL"));
}

TEST_CASE("a result over the limit is INVALID_RESULT with its size and the limit, and one at the limit is kept") {
  TestDatabase database;
  database.run("update dogged.settings set max_result_bytes = 100");
  RunningWorker worker{database, {registered(answer, [](Context&, const nlohmann::json& args) {
                         return nlohmann::json(std::string(args.get<std::size_t>(), 'r'));
                       })}};
  Client client = database.client();
  const TaskId fits = client.enqueue(answer, 98);  // and two quotes
  const TaskId too_long = client.enqueue(answer, 99);
  REQUIRE(eventually([&] { return has_ended(database, fits) && has_ended(database, too_long); }));
  CHECK(database.status_of(fits) == "succeeded");
  const test::Rows rows = database.attempts_of(too_long);
  check_failed_for_good(rows.one(), "INVALID_RESULT");
  CHECK(contains(rows.one().text("error_message"), "101 bytes"));
  CHECK(contains(rows.one().text("error_message"), "the limit is 100"));
}

TEST_CASE("an error message of 10 MB is cut, and says that it was") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database, [](Context&, const nlohmann::json&) {
    std::string message = "begin ";
    while (message.size() < 10'000'000) message += "ünïcode ";
    message.resize(10'000'000);
    throw TaskError{"LONG", message};
  });
  const std::string kept = rows.one().text("error_message");
  CHECK(kept.size() <= 65536);
  CHECK(kept.size() > 65000);
  CHECK(kept.starts_with("begin ünï"));
  CHECK(kept.ends_with("[cut: 10000000 bytes in all]"));
}

TEST_CASE("NUL bytes and invalid UTF-8 in an error message are replaced, and the rest is kept") {
  TestDatabase database;
  const std::string message{"caf\xE9 \xED\xA0\x80 before\0after", 21};
  const test::Rows rows = attempts_of_work(database, [&](Context&, const nlohmann::json&) {
    throw TaskError{"ODD", message};
  });
  CHECK(rows.one().text("error_message") == "caf\uFFFD \uFFFD\uFFFD\uFFFD before\uFFFDafter");
}

TEST_CASE("details that cannot be stored are replaced by a note that says where and why") {
  TestDatabase database;
  nlohmann::json deep = 1;
  for (int i = 0; i < 600; ++i) deep = nlohmann::json::array({std::move(deep)});
  const std::vector<std::pair<nlohmann::json, std::string>> cases = {
      {{{"body", std::string{"a\0b", 3}}}, "/body contains a NUL"},
      {deep, "nested more than 500 levels"},
      {{{"ratio", std::nan("")}}, "/ratio is NaN"},
      {std::string(70'000, 'd'), "70002 bytes; the limit is 65536"},
  };
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json& args) {
                         throw TaskError{"ODD", "the error itself"}.details(cases.at(args.get<std::size_t>()).first);
                       })}};
  Client client = database.client();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].second);
    const TaskId id = client.enqueue(work, i);
    REQUIRE(eventually([&] { return has_ended(database, id); }));
    const test::Rows rows = database.attempts_of(id);
    CHECK(rows.one().text("error_message") == "the error itself");
    CHECK(contains(details_of(rows.one()).at("unstorable").get<std::string>(), cases[i].second));
  }
}

TEST_CASE("invalid UTF-8 in details is replaced") {
  TestDatabase database;
  const test::Rows rows = attempts_of_work(database, [](Context&, const nlohmann::json&) {
    throw TaskError{"ODD", "x"}.details({{"body", "caf\xE9"}});
  });
  CHECK(details_of(rows.one()) == nlohmann::json{{"body", "caf\uFFFD"}});
}

TEST_CASE("the timeline view tells each attempt with how long it waited and ran") {
  TestDatabase database;
  attempts_of_work(database,
                   [](Context& context, const nlohmann::json&) {
                     if (context.attempt() < 3) throw TaskError{"AGAIN", "not yet"};
                   },
                   {.retry = two_retries, .auto_retry_for = {"AGAIN"}});
  CHECK(database.value(
            "select string_agg(attempt || ' ' || outcome || ' ' || coalesce(error_code, '-') || ' ' || (worker like "
            "'test worker%'), "
            "', ' order by attempt) as value from dogged.task_timeline where waited >= interval '0' and ran >= "
            "interval '0'") == "1 failed AGAIN true, 2 failed AGAIN true, 3 succeeded - true");
}
