// The rights of each role (schema/rights.sql): the role works with these alone, and everything else is refused.
// Every test with a worker shows that workers need no more than their role: RunningWorker has that role.
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <spdlog/spdlog.h>

#include <dogged/client.hpp>

#include "migrate/migrate.hpp"
#include "runtime/worker.hpp"
#include "sql/client.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::Gate;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

void define_a_b(TestDatabase& database) {
  database.run(
      "insert into dogged.task_definitions (name, queue, retry_policy, auto_retry_for, retry_lost, dead_letter, "
      "max_losses, version) values ('a.b', 'default', '{}', '{}', true, true, 3, '1')");
}

constexpr Task<nlohmann::json> charge{"card.charge"};
constexpr Task<nlohmann::json> settle{"card.settle"};
constexpr Task<nlohmann::json, nlohmann::json> log_in{"log.in"};

const std::vector<std::string> all_roles{"producer", "worker", "viewer", "operator"};

test::Rows run(db::Connection& connection, const std::string& sql) { return connection.run({sql, sql}); }

/// The only column `value` of the only row, as this role sees it.
std::string value_as(TestDatabase& database, const std::string& role, const std::string& sql) {
  db::Connection connection{database.settings_of(role)};
  return run(connection, sql).one().maybe_text("value").value_or("null");
}

/// The SQLSTATE with which a statement is refused to this role; "" if it is not.
std::string refusal_of(TestDatabase& database, const std::string& role, const std::string& sql) {
  db::Connection connection{database.settings_of(role)};
  try {
    run(connection, sql);
    return "";
  } catch (const DatabaseError& error) {
    return error.sqlstate();
  }
}

const std::string denied = "42501";

void wait_for_stop_token(Context& context) {
  Gate gate;
  const std::stop_callback open{context.stop_token(), [&] { gate.open(); }};
  gate.wait();
}

/// Roles of a test's own, which are no more when it ends.
class OwnRoles {
 public:
  OwnRoles(TestDatabase& database, std::string prefix) : database_(database), prefix_(std::move(prefix)) {}
  ~OwnRoles() {
    for (const std::string& role : all_roles) run("drop owned by " + name(role));
    for (const std::string& role : all_roles) run("drop role " + name(role));
  }
  OwnRoles(const OwnRoles&) = delete;
  OwnRoles& operator=(const OwnRoles&) = delete;

  [[nodiscard]] std::string name(const std::string& role) const { return prefix_ + "_" + role; }

 private:
  void run(const std::string& sql) {
    try {
      database_.run(sql);
    } catch (const Error&) {  // it was not made
    }
  }

  TestDatabase& database_;
  std::string prefix_;
};

}  // namespace

// ---- each role ------------------------------------------------------------------------------------------------------

TEST_CASE("a producer enqueues through a client, one and many, in every way that the client has") {
  TestDatabase database;
  const db::Settings producer = database.settings_of("producer");
  Client client{producer.url, {.schema = producer.schema}};
  const TaskId one = client.enqueue({.name = "a.b", .args_json = "{}", .options = {.delay = 1h, .priority = 3}});
  const auto many = client.enqueue_many({{.name = "a.b", .args_json = "1"}, {.name = "a.c", .args_json = "2"}});

  CHECK(database.status_of(one) == "pending");
  CHECK(database.count_tasks() == 3);
  CHECK(many.size() == 2);
}

TEST_CASE("a producer asks what became of a call whose answer was lost, and its tasks are there once") {
  TestDatabase database;
  const std::string producer = "11111111-1111-4111-8111-111111111111";
  db::Connection connection{database.settings_of("producer")};
  const auto enqueue = [&] {
    sql::Enqueue call{};
    call.name = "a.b";
    call.args = "{}";
    call.producer = producer;
    call.call = 7;
    return db::one(connection.run(std::move(call))).first;
  };
  const std::int64_t id = enqueue();

  connection.run(sql::ReserveProducer{.producer = producer});
  CHECK(db::one(connection.run(sql::CallMade{.producer = producer, .call = 7})).first == id);
  CHECK(connection.run(sql::CallMade{.producer = producer, .call = 8}).empty());
  CHECK(contains(error_of<InvalidInput>(enqueue).message(), "was made before"));
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("a producer is told what is wrong with its task") {
  TestDatabase database;
  const db::Settings producer = database.settings_of("producer");
  Client client{producer.url, {.schema = producer.schema}};
  const auto error =
      error_of<InvalidInput>([&] { (void)client.enqueue({.name = "a.b", .options = {.queue = "nowhere"}}); });
  CHECK(contains(error.message(), "the queue \"nowhere\" does not exist"));
}

TEST_CASE("an error names queues only to roles that may read them") {
  TestDatabase database;
  database.run("select dogged.create_queue('mergers')");
  const auto hint_to = [&](const std::string& role) {
    db::Connection connection{database.settings_of(role)};
    return error_of<InvalidInput>([&] { run(connection, "select dogged.enqueue('a.b', queue => 'nowhere')"); }).hint();
  };
  CHECK_FALSE(contains(hint_to("producer"), "mergers"));
  CHECK(contains(hint_to("worker"), "There are: default, mergers."));
}

TEST_CASE("a worker whose login has another role is told which one it lacks") {
  TestDatabase database;
  const runtime::WakeFd stop;
  const auto definitions = runtime::make_definitions({registered(charge, [](Context&, const nlohmann::json&) {})});
  const auto error = error_of<DatabaseError>([&] {
    const runtime::Worker worker{{.database = database.settings_of("viewer"), .name = "w"},
                                 definitions,
                                 std::make_shared<spdlog::logger>("quiet"),
                                 stop};
  });
  CHECK(contains(error.message(), "permission denied"));
  CHECK(contains(error.hint(), "lacks the role"));
  CHECK(contains(error.hint(), "_worker, which may do this"));
}

TEST_CASE("a producer can do nothing but enqueue") {
  TestDatabase database;
  const std::string sql = GENERATE(
      as<std::string>{}, "select id from dogged.tasks", "select count(*) from dogged.tasks_live",
      "select * from dogged.redacted_tasks", "select * from dogged.dead_letters", "select * from dogged.task_attempts",
      "select * from dogged.workers", "select * from dogged.queues", "select * from dogged.producer_calls",
      "select * from dogged.task_definitions",
      "insert into dogged.tasks_live (queue, name, args) values ('default', 'a.b', '{}')", "delete from dogged.tasks",
      "update dogged.settings set max_args_bytes = 1", "insert into dogged.queues (name) values ('new')",
      "select dogged.create_queue('new')", "select nextval('dogged.tasks_id_seq')", "select dogged.cancel(1)",
      "select dogged.make_partitions()", "select dogged.record_audit('cancel')", "select dogged.make_roles()");
  CHECK(refusal_of(database, "producer", sql) == denied);
}

TEST_CASE("a worker with its role alone runs, retries, fails, times out, rescues, promotes and stops") {
  TestDatabase database;
  const db::Settings producer = database.settings_of("producer");
  Client client{producer.url, {.schema = producer.schema}};
  const auto enqueue = [&](const std::string& kind, EnqueueOptions options = {}) {
    return client.enqueue(charge, nlohmann::json{{"kind", kind}}, std::move(options));
  };
  const TaskId lost = enqueue("succeed");
  database.claim_all_for(test::add_worker(database, "-1 second"));
  const TaskId waits = enqueue("succeed", {.delay = 30ms});
  const TaskId retries = enqueue("retry");
  const TaskId fails = enqueue("fail");
  const TaskId times_out = client.enqueue(settle, nlohmann::json{});
  const TaskId is_cancelled = enqueue("wait for the stop token");

  const auto handle = [](Context& context, const nlohmann::json& args) {
    const std::string kind = args.at("kind");
    if (kind == "succeed" || (kind == "retry" && context.attempt() > 1)) return;
    if (kind == "wait for the stop token") wait_for_stop_token(context);
    throw TaskError{kind == "retry" ? "BUSY" : "BROKEN", "it did not work"};
  };
  const auto wait = [](Context& context, const nlohmann::json&) {
    wait_for_stop_token(context);
    throw TaskError{"BROKEN", "it took too long"};
  };
  RunningWorker worker{database,
                       {registered(charge, handle,
                                   {.retry = Fixed{.interval = 1ms, .max_retries = 3, .jitter = Jitter::none()},
                                    .auto_retry_for = {"BUSY"},
                                    .circuit = "payments-api"}),
                        registered(settle, wait, {.timeout = 50ms})}};

  REQUIRE(eventually([&] { return database.status_of(is_cancelled) == "running"; }));
  CHECK(value_as(database, "operator", "select dogged.cancel(" + std::to_string(is_cancelled) + ") as value") ==
        "requested");
  CHECK(eventually([&] { return database.status_of(is_cancelled) == "cancelled"; }));
  CHECK(eventually([&] { return database.history_of(lost) == "1 lost true, 2 succeeded false"; }));
  CHECK(eventually([&] { return database.status_of(waits) == "succeeded"; }));
  CHECK(eventually([&] { return database.history_of(retries) == "1 failed true, 2 succeeded false"; }));
  CHECK(eventually([&] { return database.status_of(fails) == "failed"; }));
  CHECK(eventually([&] { return database.history_of(times_out) == "1 timed_out false"; }));
  CHECK(database.value("select count(*) as value from dogged.circuits") == "1");

  (void)worker.stop();
  CHECK(database.value("select stopped_at is not null as value from dogged.workers where id = " +
                       std::to_string(worker.id())) == "t");
}

TEST_CASE("the workers of these tests have the rights of the worker role, and no other") {
  TestDatabase database;
  CHECK(value_as(database, "worker", "select current_user as value") == "dogged_test_worker");
  CHECK(value_as(database, "worker",
                 "select rolsuper or rolcreaterole as value from pg_roles where rolname = current_user") == "f");
  const std::string sql =
      GENERATE(as<std::string>{}, "select * from dogged.audit", "select dogged.record_audit('x')",
               "delete from dogged.workers", "update dogged.settings set max_args_bytes = 1",
               "delete from dogged.tasks_failed", "drop table dogged.tasks_live", "create table dogged.own (id int)",
               "select dogged.make_partition('tasks_done', '2020-01-01')");
  CHECK(refusal_of(database, "worker", sql) == denied);
}

TEST_CASE("a worker's login puts no task into a queue past enqueue, and changes nothing that a producer has said") {
  TestDatabase database;
  const std::string sql = GENERATE(
      as<std::string>{}, "insert into dogged.tasks (queue, name, args) values ('default', 'a.b', '{}')",
      "insert into dogged.tasks (id, status, queue, name, args) values (1, 'running', 'default', 'a.b', '{}')",
      "insert into dogged.tasks_live (queue, name, args) values ('default', 'a.b', '{}')",
      "update dogged.tasks_live set id = 1", "update dogged.tasks_live set args = '{}'",
      "update dogged.tasks_live set queue = 'x'", "update dogged.tasks_live set name = 'x'",
      "update dogged.tasks_live set tags = '{x}'", "update dogged.tasks_live set expires_at = now()",
      "update dogged.tasks_live set cancel_requested_at = now()", "update dogged.tasks_failed set args = '{}'");
  CHECK(refusal_of(database, "worker", sql) == denied);
}

TEST_CASE("a login without a role keeps no other from making partitions, importing and migrating") {
  TestDatabase database;
  db::Connection stranger{database.settings()};
  for (const std::string name : {"migrate", "partitions", "import_dead_letters"}) {
    run(stranger, "select pg_advisory_lock(hashtextextended('" + database.schema() + "." + name + "', 0))");
  }
  database.run("set lock_timeout = '2s'");
  database.run("update dogged.settings set partition_days_ahead = partition_days_ahead + 1");
  CHECK(database.value("select dogged.make_partitions() as value") == "6");
  CHECK_NOTHROW(database.run("select dogged.import_dead_letters('{}')"));
  CHECK_NOTHROW(migrate::apply(database.connection()));
  for (const std::string& role : all_roles) {
    CHECK(refusal_of(database, role, "select from dogged.locks for update") == denied);
    CHECK(refusal_of(database, role,
                     "do $$ begin lock dogged.schema_migrations in share update exclusive mode; end $$") == denied);
  }
}

TEST_CASE("a worker makes partitions, which then belong to the schema's owner") {
  TestDatabase database;
  database.run("update dogged.settings set partition_days_ahead = partition_days_ahead + 1");
  CHECK(value_as(database, "worker", "select dogged.make_partitions() as value") != "0");
  CHECK(database.value("select count(distinct relowner) as value from pg_class where relnamespace = "
                       "(select relnamespace from pg_class where oid = 'dogged.tasks'::regclass)") == "1");
}

TEST_CASE("a role that may read a view may read each of its columns") {
  TestDatabase database;
  const std::string role = GENERATE("worker", "viewer", "operator");
  const std::string views = database.value(
      "select string_agg(r.object, ' ') as value from dogged.rights r join pg_class c on c.oid = ('dogged.' || "
      "r.object)::regclass "
      "where c.relkind = 'v' and r.privileges = 'select' and r.except_columns = '{}' and $1 = any (r.roles)",
      db::Params{}.add(role));
  std::istringstream names{views};
  for (std::string view; names >> view;) {
    INFO(role << " reads " << view);
    CHECK(refusal_of(database, role, "select v::text from dogged." + view + " v") == "");
  }
}

TEST_CASE("a viewer looks at everything but args and results, and changes nothing") {
  TestDatabase database;
  (void)database.client().enqueue({.name = "a.b", .args_json = R"({"n": 1})"});
  CHECK(value_as(database, "viewer", "select args as value from dogged.redacted_tasks") == R"({"n": 1})");
  CHECK(value_as(database, "viewer", "select count(*) as value from dogged.tasks where status = 'pending'") == "1");
  CHECK(value_as(database, "viewer", "select count(*) as value from dogged.tasks_live") == "1");
  for (const std::string table : {"tasks_failed", "tasks_done", "task_attempts", "task_timeline", "dead_letters"}) {
    CHECK(value_as(database, "viewer", "select count(*) as value from dogged." + table) == "0");
  }
  const std::string sql =
      GENERATE(as<std::string>{}, "select args from dogged.tasks", "select result from dogged.tasks",
               "select t from dogged.tasks_live t", "select args from dogged.tasks_failed",
               "select result from dogged.tasks_done", "select details from dogged.audit",
               "select result from dogged.task_steps", "select payload from dogged.task_waits",
               "select payload from dogged.events", "select value from dogged.task_checkpoints",
               "select args from dogged.schedules", "select declared from dogged.schedules",
               "select schedules from dogged.workers", "select w from dogged.workers w",
               "select settings from dogged.schedule_declarations", "select id from dogged.tasks where args @> '{}'",
               "update dogged.settings set max_args_bytes = 1", "update dogged.circuits set is_forced = true",
               "update dogged.tasks_live set queue = 'x'", "delete from dogged.tasks_live", "select dogged.cancel(1)",
               "select dogged.enqueue('a.b')", "select dogged.create_queue('x')", "select dogged.record_audit('x')");
  CHECK(refusal_of(database, "viewer", sql) == denied);
}

TEST_CASE("an operator cancels, changes circuits and settings, and is named in the audit") {
  TestDatabase database;
  const TaskId id = database.client().enqueue({.name = "a.b"});
  CHECK(value_as(database, "operator", "select dogged.cancel(" + std::to_string(id) + ") as value") == "cancelled");
  CHECK(refusal_of(database, "operator", "update dogged.settings set max_args_bytes = 1000") == "");
  CHECK(refusal_of(database, "operator", "update dogged.circuits set is_forced = true") == "");
  CHECK(refusal_of(database, "operator", "select args, result from dogged.tasks") == "");
  CHECK(refusal_of(database, "operator", "select dogged.record_audit('purge', 1)") == "");
  CHECK(database.value("select actor = session_user as value from dogged.audit where action = 'purge'") == "t");
}

TEST_CASE("an operator changes tasks by functions alone") {
  TestDatabase database;
  const std::string sql = GENERATE(
      as<std::string>{}, "delete from dogged.tasks", "update dogged.tasks_live set queue = 'x'",
      "insert into dogged.tasks_live (queue, name, args) values ('default', 'a.b', '{}')",
      "delete from dogged.tasks_failed", "insert into dogged.audit (actor, application, action) values ('', '', '')",
      "update dogged.settings set role_prefix = 'x'", "update dogged.queues set name = 'x'");
  CHECK(refusal_of(database, "operator", sql) == denied);
}

TEST_CASE("no role changes or deletes attempts, or what was recorded in the audit") {
  TestDatabase database;
  const std::string role = GENERATE(from_range(all_roles));
  for (const std::string table : {"task_attempts", "task_attempts_default", "audit"}) {
    for (const std::string& sql :
         {"update dogged." + table + " set worker_id = 1", "delete from dogged." + table, "truncate dogged." + table,
          "drop table dogged." + table, "alter table dogged." + table + " disable trigger all"}) {
      INFO(role << ": " << sql);
      if (table == "audit" && contains(sql, "worker_id")) continue;
      CHECK(refusal_of(database, role, sql) == denied);
    }
  }
  CHECK(refusal_of(database, role, "update dogged.audit set action = ''") == denied);
}

TEST_CASE("a refused statement says which kind of role is lacking") {
  TestDatabase database;
  db::Connection connection{database.settings_of("viewer")};
  const auto error = error_of<DatabaseError>([&] { run(connection, "select dogged.cancel(1)"); });
  CHECK(contains(error.message(), "permission denied for function cancel"));
  CHECK(contains(error.hint(), "dogged migrate --roles"));
}

// ---- the roles themselves -------------------------------------------------------------------------------------------

TEST_CASE("migrating again gives the roles their rights on what is new, and takes those that they should not have") {
  TestDatabase database;
  database.run("revoke all on dogged.redacted_tasks from dogged_test_viewer");
  database.run("grant update on dogged.tasks to dogged_test_viewer");
  database.run("grant execute on function dogged.cancel to dogged_test_viewer, public");
  (void)migrate::apply(database.connection());
  CHECK(refusal_of(database, "viewer", "select * from dogged.redacted_tasks") == "");
  CHECK(refusal_of(database, "viewer", "update dogged.tasks set queue = 'x'") == denied);
  CHECK(refusal_of(database, "viewer", "select dogged.cancel(1)") == denied);
}

TEST_CASE("making the roles again changes nothing, and keeps their prefix") {
  TestDatabase database;
  const auto rights = [&] {
    return database.value(
        "select string_agg(x, ';' order by x) as value from ("
        "select c.relname || a.attname || a.attacl::text as x from pg_class c join pg_attribute a on a.attrelid = "
        "c.oid "
        "where c.relnamespace = (select relnamespace from pg_class where oid = 'dogged.tasks'::regclass) union all "
        "select c.relname || c.relacl::text from pg_class c "
        "where c.relnamespace = (select relnamespace from pg_class where oid = 'dogged.tasks'::regclass)) as "
        "all_of_them");
  };
  const std::string before = rights();
  CHECK(migrate::make_roles(database.connection()) ==
        std::vector<std::string>{"dogged_test_producer", "dogged_test_worker", "dogged_test_viewer",
                                 "dogged_test_operator"});
  CHECK(rights() == before);
}

TEST_CASE("with another prefix the former roles lose their rights, and without any it is the schema's name") {
  TestDatabase database{TestDatabase::Migrated::no};
  migrate::apply(database.connection());
  (void)migrate::make_roles(database.connection(), "dogged_test");
  const OwnRoles own{database, database.schema()};
  (void)migrate::make_roles(database.connection(), database.schema());
  CHECK(database.value("select count(*) as value from pg_roles where not rolcanlogin and rolname like '" +
                       database.schema() + "\\_%'") == "4");
  CHECK(database.value("select has_table_privilege('" + own.name("viewer") +
                       "', 'dogged.circuits', 'select') as value") == "t");
  CHECK(refusal_of(database, "viewer", "select * from dogged.circuits") == denied);
  CHECK(refusal_of(database, "producer", "select dogged.enqueue('a.b')") == denied);

  database.run("update dogged.settings set role_prefix = null");
  CHECK(migrate::make_roles(database.connection()).front() == own.name("producer"));
}

TEST_CASE("a prefix that makes no role names is refused, with the rule") {
  TestDatabase database;
  const std::string prefix =
      GENERATE(as<std::string>{}, "", "Big", "two words", "pg_mine", "1st", "x\"; drop table tasks; --",
               "a123456789012345678901234567890123456789012345678901234");
  const auto error =
      error_of<InvalidInput>([&] { (void)migrate::make_roles(database.connection(), std::optional{prefix}); });
  CHECK(contains(error.message(), "is not 1 to 54 of a-z 0-9 _"));
}

TEST_CASE("an owner that may not make roles is told what an administrator has to run, and needs no more help then") {
  TestDatabase database{TestDatabase::Migrated::no};
  const std::string owner = database.schema() + "_owner";
  const OwnRoles own{database, database.schema()};
  database.run("create role " + owner + " nologin");
  database.run("do $$ begin execute format('grant create on database %I to " + owner +
               "', current_database()); end $$");
  const auto settings_of = [&](const std::string& role) {
    db::Settings settings = database.settings();
    settings.url += std::string{contains(settings.url, "?") ? "&" : "?"} + "options=-crole%3D" + role;
    return settings;
  };
  db::Connection connection{settings_of(owner)};
  (void)migrate::apply(connection);

  const auto error = error_of<DatabaseError>([&] { (void)migrate::make_roles(connection); });
  CHECK(contains(error.hint(), "create role " + own.name("worker") + " nologin"));
  for (const std::string& role : all_roles) database.run("create role " + own.name(role) + " nologin");
  CHECK(migrate::make_roles(connection).size() == 4);
  db::Connection viewer{settings_of(own.name("viewer"))};
  CHECK(run(viewer, "select id from dogged.redacted_tasks").empty());

  database.run("drop owned by " + owner + " cascade");
  database.run("drop role " + owner);
}

// ---- every object of the schema -------------------------------------------------------------------------------------

namespace {

const std::string of_schema = "(select relnamespace from pg_class where oid = 'dogged.tasks'::regclass)";

}  // namespace

TEST_CASE("every table, view and function has a row in schema/rights.sql that says which roles may use it") {
  TestDatabase database;
  CHECK(database.value(
            "select coalesce(string_agg(c.relname, ', '), '') as value from pg_class c where c.relnamespace = " +
            of_schema +
            " and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and (not c.relispartition or c.relname in "
            "('tasks_live', 'tasks_failed', 'tasks_done')) and not exists (select from pg_depend d "
            "where d.objid = c.oid and d.deptype = 'i' and d.classid = 'pg_class'::regclass) "  // of an identity
            "and c.relname not in (select object from dogged.rights where privileges not like 'execute%')") == "");
  CHECK(database.value(
            "select coalesce(string_agg(p.proname, ', '), '') as value from pg_proc p where p.pronamespace = " +
            of_schema + " and p.proname not in (select object from dogged.rights where privileges like 'execute%')") ==
        "");
}

TEST_CASE("a function runs as the owner exactly where schema/rights.sql says so") {
  TestDatabase database;
  CHECK(database.value("select coalesce(string_agg(p.proname, ', '), '') as value from pg_proc p "
                       "join dogged.rights r on r.object = p.proname and r.privileges like 'execute%' "
                       "where p.pronamespace = " +
                       of_schema + " and p.prosecdef <> (r.privileges = 'execute as owner')") == "");
}

TEST_CASE("no function can be called by everyone") {
  TestDatabase database;
  CHECK(database.value("select coalesce(string_agg(p.proname, ', '), '') as value from pg_proc p, "
                       "aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where p.pronamespace = " +
                       of_schema + " and a.grantee = 0") == "");
}

TEST_CASE("every function pins its search_path, or was bound to what it names when it was made") {
  TestDatabase database;
  // Those of single enqueues qualify each name instead (docs/decisions/0004); the next test holds them to it. Two are
  // called only by a function that pins its own, and are inlined there.
  CHECK(database.value(
            "select coalesce(string_agg(p.proname, ', '), '') as value from pg_proc p where p.pronamespace = " +
            of_schema +
            " and p.prosqlbody is null and p.proname not in ('enqueue', 'note_call', 'enqueue_unique', 'take_key', "
            "'hashed_key', 'are_sound_tags', 'those', 'for_each') "
            "and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)") == "");
}

TEST_CASE("functions that a caller puts in front of PostgreSQL's own are not run with the owner's rights") {
  TestDatabase database;
  const std::string trap = database.name() + "_trap";
  database.script("create schema " + trap + "; grant usage on schema " + trap +
                  " to public; set search_path = " + trap + R"(;
    create function sprung() returns void language plpgsql as 'begin raise exception ''sprung as %'', current_user; end';
    create function now() returns timestamptz language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function pg_current_xact_id() returns xid8 language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function current_setting(text) returns text language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function pg_notify(text, text) returns void language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); end';
    create function compare(text, text) returns boolean language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return true; end';
    create function compare(bigint, bigint) returns boolean language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return true; end';
    create function compare(timestamptz, timestamptz) returns boolean language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return true; end';
    create function compare(integer, integer) returns boolean language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return true; end';
    create function compare(bigint, integer) returns boolean language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return true; end';
    create function add(bigint, bigint) returns bigint language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function add(bigint, integer) returns bigint language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function octet_length(text) returns integer language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function cardinality(bigint[]) returns integer language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function cardinality(text[]) returns integer language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function array_ndims(text[]) returns integer language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function array_to_string(text[], text) returns text language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return ''''; end';
    create function array_to_string(text[], text, text) returns text language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return ''''; end';
    create function string_to_array(text, text) returns text[] language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function unnest(bigint[]) returns setof bigint language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); end';
    create function int8range(bigint, bigint, text) returns int8range language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function int8multirange(int8range) returns int8multirange language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function range_agg(int8range) returns int8multirange language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function compare(jsonb, text) returns boolean language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return true; end';
    create function plus(timestamptz, interval) returns timestamptz language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function plus(jsonb, jsonb) returns jsonb language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create function nextval(regclass) returns bigint language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return 1; end';
    create function encode(bytea, text) returns text language plpgsql as 'begin perform )" +
                  trap + R"(.sprung(); return null; end';
    create operator + (function = plus, leftarg = timestamptz, rightarg = interval);
    create operator || (function = plus, leftarg = jsonb, rightarg = jsonb);
    create operator = (function = compare, leftarg = text, rightarg = text);
    create operator <> (function = compare, leftarg = text, rightarg = text);
    create operator < (function = compare, leftarg = bigint, rightarg = bigint);
    create operator <> (function = compare, leftarg = bigint, rightarg = bigint);
    create operator > (function = compare, leftarg = timestamptz, rightarg = timestamptz);
    create operator ? (function = compare, leftarg = jsonb, rightarg = text);
    create operator > (function = compare, leftarg = integer, rightarg = integer);
    create operator <= (function = compare, leftarg = integer, rightarg = integer);
    create operator = (function = compare, leftarg = integer, rightarg = integer);
    create operator ~ (function = compare, leftarg = text, rightarg = text);
    create operator = (function = compare, leftarg = bigint, rightarg = integer);
    create operator - (function = add, leftarg = bigint, rightarg = bigint);
    create operator + (function = add, leftarg = bigint, rightarg = integer);
    create domain int8 as pg_catalog.int8 check (false);
    create domain text as pg_catalog.text check (false);
    create domain int4 as pg_catalog.int4 check (false);
    set search_path to default)");
  (void)test::add_worker(database);
  database.run("update dogged.workers set asleep = true");
  define_a_b(database);

  db::Connection producer{database.settings_of("producer")};
  run(producer, "select set_config('search_path', '" + trap + ", pg_catalog', false)");
  CHECK(contains(error_of<DatabaseError>([&] { run(producer, "select now()"); }).message(), "sprung"));
  run(producer, "select dogged.enqueue('a.b', '{}', 'default', '2030-01-01 00:00:00+00')");
  run(producer, "select dogged.enqueue('a.b', '{}')");  // to the queue of its definition
  const auto refused = error_of<InvalidInput>(
      [&] { run(producer, "select dogged.enqueue('a.b', '{}', expires_at => '2000-01-01 00:00:00+00')"); });
  CHECK(contains(refused.message(), "in the past"));
  run(producer, "select dogged.enqueue_many(array['a.b'], array['{}'::jsonb])");
  for (const std::string outcome : {"enqueued", "existed"}) {
    const test::Rows rows =
        run(producer,
            "select outcome from dogged.enqueue_unique('a.b', '{\"user\": 1}', unique_by => '{/user}', "
            "unique_period => '1 hour')");
    CHECK(rows.one().text("outcome") == outcome);
  }
  const std::string key = "'11111111-1111-4111-8111-111111111111', ";
  for (const std::string call_and_ids : {"1, '{}'", "2, '{1}'", "3, '{1, 3}'"}) {
    run(producer, "select dogged.note_call(" + key + call_and_ids + ")");
  }
  run(producer, "select dogged.enqueue('a.b', '{}', producer => " + key + "call => 4)");
  for (const std::string& again : {"select dogged.note_call(" + key + "4, '{}')",
                                   "select dogged.enqueue('a.b', '{}', producer => " + key + "call => 4)"}) {
    CHECK(contains(error_of<InvalidInput>([&] { run(producer, again); }).message(), "was made before"));
  }
  run(producer, "select dogged.enqueue('a.b', '{}', tags => '{eu,vip}')");
  CHECK(database.count_tasks() == 6);
  database.run("drop schema " + trap + " cascade");
}

// ---- redaction
// -------------------------------------------------------------------------------------------------------

namespace {

/// A worker that knows log_in, which hides what `redact` names, and gives a session of two members.
RunningWorker redacting_worker(TestDatabase& database, JsonPointers redact) {
  return {database,
          {registered(log_in,
                      [](Context&, const nlohmann::json& args) {
                        return nlohmann::json{{"session", args.at("password")}, {"user", "ann"}};
                      },
                      {.redact = redact})}};
}

}  // namespace

TEST_CASE("values that a task declares as redacted are hidden in its args and its result, and reach its handler") {
  TestDatabase database;
  const RunningWorker worker = redacting_worker(database, {"/password", "/session"});
  const TaskId id = database.client().enqueue(log_in, nlohmann::json{{"user", "ann"}, {"password", "hunter2"}});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));

  CHECK(value_as(database, "viewer", "select args as value from dogged.redacted_tasks") ==
        R"({"user": "ann", "password": "[redacted]"})");
  CHECK(value_as(database, "viewer", "select result as value from dogged.redacted_tasks") ==
        R"({"user": "ann", "session": "[redacted]"})");
  CHECK(database.value("select args ->> 'password' as value from dogged.tasks") == "hunter2");
  CHECK(database.value("select result ->> 'session' as value from dogged.tasks") == "hunter2");
}

TEST_CASE("the values that the last worker declares are redacted") {
  TestDatabase database;
  const auto declared = [&] { return database.value("select redact::text as value from dogged.task_definitions"); };
  {
    const RunningWorker worker = redacting_worker(database, {"/password", "/a~1b/~0c", ""});
    CHECK(declared() == R"({/password,/a~1b/~0c,""})");
  }
  const RunningWorker worker = redacting_worker(database, {});
  CHECK(declared() == "{}");
}

TEST_CASE("JSON pointers name what is redacted as RFC 6901 says") {
  TestDatabase database;
  define_a_b(database);
  struct Case {
    std::string pointer, document, shown;
  };
  const Case c = GENERATE(values<Case>({
      {"/a", R"({"a": 1, "b": 2})", R"({"a": "[redacted]", "b": 2})"},
      {"/a", R"({"a": null})", R"({"a": "[redacted]"})"},
      {"/a", R"({"a": {"b": [1]}})", R"({"a": "[redacted]"})"},
      {"/a/b", R"({"a": {"b": 1, "c": 2}})", R"({"a": {"b": "[redacted]", "c": 2}})"},
      {"/a/b", R"({"a": 1})", R"({"a": 1})"},
      {"/a/1", R"({"a": [1, 2]})", R"({"a": [1, "[redacted]"]})"},
      {"/a/7", R"({"a": [1, 2]})", R"({"a": [1, 2]})"},
      {"/a/-", R"({"a": [1, 2]})", R"({"a": [1, 2]})"},
      {"/0", "[1, 2]", R"(["[redacted]", 2])"},
      {"/a~1b", R"({"a/b": 1})", R"({"a/b": "[redacted]"})"},
      {"/a~0b", R"({"a~b": 1})", R"({"a~b": "[redacted]"})"},
      {"/~01", R"({"~1": 1, "/": 2})", R"({"/": 2, "~1": "[redacted]"})"},
      {"/", R"({"": 1, "a": 2})", R"({"": "[redacted]", "a": 2})"},
      {"/a/", R"({"a": {"": 1}})", R"({"a": {"": "[redacted]"}})"},
      {"", R"({"a": 1})", R"("[redacted]")"},
      {"", "1", R"("[redacted]")"},
      {"/a", "1", "1"},
  }));
  database.run("update dogged.task_definitions set redact = array[$1]", db::Params{}.add(c.pointer));
  INFO(c.pointer << " in " << c.document);
  CHECK(database.value("select dogged.redacted('a.b', $1::jsonb) as value", db::Params{}.add(c.document)) == c.shown);
  CHECK(database.value("select dogged.redacted('a.b', null) as value") == "null");
  CHECK(database.value("select dogged.redacted('other', $1::jsonb) = $1::jsonb as value",
                       db::Params{}.add(c.document)) == "t");
}

TEST_CASE("redacted_tasks has every column of tasks") {
  TestDatabase database;
  CHECK(
      database.value("select coalesce(string_agg(a.attname, ', '), '') as value from pg_attribute a "
                     "where a.attrelid = 'dogged.tasks'::regclass and a.attnum > 0 and not a.attisdropped "
                     "and not exists (select from pg_attribute v where v.attrelid = 'dogged.redacted_tasks'::regclass "
                     "and v.attname = a.attname and v.atttypid = a.atttypid)") == "");
}
