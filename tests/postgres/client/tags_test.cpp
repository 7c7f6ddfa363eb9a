// Tags: the words that a producer gives a task, which stay with it however it ends.
#include <atomic>
#include <chrono>
#include <string>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/place_in_call.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

const EnqueueOptions tagged{.tags = {"eu", "tenant:42"}};

std::string count_tagged(TestDatabase& database, const std::string& table) {
  return database.value("select count(*) as value from dogged." + table + " where tags = '{eu,tenant:42}'");
}

/// The status of the only task, once it has ended, and its tags.
std::string end_of(TestDatabase& database) {
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "0"; }));
  return database.value("select concat_ws(' ', status, tags::text) as value from dogged.tasks");
}

/// The result of `handler` for a task with tags.
template <class Handler>
std::string end_by(Handler handler, const TaskOptions& options = {}) {
  TestDatabase database;
  RunningWorker worker{database, {registered(work, handler, options)}};
  database.client().enqueue(work, no_args, tagged);
  return end_of(database);
}

std::string tags_refused_in_sql(TestDatabase& database, const std::string& call) {
  return error_of<InvalidInput>([&] { database.run("select dogged." + call); }).what();
}

}  // namespace

TEST_CASE("a task's tags stand in its row, from C++, from SQL and in a transaction alike, and no tags are null") {
  TestDatabase database;
  Client client = database.client();
  client.enqueue(work, no_args, tagged);
  client.enqueue_many(work, {no_args, no_args}, tagged);
  client.enqueue_many({NewTask{"work", "{}", tagged}, NewTask{"work"}});
  database.run("select dogged.enqueue('work', tags => '{eu,tenant:42}')");
  database.run(
      "select dogged.enqueue_many('{work,work}', array['{}', '{}']::jsonb[], tags => array['{eu,tenant:42}', '{ }'])");
  {
    pqxx::connection connection{database.settings().url};
    pqxx::work transaction{connection};
    enqueue_in(transaction, work, no_args, tagged, database.schema());
    transaction.commit();
  }
  database.run("select dogged.enqueue('work', tags => '{}')");
  database.run("select dogged.enqueue_many('{work}', '{1}', tags => array['{}'])");
  CHECK(count_tagged(database, "tasks") == "7");
  CHECK(database.value("select count(*) as value from dogged.tasks where tags is null") == "4");
  CHECK(count_tagged(database, "task_overview") == "7");
  CHECK(count_tagged(database, "redacted_tasks") == "7");
}

TEST_CASE("tags that could not be named later are refused, and the error says which and why") {
  TestDatabase database;
  Client client = database.client();
  const auto refused = [&](std::vector<std::string> tags) {
    const NewTask bad{"a.b", "{}", {.tags = std::move(tags)}};
    const std::string one = error_of<InvalidInput>([&] { client.enqueue(bad); }).what();
    const auto of_many = [&](std::vector<NewTask> tasks) {
      return test::without_place(error_of<InvalidInput>([&] { client.enqueue_many(std::move(tasks)); }).what());
    };
    CHECK(one == of_many({NewTask{"good"}, bad}));
    CHECK(one == of_many({bad, bad}));
    CHECK(contains(one, "task \"a.b\": "));
    return one;
  };
  CHECK(contains(refused({"eu", "two words"}), "its tag \"two words\" is not made of A-Z a-z 0-9"));
  CHECK(contains(refused({""}), "its tag \"\" is not made of"));
  CHECK(contains(refused({"a,b"}), "its tag \"a,b\" is not made of"));
  CHECK(contains(refused({"}\"\\"}), "its tag \"}\"\\\" is not made of"));
  CHECK(contains(refused({std::string(200, 'a'), std::string(200, 'b'), std::string(111, 'c')}),
                 "its tags have 513 bytes with commas between them; the limit is 512"));
  CHECK(contains(refused({std::string("a\0b", 3)}), "NUL"));
  CHECK(contains(refused({"\xff"}), "tags are not valid UTF-8"));
  CHECK(contains(tags_refused_in_sql(database, "enqueue('a.b', tags => '{a,null}')"), "one of its tags is null"));
  CHECK(contains(tags_refused_in_sql(database, "enqueue('a.b', tags => '{{a},{b}}')"), "an array of arrays"));
  CHECK(contains(tags_refused_in_sql(database, "enqueue_many('{a.b}', array['{}'::jsonb], tags => '{eu}')"),
                 "malformed array literal: \"eu\""));
  CHECK(database.count_tasks() == 0);
  client.enqueue(NewTask{"a.b", "{}", {.tags = {std::string(510, 'a'), "b"}}});
  client.enqueue(NewTask{"a.b", "{}", {.tags = {"NULL", "null"}}});
  CHECK(database.count_tasks() == 2);
}

TEST_CASE("a task keeps its tags however it ends") {
  const std::string tags = " {eu,tenant:42}";
  const auto fails = [](Context&, const nlohmann::json&) { throw TaskError("HTTP_404", "gone"); };
  SECTION("by an attempt") {
    CHECK(end_by([](Context&, const nlohmann::json&) {}) == "succeeded" + tags);
    CHECK(end_by(fails) == "failed" + tags);
    CHECK(end_by(fails, {.dead_letter = false}) == "discarded" + tags);
    const auto fails_once = [](Context& context, const nlohmann::json&) {
      if (context.attempt() == 1) throw TaskError("HTTP_503", "busy");
    };
    CHECK(end_by(fails_once, {.retry = fixed(1ms), .auto_retry_for = {"HTTP_503"}}) == "succeeded" + tags);
  }
  SECTION("cancelled") {
    TestDatabase database;
    Client client = database.client();
    client.cancel(client.enqueue(work, no_args, tagged));
    CHECK(end_of(database) == "cancelled" + tags);
  }
  SECTION("expired when it is claimed") {
    TestDatabase database;
    database.client().enqueue(work, no_args, tagged);
    database.run("update dogged.tasks_live set expires_at = clock_timestamp()");
    RunningWorker worker{database, {test::does_nothing()}, {.heartbeat = 1h, .lease = 3h}};
    CHECK(end_of(database) == "expired" + tags);
  }
  SECTION("expired where nobody serves it") {
    TestDatabase database;
    database.client().enqueue(NewTask{"nobody.knows", "{}", tagged});
    database.run("update dogged.tasks_live set expires_at = clock_timestamp()");
    RunningWorker worker{database, {test::does_nothing()}, {.heartbeat = 50ms, .lease = 10s}};
    CHECK(end_of(database) == "expired" + tags);
  }
  SECTION("completed in a transaction of its handler") {
    TestDatabase database;
    RunningWorker worker{database, {registered(work, [&](Context& context, const nlohmann::json&) {
                           pqxx::connection connection{database.settings().url};
                           pqxx::work transaction{connection};
                           context.complete_in(transaction);
                           transaction.commit();
                         })}};
    database.client().enqueue(work, no_args, tagged);
    CHECK(end_of(database) == "succeeded" + tags);
  }
}

TEST_CASE("a dead letter's tags are kept by a replay, and by export and import") {
  TestDatabase database;
  database.client().enqueue(work, no_args, tagged);
  {
    RunningWorker worker{
        database, {registered(work, [](Context&, const nlohmann::json&) { throw TaskError("HTTP_404", "gone"); })}};
    REQUIRE(eventually([&] { return count_tagged(database, "dead_letters") == "1"; }));
  }
  const std::string letter = database.value(
      "select letter as value from dogged.export_dead_letters(array(select id from dogged.dead_letters))");
  database.run("select dogged.purge(id) from dogged.dead_letters");
  REQUIRE(count_tagged(database, "tasks") == "0");
  const auto import = [&](const std::string& text) {
    return database.value("select result as value from dogged.import_dead_letters(array[$1::jsonb])",
                          db::Params{}.add(text));
  };
  auto changed = nlohmann::json::parse(letter);
  changed["tags"] = {"two words"};
  CHECK(contains(error_of<InvalidInput>([&] { import(changed.dump()); }).what(), "its tag \"two words\""));
  changed["tags"] = "eu";
  CHECK(contains(error_of<InvalidInput>([&] { import(changed.dump()); }).what(), "tags is not an array"));
  CHECK(import(letter) == "imported");
  CHECK(count_tagged(database, "dead_letters") == "1");
  database.run("select dogged.replay(id) from dogged.dead_letters");
  CHECK(count_tagged(database, "tasks_live") == "1");
}

TEST_CASE("tags that are far too many, or far too long, are refused by their number or length, whatever is in them") {
  TestDatabase database;
  const auto refusal = [&](const std::string& tags) {
    return error_of<InvalidInput>([&] { database.run("select dogged.enqueue('a.b', tags => " + tags + ")"); })
        .message();
  };
  CHECK(contains(refusal("array_fill(text '!', array[2000000])"), "it has 2000000 tags; no more than 256 fit"));
  CHECK(contains(refusal("array['!', repeat('a', 1000000)]"), "bytes; the limit is 512"));
  const EnqueueOptions too_many{.tags = std::vector<std::string>(257, "a")};
  CHECK(contains(
      error_of<InvalidInput>([&] { database.client().enqueue({.name = "a.b", .options = too_many}); }).message(),
      "it has 257 tags; no more than 256 fit"));
  const auto refusal_of_many = [&](const std::string& tags) {
    return error_of<InvalidInput>([&] {
             database.run("select dogged.enqueue_many(array['a.b'], array['{}', '{}']::jsonb[], tags => " + tags + ")");
           })
        .message();
  };
  for (const char* tags :
       {"array[array_fill(text '!', array[40000])::text]", "array['{}', array_fill(text '!', array[40000])::text]"}) {
    CHECK(contains(refusal_of_many(tags), "more than 65536 bytes"));
  }
  CHECK_NOTHROW(database.run("select dogged.enqueue('a.b', tags => array_fill(text 'a', array[256]))"));
}
