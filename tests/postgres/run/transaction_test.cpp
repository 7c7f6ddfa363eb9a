// The promises of <dogged/transaction.hpp>. A handler's writes and the end of its attempt commit together or not at
// all. An enqueue shares the fate of its caller's transaction.
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>

#include <dogged/middleware.hpp>
#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;
using test::worker_is_asleep;

namespace {

constexpr Task<nlohmann::json, std::string> pay{"pay"};

/// A connection of a handler's own, on which it writes to the table `ledger`.
class LedgerWriter {
 public:
  explicit LedgerWriter(const db::Settings& settings, const std::string& url_options = "")
      : schema_(settings.schema), connection_(settings.url + url_options) {}

  [[nodiscard]] pqxx::connection& connection() { return connection_; }
  void write(pqxx::transaction_base& transaction, const std::string& entry) const {
    transaction.exec("insert into " + schema_ + ".ledger values ('" + entry + "')");
  }

 private:
  std::string schema_;
  pqxx::connection connection_;
};

/// The same with the table, which is a test's own, and what others see of it.
class Ledger : public LedgerWriter {
 public:
  explicit Ledger(TestDatabase& database, const std::string& url_options = "")
      : LedgerWriter(database.settings(), url_options), database_(database) {
    database_.run("create table dogged.ledger (entry text)");
  }

  [[nodiscard]] std::string entries() const {
    return database_.value("select coalesce(string_agg(entry, ' ' order by entry), '') as value from dogged.ledger");
  }

 private:
  TestDatabase& database_;
};

/// The first attempt of a task that a worker took 10 s ago and has run for 2 s, without the worker.
class HeldAttempt final : public Context {
 public:
  explicit HeldAttempt(TestDatabase& database)
      : database_(database), worker_id_(add_worker(database)), id_(database.client().enqueue(work, no_args)) {
    database.run(
        "update dogged.tasks_live set status = 'running', attempt = 1, worker_id = $1::bigint, "
        "claimed_at = clock_timestamp() - interval '10 s' where id = $2::bigint",
        db::Params{}.add(worker_id_).add(id_));
  }

  [[nodiscard]] TaskId task_id() const noexcept override { return id_; }
  [[nodiscard]] int attempt() const noexcept override { return 1; }
  [[nodiscard]] int retry_count() const noexcept override { return 0; }
  [[nodiscard]] std::string_view task_name() const noexcept override { return work.name(); }
  [[nodiscard]] std::string_view queue() const noexcept override { return "default"; }
  [[nodiscard]] std::string_view args_json() const noexcept override { return "{}"; }
  [[nodiscard]] Clock::time_point now() const noexcept override { return Clock::now(); }
  bool wait_for(dogged::milliseconds) override { throw std::logic_error("not part of these tests"); }
  [[nodiscard]] std::string_view trace_context() const noexcept override { return ""; }
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> scheduled_for() const override {
    throw std::logic_error("not part of these tests");
  }
  [[nodiscard]] const std::string& database_url() const noexcept override { return database_url_; }
  [[nodiscard]] Clock::time_point deadline() const noexcept override { return Clock::time_point::max(); }
  [[nodiscard]] std::stop_token stop_token() const noexcept override { return {}; }
  [[nodiscard]] StopReason stop_reason() const noexcept override { return StopReason::none; }
  [[nodiscard]] spdlog::logger& log() const override { throw std::logic_error("not part of these tests"); }
  [[nodiscard]] Completion begin_completion() override {
    return {id_, 1, worker_id_, schema.empty() ? database_.schema() : schema, running_for, max_result_bytes, ""};
  }

  void note_progress(std::optional<double>, std::string_view) override {
    throw std::logic_error("not part of these tests");
  }
  [[nodiscard]] std::optional<std::string> recorded_step(std::string_view) override { return std::nullopt; }
  void record_step(std::string_view, const std::string&, Clock::time_point) override {
    throw std::logic_error("not part of these tests");
  }
  [[nodiscard]] detail::SqlCall step_call(std::string_view name, const std::string& json, Clock::time_point) override {
    return detail::step_call({id_, 1, worker_id_, std::string{name}, json}, database_.schema());
  }
  [[nodiscard]] std::optional<std::string> wait_durably(std::string_view, detail::WaitFor, milliseconds) override {
    throw std::logic_error("not part of these tests");
  }
  [[nodiscard]] std::optional<std::string> last_checkpoint(std::string_view) override {
    throw std::logic_error("not part of these tests");
  }
  void save_checkpoint(std::string_view, const std::string&) override {
    throw std::logic_error("not part of these tests");
  }

  [[nodiscard]] std::int64_t worker_id() const noexcept { return worker_id_; }
  [[nodiscard]] std::string status() const { return database_.status_of(id_); }
  [[nodiscard]] std::string history() const { return database_.history_of(id_); }
  [[nodiscard]] std::string result() const {
    return database_.value("select result::text as value from dogged.tasks where id = $1::bigint",
                           db::Params{}.add(id_));
  }

  std::string schema;  // empty: the test's
  std::chrono::microseconds running_for = 2s;
  std::size_t max_result_bytes = 1048576;

 private:
  TestDatabase& database_;
  const std::string database_url_;  // none of these tests asks for it
  std::int64_t worker_id_;
  TaskId id_;
};

/// The error of completing `attempt` in a transaction that has written before, and that a careless handler then
/// commits. Nothing of the transaction may be there afterwards.
template <class E>
E refused(Ledger& ledger, HeldAttempt& attempt) {
  const std::string before = ledger.entries();
  pqxx::work transaction{ledger.connection()};
  ledger.write(transaction, "refused");
  const E error = error_of<E>([&] { attempt.complete_in(transaction); });
  try {
    transaction.commit();
  } catch (const pqxx::failure&) {
    // Whether libpqxx tells that the server has rolled back depends on its version.
  }
  CHECK(ledger.entries() == before);
  return error;
}

}  // namespace

TEST_CASE("a handler's writes, the tasks that it enqueued and the end of its attempt commit together") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  {
    pqxx::work transaction{ledger.connection()};
    ledger.write(transaction, "paid");
    const TaskId next = enqueue_in(transaction, work, no_args, {}, database.schema());
    attempt.complete_in(transaction, nlohmann::json{{"status", 200}});
    CHECK(attempt.status() == "running");
    CHECK(ledger.entries().empty());
    CHECK(database.status_of(next) == "none");
    transaction.commit();
    CHECK(database.status_of(next) == "pending");
  }
  CHECK(ledger.entries() == "paid");
  CHECK(attempt.status() == "succeeded");
  CHECK(attempt.history() == "1 succeeded false");
  CHECK(attempt.result() == R"({"status": 200})");
}

TEST_CASE(
    "a step_in whose record came after the look for it snoozes, so that the next attempt finds it, and commits "
    "nothing") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};  // it finds no record, whatever there is
  const auto charge = [&] {
    pqxx::work transaction{ledger.connection()};
    attempt.step_in(transaction, "charge", [&] { ledger.write(transaction, "charged"); });
    transaction.commit();
  };
  charge();
  const auto error = error_of<Snooze>(charge);
  CHECK(contains(error.what(), "the step \"charge\" is on record in this attempt already"));
  CHECK(ledger.entries() == "charged");
}

TEST_CASE("a handler's writes, the tasks that it enqueued and the end of its attempt are rolled back together") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  {
    pqxx::work transaction{ledger.connection()};
    ledger.write(transaction, "paid");
    enqueue_in(transaction, work, no_args, {}, database.schema());
    attempt.complete_in(transaction);
  }
  CHECK(ledger.entries().empty());
  CHECK(attempt.status() == "running");
  CHECK(attempt.history().empty());
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("an attempt whose transaction was rolled back may be completed in another one") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  for (const bool commit : {false, true}) {
    pqxx::work transaction{ledger.connection()};
    ledger.write(transaction, "paid");
    attempt.complete_in(transaction);
    if (commit) transaction.commit();
  }
  CHECK(ledger.entries() == "paid");
  CHECK(attempt.history() == "1 succeeded false");
}

TEST_CASE("complete_in keeps what the task had and records when its handler ran") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  database.run(
      "update dogged.tasks_live set priority = 7, retry_count = 2, losses = 1, trace_context = 'trace', "
      "error_code = 'HTTP_503', error_message = 'before', next_retry_at = now(), cancel_requested_at = now()");
  pqxx::work transaction{ledger.connection()};
  const auto begun = transaction.exec("select now()")[0][0].as<std::string>();
  attempt.complete_in(transaction);
  transaction.commit();

  const test::Rows tasks = database.run(
      "select *, finished_at > $1::timestamptz and finished_at <= clock_timestamp() as in_order from dogged.tasks",
      db::Params{}.add(begun));
  const test::Row task = tasks.one();
  CHECK(task.number("priority") == 7);
  CHECK(task.number("retry_count") == 2);
  CHECK(task.number("losses") == 1);
  CHECK(task.number("worker_id") == attempt.worker_id());
  CHECK(task.text("trace_context") == "trace");
  CHECK(task.is_null("error_code"));
  CHECK(task.is_null("next_retry_at"));
  CHECK_FALSE(task.is_null("cancel_requested_at"));
  CHECK(task.boolean("in_order"));
  const test::Rows attempts = database.run(
      "select a.*, a.finished_at = t.finished_at as same_end, a.claimed_at = t.claimed_at as same_claim, "
      "(a.finished_at - a.started_at)::text as ran "
      "from dogged.task_attempts a join dogged.tasks t on t.id = a.task_id");
  const test::Row row = attempts.one();
  CHECK(row.text("trace_context") == "trace");
  CHECK(row.number("worker_id") == attempt.worker_id());
  CHECK(row.text("name") == "work");
  CHECK(row.text("queue") == "default");
  CHECK(row.text("ran") == "00:00:02");
  CHECK(row.boolean("same_end"));
  CHECK(row.boolean("same_claim"));
  CHECK(row.is_null("next_retry_at"));
}

TEST_CASE("a completed attempt does not start before its claim") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  attempt.running_for = 1h;
  pqxx::work transaction{ledger.connection()};
  attempt.complete_in(transaction);
  transaction.commit();
  CHECK(database.value("select started_at = claimed_at as value from dogged.task_attempts") == "t");
}

TEST_CASE("complete_in stores any JSON as the result, and none without one") {
  TestDatabase database;
  Ledger ledger{database};
  const std::vector<std::pair<nlohmann::json, std::string>> results = {
      {nullptr, "null"},
      {42, "42"},
      {"Grüße, 世界 🐕 '\"\\", R"("Grüße, 世界 🐕 '\"\\")"},
      {{1, nlohmann::json::object()}, "[1, {}]"}};
  for (const auto& [result, stored] : results) {
    HeldAttempt attempt{database};
    pqxx::work transaction{ledger.connection()};
    attempt.complete_in(transaction, result);
    transaction.commit();
    CHECK(attempt.result() == stored);
  }
  HeldAttempt attempt{database};
  pqxx::work transaction{ledger.connection()};
  attempt.complete_in(transaction);
  transaction.commit();
  CHECK(database.value("select result is null as value from dogged.tasks where id = $1::bigint",
                       db::Params{}.add(attempt.task_id())) == "t");
}

TEST_CASE("a result that cannot be stored is INVALID_RESULT, and the transaction is as good as before") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  attempt.max_result_bytes = 12;
  pqxx::work transaction{ledger.connection()};
  const auto too_long =
      error_of<TaskError>([&] { attempt.complete_in(transaction, std::string(11, 'x')); });  // and two quotes
  CHECK(too_long.code() == "INVALID_RESULT");
  CHECK(contains(too_long.message(), "13 bytes"));
  CHECK(contains(too_long.message(), "the limit is 12 (max_result_bytes"));
  const auto not_json = error_of<TaskError>([&] {
    attempt.complete_in(transaction, nlohmann::json{{"a", std::numeric_limits<double>::quiet_NaN()}});
  });
  CHECK(not_json.code() == "INVALID_RESULT");
  CHECK(contains(not_json.message(), "the result: /a is NaN"));
  const auto not_utf8 = error_of<TaskError>([&] { attempt.complete_in(transaction, std::string{"caf\xE9"}); });
  CHECK(not_utf8.code() == "INVALID_RESULT");

  attempt.complete_in(transaction, std::string(10, 'x'));
  transaction.commit();
  CHECK(attempt.result() == "\"xxxxxxxxxx\"");
}

TEST_CASE(
    "an attempt that is not held any more is LeaseLost, which names the task's holder, and nothing is committed") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  const std::string holder = std::to_string(attempt.worker_id());
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"update dogged.tasks_live set worker_id = 99", "the task is running as attempt 1 under worker 99"},
      {"update dogged.tasks_live set attempt = 2", "the task is running as attempt 2 under worker 99"},
      {"update dogged.tasks_live set worker_id = " + holder, "the task is running as attempt 2 under worker " + holder},
      {"update dogged.tasks_live set attempt = 1, status = 'pending'", "the task is pending, after attempt 1"},
      {"update dogged.tasks set status = 'cancelled', finished_at = now()",
       "the task has ended as cancelled, in attempt 1"},
      {"update dogged.tasks set status = 'failed'", "the task has ended as failed, in attempt 1"},
      {"update dogged.tasks set status = 'succeeded', attempt = 2", "the task has ended as succeeded, in attempt 2"}};
  for (const auto& [change, found] : changes) {
    INFO(change);
    database.run(change);
    const auto error = refused<LeaseLost>(ledger, attempt);
    CHECK(error.message() == "attempt 1 of task " + std::to_string(attempt.task_id()) + " is not held by worker " +
                                 holder + " any more: " + found);
    CHECK(contains(error.hint(), "roll back"));
    CHECK(attempt.history().empty());
  }
}

TEST_CASE("a task that is in another database, or in none any more, is LeaseLost, which names the database") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  database.run("delete from dogged.tasks_live");
  const auto error = refused<LeaseLost>(ledger, attempt);
  CHECK(contains(error.message(), "there is no such task in " + database.schema() + ".tasks of the database \"" +
                                      database.name() + "\""));
  CHECK(contains(error.hint(), "the database that the worker took the task from"));
}

TEST_CASE("a rescue that is under way when complete_in is called wins once it commits") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  std::thread completing;
  std::atomic<bool> lost{false};
  db::Connection rescuer{database.settings()};
  rescuer.transaction([&] {
    rescuer.run({"rescue", "update dogged.tasks_live set worker_id = 99"});
    completing = std::thread{[&] {
      try {
        pqxx::work transaction{ledger.connection()};
        ledger.write(transaction, "late");
        attempt.complete_in(transaction);
        transaction.commit();
      } catch (const LeaseLost&) {
        lost = true;
      }
    }};
    CHECK(eventually([&] {
      return database.value(
                 "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = "
                 "'Lock' and "
                 "starts_with(query, '/* dogged:complete_in */')) as value") == "t";
    }));
  });
  completing.join();
  CHECK(lost);
  CHECK(ledger.entries().empty());
  CHECK(attempt.history().empty());
}

TEMPLATE_TEST_CASE("an attempt lost since the transaction's snapshot is a serialization failure, and then LeaseLost",
                   "", pqxx::transaction<pqxx::repeatable_read>, pqxx::transaction<pqxx::serializable>) {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  {
    TestType transaction{ledger.connection()};
    ledger.write(transaction, "stale");  // takes the snapshot
    database.run("update dogged.tasks_live set worker_id = 99");
    CHECK_THROWS_AS(attempt.complete_in(transaction), pqxx::serialization_failure);
  }
  TestType transaction{ledger.connection()};
  CHECK_THROWS_AS(attempt.complete_in(transaction), LeaseLost);
  CHECK(ledger.entries().empty());
}

TEMPLATE_TEST_CASE("an attempt is completed in every kind of transaction that commits as a whole", "", pqxx::work,
                   pqxx::transaction<pqxx::repeatable_read>, pqxx::transaction<pqxx::serializable>,
                   pqxx::robusttransaction<>) {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  TestType transaction{ledger.connection()};
  ledger.write(transaction, "paid");
  attempt.complete_in(transaction);
  transaction.commit();
  CHECK(attempt.status() == "succeeded");
  CHECK(ledger.entries() == "paid");
}

TEST_CASE("a read-only transaction completes nothing and says so") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  pqxx::read_transaction transaction{ledger.connection()};
  CHECK(error_of<pqxx::sql_error>([&] { attempt.complete_in(transaction); }).sqlstate() == "25006");
  CHECK(attempt.status() == "running");
}

TEST_CASE("complete_in twice in one transaction is refused, and neither counts") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  {
    pqxx::work transaction{ledger.connection()};
    ledger.write(transaction, "paid");
    attempt.complete_in(transaction);
    const auto error = error_of<InvalidInput>([&] { attempt.complete_in(transaction); });
    CHECK(contains(error.message(), "attempt 1 of task 1 has succeeded already"));
    CHECK(contains(error.hint(), "once"));
  }
  CHECK(ledger.entries().empty());
  CHECK(attempt.status() == "running");
}

TEST_CASE("an attempt that is committed is not completed again, so that a handler may try again after a lost answer") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  {
    pqxx::work transaction{ledger.connection()};
    ledger.write(transaction, "paid");
    attempt.complete_in(transaction);
    transaction.commit();
  }
  CHECK(contains(refused<InvalidInput>(ledger, attempt).message(), "has succeeded already"));
  CHECK(ledger.entries() == "paid");
  CHECK(attempt.history() == "1 succeeded false");
}

TEST_CASE("a transaction on a database without the queue is a SchemaMismatch that says what to do") {
  TestDatabase database;
  TestDatabase empty{TestDatabase::Migrated::no};
  Ledger ledger{database};
  HeldAttempt attempt{database};
  const auto check_says = [&](const SchemaMismatch& error) {
    CHECK(contains(error.message(), "no dogged schema that fits: "));
    CHECK(contains(error.message(), empty.schema()));
    CHECK(contains(error.hint(), "dogged migrate"));
  };
  attempt.schema = empty.schema();
  check_says(refused<SchemaMismatch>(ledger, attempt));
  {
    pqxx::work transaction{ledger.connection()};
    check_says(error_of<SchemaMismatch>([&] { enqueue_in(transaction, work, no_args, {}, empty.schema()); }));
  }
  database.run("create schema " + empty.schema());  // there, and without our functions
  check_says(refused<SchemaMismatch>(ledger, attempt));
  CHECK(attempt.status() == "running");
}

TEST_CASE("a connection that does not speak UTF-8 is refused before it can garble anything") {
  TestDatabase database;
  Ledger ledger{database, "&client_encoding=LATIN1"};
  HeldAttempt attempt{database};
  pqxx::work transaction{ledger.connection()};
  const auto error = error_of<InvalidInput>([&] { attempt.complete_in(transaction); });
  CHECK(contains(error.message(), "client_encoding is LATIN1"));
  CHECK(contains(error.hint(), "client_encoding=UTF8"));
  CHECK_THROWS_AS(enqueue_in(transaction, work, no_args, {}, database.schema()), InvalidInput);
  CHECK_NOTHROW(transaction.commit());
}

TEST_CASE("the rights that docs/transactions.md names are enough for a role, and needed") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  const std::string role = "role_of_" + database.name();
  database.run("create role " + role);
  {
    pqxx::work transaction{ledger.connection()};
    transaction.exec("set local role " + role);
    CHECK_THROWS_AS(attempt.complete_in(transaction), pqxx::insufficient_privilege);
  }
  database.run("grant dogged_test_producer to " + role);
  {
    pqxx::work transaction{ledger.connection()};
    transaction.exec("set local role " + role);
    enqueue_in(transaction, work, no_args, {}, database.schema());
    CHECK_THROWS_AS(attempt.complete_in(transaction), pqxx::insufficient_privilege);
  }
  database.run("grant dogged_test_worker to " + role);
  {
    pqxx::work transaction{ledger.connection()};
    transaction.exec("set local role " + role);
    enqueue_in(transaction, work, no_args, {}, database.schema());
    attempt.complete_in(transaction);
    CHECK_THROWS_AS(attempt.complete_in(transaction), InvalidInput);
  }
  database.run("drop owned by " + role);
  database.run("drop role " + role);
}

TEST_CASE("enqueue_in shares the fate of its transaction, also of a part of one") {
  TestDatabase database;
  Ledger ledger{database};
  {
    pqxx::work transaction{ledger.connection()};
    enqueue_in(transaction, work, {{"n", 1}}, {}, database.schema());
  }
  CHECK(database.count_tasks() == 0);
  pqxx::work transaction{ledger.connection()};
  enqueue_in(transaction, work, {{"n", 2}}, {}, database.schema());
  for (const bool keep : {false, true}) {
    pqxx::subtransaction part{transaction};
    enqueue_in(part, work, {{"n", keep ? 3 : 4}}, {}, database.schema());
    if (keep) part.commit();
  }
  CHECK(database.count_tasks() == 0);
  transaction.commit();
  CHECK(database.value("select string_agg(args->>'n', ' ' order by id) as value from dogged.tasks") == "2 3");
}

TEST_CASE("a transaction with an open pipeline is refused before the database is asked") {
  TestDatabase database;
  Ledger ledger{database};
  HeldAttempt attempt{database};
  pqxx::work transaction{ledger.connection()};
  ledger.write(transaction, "paid");
  {
    pqxx::pipeline pipeline{transaction};
    const auto query = pipeline.insert("select 7");
    pipeline.resume();
    CHECK_THROWS_AS(attempt.complete_in(transaction), pqxx::usage_error);
    CHECK_THROWS_AS(enqueue_in(transaction, work, no_args, {}, database.schema()), pqxx::usage_error);
    CHECK(pipeline.retrieve(query)[0][0].as<int>() == 7);
  }
  attempt.complete_in(transaction);
  transaction.commit();
  CHECK(ledger.entries() == "paid");
  CHECK(attempt.status() == "succeeded");
}

TEST_CASE("enqueue_in in a nontransaction commits at once") {
  TestDatabase database;
  Ledger ledger{database};
  pqxx::nontransaction transaction{ledger.connection()};
  enqueue_in(transaction, work, no_args, {}, database.schema());
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("enqueue_in writes the row that Client::enqueue writes") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  Ledger ledger{database};
  const nlohmann::json args = {{"text", "Grüße, 世界 🐕 '\"\\ {a,b} NULL"}, {"none", nullptr}};
  const EnqueueOptions options{
      .queue = "mail", .run_at = std::chrono::system_clock::now() + 1h, .priority = -5, .trace_context = "00-ab-cd-01"};
  database.client().enqueue(work, args, options);
  pqxx::work transaction{ledger.connection()};
  const TaskId id = enqueue_in(transaction, work, args, options, database.schema());
  transaction.commit();
  CHECK(id == 2);
  CHECK(database.value("select count(distinct (to_jsonb(t) - 'id' - 'enqueued_at')) as value from dogged.tasks t") ==
        "1");
  CHECK(database.value("select args::text = $1::jsonb::text as value from dogged.tasks where id = 2",
                       db::Params{}.add(args.dump())) == "t");
}

TEST_CASE("enqueue_many_in gives the ids in the order of the args, and asks nothing for none") {
  TestDatabase database;
  Ledger ledger{database};
  std::vector<nlohmann::json> args;
  for (int i = 0; i < 1000; ++i) args.push_back({{"n", i}});
  pqxx::work transaction{ledger.connection()};
  const std::vector<TaskId> ids = enqueue_many_in(transaction, work, args, {.delay = 1h}, database.schema());
  CHECK(enqueue_many_in(transaction, work, std::vector<nlohmann::json>{}, {}, "test_nowhere").empty());
  transaction.commit();
  REQUIRE(ids.size() == 1000);
  CHECK(database.value("select count(*) as value from unnest($1::bigint[]) with ordinality as given (id, position) "
                       "join dogged.tasks t using (id) where (t.args->>'n')::int = position - 1 and t.deferred",
                       db::Params{}.add(ids)) == "1000");
}

TEST_CASE("enqueue_in refuses what Client::enqueue refuses, in the same words") {
  TestDatabase database;
  Ledger ledger{database};
  Client client = database.client();
  const std::string with_nul{"a\0b", 3};
  const std::vector<NewTask> mistakes = {
      {"", "{}", {}},
      {"send mail", "{}", {}},
      {with_nul, "{}", {}},
      {"caf\xE9", "{}", {}},
      {"work", "{\"to\": }", {}},
      {"work", R"({"to": "b\u0000c"})", {}},
      {"work", "{\"to\": \"caf\xE9\"}", {}},
      {"work", "\"" + std::string(1'048'575, 'x') + "\"", {}},
      {"work", std::string(200'000, '['), {}},
      {"work", "{}", {.queue = "mial"}},
      {"work", "{}", {.run_at = std::chrono::system_clock::time_point::max()}},
      {"work", "{}", {.delay = -1ms}},
      {"work", "{}", {.run_at = std::chrono::system_clock::now(), .delay = 1s}},
      {"work", "{}", {.priority = 32768}},
      {"work", "{}", {.trace_context = std::string(513, 't')}},
  };
  for (const NewTask& mistake : mistakes) {
    const std::vector<NewTask> tasks = {NewTask{"good", "{}", {}}, mistake};
    pqxx::work transaction{ledger.connection()};
    const auto error = error_of<InvalidInput>([&] { enqueue_many_in(transaction, tasks, database.schema()); });
    const auto error_of_client = error_of<InvalidInput>([&] { client.enqueue_many(tasks); });
    CHECK(error.message() == error_of_client.message());
    CHECK(error.hint() == error_of_client.hint());
  }
  const nlohmann::json args = {{"n", std::numeric_limits<double>::infinity()}};
  pqxx::work transaction{ledger.connection()};
  CHECK(error_of<InvalidInput>([&] { enqueue_in(transaction, work, args, {}, database.schema()); }).message() ==
        error_of<InvalidInput>([&] { client.enqueue(work, args); }).message());
  CHECK(contains(error_of<InvalidInput>([&] { enqueue_in(transaction, work, no_args, {}, "no such; schema"); }).what(),
                 "the schema name \"no such; schema\""));
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("after a task was refused the caller's transaction commits nothing, even if the caller goes on") {
  TestDatabase database;
  Ledger ledger{database};
  {
    pqxx::work transaction{ledger.connection()};
    ledger.write(transaction, "order");
    CHECK_THROWS_AS(enqueue_in(transaction, work, no_args, {.queue = "mial"}, database.schema()), InvalidInput);
    try {
      transaction.commit();
    } catch (const pqxx::failure&) {
      // Whether libpqxx tells that the server has rolled back depends on its version.
    }
  }
  CHECK(ledger.entries().empty());
  pqxx::work transaction{ledger.connection()};  // the connection is as good as before
  enqueue_in(transaction, work, no_args, {}, database.schema());
  transaction.commit();
  CHECK(database.count_tasks() == 1);
}

// ---- with a worker -------------------------------------------------------------------------------------------------

namespace {

/// Handles `pay` by `handle(context, own)`, each time with a connection of its own.
template <class Handle>
detail::RegisteredTask pays(TestDatabase& database, Handle handle, const TaskOptions& options = {}) {
  return registered(
      pay,
      [settings = database.settings(), handle](Context& context, const nlohmann::json&) -> std::string {
        LedgerWriter own{settings};
        return handle(context, own);
      },
      options);
}

/// The code of the first attempt of a task.
std::string first_code(TestDatabase& database, TaskId id) {
  return database.value(
      "select error_code as value from dogged.task_attempts where task_id = $1::bigint and attempt = 1",
      db::Params{}.add(id));
}

constexpr TaskOptions retried_at_once{.retry = Fixed{.intervals = {1ms}, .jitter = Jitter::none()},
                                      .auto_retry_for = {"*"}};

}  // namespace

TEST_CASE("a handler that completes in its transaction has succeeded with the result that it gave there") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database, {pays(database, [](Context& context, LedgerWriter& own) {
                         pqxx::work transaction{own.connection()};
                         own.write(transaction, "paid");
                         context.complete_in(transaction, std::string{"in the transaction"});
                         transaction.commit();
                         return "afterwards";
                       })}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  worker.stop();
  CHECK(ledger.entries() == "paid");
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(database.value("select result::text as value from dogged.tasks") == "\"in the transaction\"");
  CHECK(database.value("select worker_id as value from dogged.task_attempts") == std::to_string(worker.id()));
  CHECK(database.value("select sum(fenced) as value from dogged.workers") == "0");
}

TEST_CASE("the transaction of a handler that was given up counts once it commits, and no report is taken for fenced",
          "[own_process]") {
  TestDatabase database;
  Ledger ledger{database};
  Gate gate;
  // The report of the timeout finds the task's row locked by the transaction, until the transaction commits.
  const auto commits_late = pays(database,
                                 [&](Context& context, LedgerWriter& own) {
                                   pqxx::work transaction{own.connection()};
                                   own.write(transaction, "paid");
                                   context.complete_in(transaction);
                                   gate.wait();
                                   transaction.commit();
                                   return "";
                                 },
                                 {.timeout = 1s});
  Client client = database.client();
  const TaskId id = client.enqueue(pay, no_args);
  RunningWorker worker{database,
                       {commits_late, registered(work, [](Context&, const nlohmann::json&) {})},
                       {.heartbeat = 20ms, .lease = 5s, .stop_grace = 20ms}};
  const auto abandoned = [&] { return database.value("select abandoned_threads as value from dogged.workers"); };
  REQUIRE(eventually([&] { return abandoned() == "1"; }));
  gate.open();
  REQUIRE(eventually([&] { return abandoned() == "0"; }));

  // A later report is on record, and a heartbeat after that has told how many were fenced.
  const TaskId next = client.enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(next) == "succeeded"; }));
  const std::string later = database.value("select clock_timestamp() + interval '100 ms' as value");
  REQUIRE(eventually([&] {
    return database.value("select heartbeat_at > $1::timestamptz as value from dogged.workers",
                          db::Params{}.add(later)) == "t";
  }));
  CHECK(database.value("select fenced as value from dogged.workers") == "0");
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(ledger.entries() == "paid");
}

TEST_CASE("a handler connects to the queue's database by the URL of its context") {
  TestDatabase database;
  RunningWorker worker{database, {registered(pay, [](Context& context, const nlohmann::json&) -> std::string {
                         pqxx::connection own{context.database_url()};
                         pqxx::work transaction{own};
                         context.complete_in(transaction, std::string{"in its own transaction"});
                         transaction.commit();
                         return "";
                       })}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.value("select result::text as value from dogged.tasks") == "\"in its own transaction\"");
}

TEST_CASE("a handler that throws after complete_in and before the commit has failed, and its writes are not there") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database,
                       {pays(
                           database,
                           [](Context& context, LedgerWriter& own) {
                             pqxx::work transaction{own.connection()};
                             own.write(transaction, "attempt" + std::to_string(context.attempt()));
                             context.complete_in(transaction, std::string{"done"});
                             if (context.attempt() == 1) throw TaskError{"TOO_LATE", "changed its mind"};
                             transaction.commit();
                             return "";
                           },
                           retried_at_once)}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 failed true, 2 succeeded false");
  CHECK(first_code(database, id) == "TOO_LATE");
  CHECK(ledger.entries() == "attempt2");
}

TEST_CASE("a handler that calls complete_in and returns without a commit has failed with NOT_COMMITTED") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database, {pays(database, [](Context& context, LedgerWriter& own) {
                         pqxx::work transaction{own.connection()};
                         own.write(transaction, "paid");
                         context.complete_in(transaction, std::string{"done"});
                         return "done";
                       })}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 failed false");
  CHECK(first_code(database, id) == "NOT_COMMITTED");
  CHECK(ledger.entries().empty());
}

TEST_CASE(
    "a handler that must complete in its transaction and forgets it has failed, and one that does has succeeded") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database,
                       {pays(database,
                             [](Context& context, LedgerWriter& own) {
                               pqxx::work transaction{own.connection()};
                               own.write(transaction, "attempt" + std::to_string(context.attempt()));
                               if (context.attempt() == 1) return "forgot it";
                               context.complete_in(transaction, std::string{"done"});
                               transaction.commit();
                               return "done";
                             },
                             {.retry = Fixed{.intervals = {1ms}, .jitter = Jitter::none()},
                              .auto_retry_for = {"NOT_COMMITTED"},
                              .completes_in_transaction = true})}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 failed true, 2 succeeded false");
  CHECK(first_code(database, id) == "NOT_COMMITTED");
  CHECK(ledger.entries() == "attempt2");
}

TEST_CASE(
    "a handler that lets libpqxx's exceptions out fails with PostgreSQL's codes, and is retried for those listed") {
  TestDatabase database;
  Ledger ledger{database};
  std::atomic<int> tries{0};
  const std::string schema = database.schema();
  // One after the other, each as libpqxx itself throws it.
  const auto fail = [schema](int attempt, LedgerWriter& own) {
    pqxx::work transaction{own.connection()};
    if (attempt == 1) transaction.exec("do $$ begin raise exception using errcode = 'deadlock_detected'; end $$");
    if (attempt == 2) transaction.exec("do $$ begin raise exception using errcode = 'serialization_failure'; end $$");
    if (attempt == 3) transaction.exec("do $$ begin raise exception using errcode = 'too_many_connections'; end $$");
    if (attempt == 4) transaction.exec("select pg_terminate_backend(pg_backend_pid())");
    if (attempt == 5) throw pqxx::in_doubt_error{"the answer to COMMIT was lost"};
    transaction.exec("insert into " + schema + ".queues (name) values ('default')");
  };
  RunningWorker worker{
      database,
      {pays(database,
            [&](Context& context, LedgerWriter& own) {
              fail(context.attempt(), own);
              ++tries;
              return "";
            },
            {.retry = Fixed{.interval = 1ms, .max_retries = 10, .jitter = Jitter::none()},
             .auto_retry_for = {"PG_40P01", "PG_40001", "PG_53300", "PG_08006", "PG_57P01", "PG_08007"}})}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  const std::string codes = database.value(
      "select string_agg(error_code, ' ' order by attempt) as value from dogged.task_attempts where task_id = "
      "$1::bigint",
      db::Params{}.add(id));
  CHECK(contains(codes, "PG_40P01 PG_40001 PG_53300 PG_"));
  CHECK(contains(codes, " PG_08007 PG_23505"));
  CHECK_FALSE(contains(codes, "UNHANDLED_EXCEPTION"));
  CHECK(tries == 0);
}

TEST_CASE("a handler that throws after the commit has succeeded all the same") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database,
                       {pays(
                           database,
                           [](Context& context, LedgerWriter& own) -> std::string {
                             pqxx::work transaction{own.connection()};
                             own.write(transaction, "paid");
                             context.complete_in(transaction, std::string{"done"});
                             transaction.commit();
                             throw TaskError{"TOO_LATE", "after the commit"};
                           },
                           retried_at_once)}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  worker.stop();
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(ledger.entries() == "paid");
}

TEST_CASE("a handler whose task was given to another worker gets LeaseLost, and its writes are not there") {
  TestDatabase database;
  Ledger ledger{database};
  Gate gate;
  std::atomic<bool> lost{false};
  RunningWorker worker{database, {pays(database, [&](Context& context, LedgerWriter& own) {
                         gate.wait();
                         pqxx::work transaction{own.connection()};
                         own.write(transaction, "paid");
                         try {
                           context.complete_in(transaction, std::string{"done"});
                         } catch (const LeaseLost&) {
                           lost = true;
                           throw;
                         }
                         transaction.commit();
                         return "";
                       })}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  const std::int64_t other = add_worker(database);
  database.run("update dogged.tasks_live set worker_id = $1::bigint", db::Params{}.add(other));
  gate.open();
  REQUIRE(eventually([&] { return lost.load(); }));
  worker.stop();
  CHECK(ledger.entries().empty());
  CHECK(database.status_of(id) == "running");
  CHECK(database.history_of(id).empty());
  CHECK(database.value("select worker_id as value from dogged.tasks_live") == std::to_string(other));
}

TEST_CASE(
    "a handler whose connection breaks between complete_in and the commit has failed, and its writes are not there") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database,
                       {pays(
                           database,
                           [&](Context& context, LedgerWriter& own) {
                             pqxx::work transaction{own.connection()};
                             own.write(transaction, "attempt" + std::to_string(context.attempt()));
                             context.complete_in(transaction, std::string{"done"});
                             if (context.attempt() == 1) {
                               db::Connection{database.settings()}.run(
                                   {"break", "select pg_terminate_backend($1::int)"},
                                   db::Params{}.add(own.connection().backendpid()));
                             }
                             transaction.commit();
                             return "";
                           },
                           retried_at_once)}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 failed true, 2 succeeded false");
  CHECK(ledger.entries() == "attempt2");
}

TEST_CASE("a handler that completes in time although its cancellation was requested has succeeded") {
  TestDatabase database;
  Ledger ledger{database};
  Gate gate;
  RunningWorker worker{database, {pays(database, [&](Context& context, LedgerWriter& own) {
                         gate.wait();
                         pqxx::work transaction{own.connection()};
                         own.write(transaction, "paid");
                         context.complete_in(transaction, std::string{"done"});
                         transaction.commit();
                         return "";
                       })}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  CHECK(database.value("select dogged.cancel($1::bigint) as value", db::Params{}.add(id)) == "requested");
  gate.open();
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(ledger.entries() == "paid");
}

TEST_CASE("however handlers end, each task has one effect once it has succeeded") {
  TestDatabase database;
  Ledger ledger{database};
  RunningWorker worker{database,
                       {pays(
                           database,
                           [](Context& context, LedgerWriter& own) {
                             const auto way_to_end = context.task_id() % 4;
                             pqxx::work transaction{own.connection()};
                             own.write(transaction, std::to_string(context.task_id()));
                             if (context.attempt() == 1 && way_to_end == 1)
                               throw TaskError{"EARLY", "before complete_in"};
                             context.complete_in(transaction, std::to_string(context.attempt()));
                             if (context.attempt() == 1 && way_to_end == 2)
                               throw TaskError{"LATE", "after complete_in"};
                             if (context.attempt() == 1 && way_to_end == 3) return "not committed";
                             transaction.commit();
                             throw TaskError{"TOO_LATE", "after the commit"};
                           },
                           retried_at_once)}};
  const std::vector<TaskId> ids = database.client().enqueue_many(pay, std::vector<nlohmann::json>(100, no_args));
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "100";
  }));
  CHECK(database.value("select count(*) || ' ' || count(distinct entry) as value from dogged.ledger") == "100 100");
  CHECK(database.value("select count(*) as value from dogged.task_attempts where outcome = 'succeeded'") == "100");
  CHECK(database.value("select count(*) as value from dogged.task_attempts where outcome = 'failed'") == "75");
  CHECK(database.value("select count(*) as value from dogged.tasks where result #>> '{}' = attempt::text") == "100");
}

TEST_CASE("the commit of a transaction that enqueued wakes a sleeping worker, and not before") {
  TestDatabase database;
  Ledger ledger{database};
  std::atomic<int> runs{0};
  RunningWorker worker{
      database, {registered(work, [&](Context&, const nlohmann::json&) { ++runs; })}, {.poll_interval = 10min}};
  REQUIRE(worker_is_asleep(database, worker.id()));
  pqxx::work transaction{ledger.connection()};
  const TaskId id = enqueue_in(transaction, work, no_args, {}, database.schema());
  const TaskId other = database.client().enqueue(work, no_args);  // wakes it, and is all that it finds
  REQUIRE(eventually([&] { return database.status_of(other) == "succeeded"; }));
  REQUIRE(worker_is_asleep(database, worker.id()));
  CHECK(runs == 1);
  transaction.commit();
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

namespace {

/// Each attempt has a transaction on the queue's database, which a middleware commits with the attempt's end.
struct InTransaction {
  std::optional<pqxx::connection> connection;
  std::optional<pqxx::work> transaction;
};
class Transactions final : public Middleware {
 public:
  void before(Context& context) override {
    auto& [connection, transaction] = context.local<InTransaction>();
    connection.emplace(context.database_url());
    transaction.emplace(*connection);
  }
  void after(Context& context) override {
    auto& transaction = *context.local<InTransaction>().transaction;
    context.complete_in(transaction);
    transaction.commit();
  }
};
const Middlewares& in_transactions() {
  static const Middlewares all{std::make_shared<Transactions>()};
  return all;
}

}  // namespace

TEST_CASE("a middleware that completes attempts in a transaction stores the result that the handler has returned") {
  TestDatabase database;
  const Ledger ledger{database};
  database.run("grant insert on dogged.ledger to public");  // the middleware has the worker's login
  RunningWorker worker{database,
                       {registered(pay,
                                   [&](Context& context, const nlohmann::json&) {
                                     ledger.write(*context.local<InTransaction>().transaction, "paid");
                                     return std::string{"receipt 7"};
                                   },
                                   {.middleware = in_transactions})}};
  const TaskId id = database.client().enqueue(pay, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(ledger.entries() == "paid");
  CHECK(database.value("select result::text as value from dogged.tasks") == R"("receipt 7")");
}
