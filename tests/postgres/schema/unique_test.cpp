// The promises of unique tasks: at most one holder of a key, under any concurrency. An enqueue that meets the holder
// says so. Nothing else ever fails because of a key.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <dogged/transaction.hpp>
#include <dogged/unique.hpp>

#include "claim/statements.hpp"
#include "sql/retention.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::error_of;
using test::eventually;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json> reindex{"reindex", {.unique = Unique{.by = {"/user"}}}};
constexpr Task<nlohmann::json> collect{
    "collect",
    {.unique = Unique{.by = Unique::no_args, .while_ = UniqueWhile::pending, .on_conflict = OnConflict::merge_args}}};
constexpr Task<nlohmann::json> plain{"plain"};

Enqueued fresh(TaskId id) { return {id, EnqueueOutcome::enqueued}; }
Enqueued existed(TaskId id) { return {id, EnqueueOutcome::existed}; }
Enqueued updated(TaskId id) { return {id, EnqueueOutcome::updated}; }

nlohmann::json args_of(TestDatabase& database, TaskId id) {
  return nlohmann::json::parse(
      database.value("select args::text as value from dogged.tasks where id = " + std::to_string(id)));
}

/// As a worker's claim, of a task that no worker runs in the test.
void begin(TestDatabase& database, TaskId id) {
  database.run(
      "update dogged.tasks_live set status = 'running', attempt = attempt + 1, worker_id = 0, claimed_at = now() "
      "where id = " +
      std::to_string(id));
}

void end(TestDatabase& database, TaskId id) {
  database.run("update dogged.tasks set status = 'succeeded', finished_at = now() where id = " + std::to_string(id));
}

}  // namespace

TEST_CASE("null for what a key excludes, or for what a conflict does, is the default") {
  TestDatabase database;
  const std::string enqueue =
      "select outcome as value from dogged.enqueue_unique('report', '{}', 'k', unique_while => null, on_conflict => "
      "null)";
  CHECK(database.value(enqueue) == "enqueued");
  CHECK(database.value("select held_while::text as value from dogged.unique_keys") == "live");
  CHECK(database.value(enqueue) == "existed");
}

TEST_CASE("an enqueue whose key is held gives the holder's id and says that it existed") {
  TestDatabase database;
  Client client = database.client();
  const Enqueued first = client.enqueue_unique(reindex, {{"user", 42}, {"why", "a"}});
  CHECK(first == fresh(first.id));
  CHECK(client.enqueue_unique(reindex, {{"user", 42}, {"why", "b"}}) == existed(first.id));
  CHECK(client.enqueue(reindex, {{"user", 42}}) == first.id);
  CHECK(client.enqueue_unique(reindex, {{"user", 43}}).is_new());
  CHECK(args_of(database, first.id) == nlohmann::json{{"user", 42}, {"why", "a"}});
}

TEST_CASE("a task of another name never holds the key") {
  TestDatabase database;
  CHECK(database.client().enqueue_unique(plain, 1, {.unique_key = "k"}).is_new());
  CHECK(database.client().enqueue_unique(reindex, {{"user", 1}}, {.unique_key = "k"}).is_new());
}

TEST_CASE("a key covers all args, some of them, none, or is given") {
  TestDatabase database;
  Client client = database.client();
  const auto unique_by = [](const JsonPointers& by) { return EnqueueOptions{.unique = Unique{.by = by}}; };
  CHECK(client.enqueue_unique(plain, {{"a", 1}, {"b", 2}}).is_new());
  CHECK_FALSE(client.enqueue_unique(plain, {{"b", 2}, {"a", 1}}).is_new());
  CHECK(client.enqueue_unique(plain, {{"a", 1}, {"b", 3}}).is_new());
  CHECK(client.enqueue_unique(plain, {{"a", {{"b/c", 1}}}}, unique_by({"/a/b~1c"})).is_new());
  CHECK_FALSE(client.enqueue_unique(plain, {{"a", {{"b/c", 1}}}, {"z", 0}}, unique_by({"/a/b~1c"})).is_new());
  CHECK(client.enqueue_unique(plain, {{"x", 7}}, unique_by(Unique::no_args)).is_new());
  CHECK_FALSE(client.enqueue_unique(plain, {{"x", 8}}, unique_by(Unique::no_args)).is_new());
  CHECK(client.enqueue_unique(plain, 1, {.unique_key = "user:42"}).is_new());
  CHECK_FALSE(client.enqueue_unique(plain, 2, {.unique_key = "user:42"}).is_new());
}

TEST_CASE("pointers in another order, or named twice, make the same key") {
  TestDatabase database;
  const std::string by = GENERATE("{/a,/b}", "{/b,/a}", "{/a,/a,/b}", "{/b,/a,/b}");
  database.run("select dogged.enqueue_unique('plain', '{\"a\": 1, \"b\": 2, \"c\": 3}', unique_by => '{/a,/b}')");
  CHECK(database.value(
            "select outcome as value from dogged.enqueue_unique('plain', '{\"a\": 1, \"b\": 2}', unique_by => '" + by +
            "')") == "existed");
  CHECK(database.value(
            "select outcome as value from dogged.enqueue_unique('plain', '{\"a\": 2, \"b\": 1}', unique_by => '" + by +
            "')") == "enqueued");
  // The key of one pointer is as it was.
  CHECK(database.value("select (dogged.hashed_key('{\"a\": 1}', '{/a}') = "
                       "encode(sha256('[\"/a\", 1]'), 'hex'))::text as value") == "true");
}

TEST_CASE("a pointer names an element of an array as RFC 6901 writes it, and a member of any name") {
  TestDatabase database;
  const auto value_at = [&](const std::string& document, const std::string& pointer) {
    return database.value("select dogged.value_at($1::jsonb, $2) as value", db::Params{}.add(document).add(pointer));
  };
  const std::string list = R"({"a": [10, 11, 12, [20]]})";
  CHECK(value_at(list, "/a/0") == "10");
  CHECK(value_at(list, "/a/2") == "12");
  CHECK(value_at(list, "/a/3/0") == "20");
  for (const char* no_index : {"-1", "-", "01", "00", "+1", " 1", "1 ", "4", "", "x", "1e0", "~01"}) {
    INFO(no_index);
    CHECK(value_at(list, std::string{"/a/"} + no_index) == "null");
    CHECK(value_at(list, std::string{"/a/3/"} + no_index) == "null");
  }
  for (const char* member : {"-1", "-", "01", "+1", " 1", "1 ", "1", "", "x"}) {
    INFO(member);
    CHECK(value_at(nlohmann::json{{member, 5}}.dump(), std::string{"/"} + member) == "5");
  }
  CHECK(value_at(R"({"a/b": {"m~n": 7}})", "/a~1b/m~0n") == "7");
  CHECK(value_at(R"({"~1": 8})", "/~01") == "8");
  CHECK(value_at("[1, 2]", "/1") == "2");
  CHECK(value_at("[1, 2]", "/-1") == "null");
  CHECK(value_at("5", "/0") == "null");
  CHECK(contains(error_of<InvalidInput>([&] {
                   database.client().enqueue(plain, nlohmann::json{1, 2}, {.unique = Unique{.by = {"/-1"}}});
                 }).message(),
                 "it is to be unique by \"/-1\", and its args have no value there"));
}

TEST_CASE("64 clients that enqueue the same key at once make one task, whether or not a task held the key before") {
  TestDatabase database;
  constexpr int rounds = 8;
  std::array<std::atomic<int>, rounds> made{};
  std::array<std::set<TaskId>, rounds> ids;
  // The keys of the odd rounds were held before.
  for (std::size_t round = 1; round < rounds; round += 2) {
    end(database, database.client().enqueue_unique(plain, 0, {.unique_key = std::to_string(round)}).id);
  }
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      Client client = database.client();
      ++ready;
      while (ready < 64) std::this_thread::yield();
      for (std::size_t round = 0; round < rounds; ++round) {
        const Enqueued one = client.enqueue_unique(plain, 1, {.unique_key = std::to_string(round)});
        if (one.is_new()) ++made.at(round);
        const std::lock_guard lock{mutex};
        ids.at(round).insert(one.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t round = 0; round < rounds; ++round) {
    CHECK(made.at(round) == 1);
    CHECK(ids.at(round).size() == 1);
  }
  CHECK(database.value("select count(*) as value from dogged.tasks_live") == std::to_string(rounds));
}

TEST_CASE("enqueue_many_unique_in gives the outcome of each task in their order, and asks nothing for none") {
  TestDatabase database;
  pqxx::connection connection{database.settings().url};
  pqxx::work transaction{connection};
  const NewTask keyed{.name = std::string{plain.name()}, .args_json = "1", .options = {.unique_key = "key"}};
  const NewTask free{.name = std::string{plain.name()}, .args_json = "2"};
  const std::vector<Enqueued> all = enqueue_many_unique_in(transaction, {keyed, free, keyed}, database.schema());
  CHECK(enqueue_many_unique_in(transaction, {}, "test_nowhere").empty());
  transaction.commit();
  REQUIRE(all.size() == 3);
  CHECK(all[0].is_new());
  CHECK(all[1].is_new());
  CHECK(all[1].id != all[0].id);
  CHECK(all[2] == existed(all[0].id));
  CHECK(database.value("select count(*) as value from dogged.tasks") == "2");
}

TEST_CASE("an enqueue waits for a transaction that has taken its key, and takes the key if that rolls back") {
  TestDatabase database;
  for (const bool commits : {true, false}) {
    pqxx::connection other{database.settings().url};
    pqxx::work transaction{other};
    const std::string key = commits ? "committed" : "rolled back";
    const Enqueued first = enqueue_unique_in(transaction, plain, 1, {.unique_key = key}, database.schema());
    REQUIRE(first.is_new());
    std::optional<Enqueued> second;
    std::thread waits{[&] { second = database.client().enqueue_unique(plain, 2, {.unique_key = key}); }};
    REQUIRE(eventually([&] {
      return database.value(
                 "select count(*) as value from pg_stat_activity where wait_event_type = 'Lock' and datname = "
                 "current_database()") != "0";
    }));
    if (commits) {
      transaction.commit();
    } else {
      transaction.abort();
    }
    waits.join();
    CHECK(second->is_new() == !commits);
    CHECK((second->id == first.id) == commits);
  }
}

TEST_CASE("calls of many with the same keys in opposite order end without a deadlock, and make each task once") {
  TestDatabase database;
  std::vector<NewTask> tasks;
  for (int i = 0; i < 300; ++i) tasks.push_back({"plain", "{}", {.unique_key = "k" + std::to_string(i)}});
  std::vector<NewTask> reversed{tasks.rbegin(), tasks.rend()};
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Client client{database.settings().url, {.schema = database.schema(), .retry = NoRetry{}}};
      const std::vector<Enqueued> all = client.enqueue_many_unique(i % 2 == 0 ? tasks : reversed);
      made += static_cast<int>(std::count_if(all.begin(), all.end(), [](const Enqueued& one) { return one.is_new(); }));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made == 300);
  CHECK(database.value("select count(*) as value from dogged.tasks") == "300");
}

TEST_CASE("a call of many locks holders in the order of ids, as other statements on several tasks do") {
  TestDatabase database;
  const Unique rule = GENERATE(Unique{.while_ = UniqueWhile::pending}, Unique{.on_conflict = OnConflict::debounce});
  const TaskId first = database.client().enqueue_unique(plain, 1, {.unique = rule, .unique_key = "z"}).id;
  const TaskId second = database.client().enqueue_unique(plain, 2, {.unique = rule, .unique_key = "a"}).id;
  pqxx::connection other{database.settings().url};
  pqxx::work transaction{other};
  const auto lock = [&](TaskId id) {
    transaction.exec("select from " + database.schema() + ".tasks_live where id = " + std::to_string(id) +
                     " for update");
  };
  lock(first);
  std::vector<Enqueued> all;
  std::thread calls{[&] {
    all = database.client().enqueue_many_unique(
        {{"plain", "3", {.unique = rule, .unique_key = "a"}}, {"plain", "4", {.unique = rule, .unique_key = "z"}}});
  }};
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) as value from pg_stat_activity where wait_event_type = 'Lock' and datname = "
               "current_database()") != "0";
  }));
  lock(second);
  transaction.commit();
  calls.join();
  REQUIRE(all.size() == 2);
  CHECK(all[0].id == second);
  CHECK(all[1].id == first);
}

TEST_CASE("in a call of many the first of equal keys is enqueued, and the others meet it") {
  TestDatabase database;
  const std::vector<NewTask> tasks{
      {"plain", "[1]", {.unique = Unique{.on_conflict = OnConflict::merge_args}, .unique_key = "a"}},
      {"plain", "[2]", {}},
      {"plain", "[3]", {.unique = Unique{.on_conflict = OnConflict::merge_args}, .unique_key = "a"}},
      {"plain", "[4]", {}},
      {"plain", "[5]", {.unique_key = "b"}},
      {"plain", "[6]", {.unique_key = "b"}}};
  const std::vector<Enqueued> all = database.client().enqueue_many_unique(tasks);
  REQUIRE(all.size() == 6);
  CHECK(all[0] == fresh(all[0].id));
  CHECK(all[1].is_new());
  CHECK(all[2] == updated(all[0].id));
  CHECK(all[3].is_new());
  CHECK(all[5] == existed(all[4].id));
  CHECK(args_of(database, all[0].id) == nlohmann::json{1, 3});
  CHECK(database.value("select count(*) as value from dogged.tasks") == "4");
}

TEST_CASE("without keys and rules the tasks of a call of many in SQL are unique by all args, as one task is") {
  TestDatabase database;
  const std::string rules =
      GENERATE("", ", on_conflicts => '{replace_args}'", ", unique_periods => array['1 hour'::interval]");
  database.run("select dogged.enqueue_unique('plain', '{\"n\": 1}')");
  CHECK(database.value("select string_agg(outcome, ' ') as value from dogged.enqueue_many_unique('{plain}', "
                       "array['{\"n\": 1}', '{\"n\": 2}', '{\"n\": 2}']::jsonb[]" +
                       rules + ")") ==
        (rules.find("replace") == std::string::npos ? "existed enqueued existed" : "updated enqueued updated"));
}

TEST_CASE("a call of many in SQL has tasks that are not unique beside those with a key or a rule") {
  TestDatabase database;
  const std::string rules = GENERATE("unique_keys => array['a', null, null]", "unique_bys => array['{/n}', null, null]",
                                     "unique_keys => array[null, null, 'a'], on_conflicts => '{keep}'");
  CHECK(database.value("select string_agg(outcome, ' ') as value from dogged.enqueue_many_unique('{plain}', "
                       "array['{\"n\": 1}', '{\"n\": 1}', '{\"n\": 1}']::jsonb[], " +
                       rules + ")") == "enqueued enqueued enqueued");
}

TEST_CASE("a call of many says which tasks are new, wherever those stand that met a holder") {
  TestDatabase database;
  Client client = database.client();
  const TaskId held = client.enqueue_unique(plain, 0, {.unique_key = "b"}).id;
  const std::vector<NewTask> tasks{{"plain", "1", {.unique_key = "a"}},
                                   {"plain", "2", {.unique_key = "b"}},
                                   {"plain", "3", {.unique_key = "c"}},
                                   {"plain", "4", {}}};
  const std::vector<Enqueued> all = client.enqueue_many_unique(tasks);
  REQUIRE(all.size() == 4);
  CHECK(all[1] == existed(held));
  for (const std::size_t i : {0U, 2U, 3U}) {
    CHECK(all[i].is_new());
    CHECK(args_of(database, all[i].id) == i + 1);
  }
}

TEST_CASE(
    "a call that locks a ready holder notifies workers when it commits, for one may have passed over the holder") {
  TestDatabase database;
  const TaskId id = database.client().enqueue_unique(collect, {1}).id;
  db::Connection listens{database.settings()};
  listens.listen(db::Channel::wake);
  pqxx::connection other{database.settings().url};
  pqxx::work transaction{other};
  REQUIRE(enqueue_unique_in(transaction, collect, {2}, {}, database.schema()) == updated(id));
  CHECK(listens.wait(100ms, -1).empty());
  transaction.commit();
  CHECK(eventually([&] { return !listens.wait(100ms, -1).empty(); }));
}

TEST_CASE("a task holds its key while it is pending, live or kept, as the call says") {
  TestDatabase database;
  Client client = database.client();
  const bool in_call_of_many = GENERATE(false, true);
  const auto enqueue = [&](UniqueWhile state, std::optional<milliseconds> period = {}) {
    const EnqueueOptions options{.unique = Unique{.period = period, .while_ = state},
                                 .unique_key = std::string{to_text(state)} + (period ? " with a period" : "")};
    if (!in_call_of_many) return client.enqueue_unique(plain, 1, options);
    return client.enqueue_many_unique({{"plain", "1", {}}, {"plain", "1", options}}).back();
  };
  SECTION("pending") {
    const TaskId id = enqueue(UniqueWhile::pending).id;
    CHECK(enqueue(UniqueWhile::pending) == existed(id));
    begin(database, id);
    CHECK(enqueue(UniqueWhile::pending).is_new());
  }
  SECTION("live") {
    const TaskId id = enqueue(UniqueWhile::live).id;
    begin(database, id);
    CHECK(enqueue(UniqueWhile::live) == existed(id));
    end(database, id);
    CHECK(enqueue(UniqueWhile::live).is_new());
  }
  SECTION("kept") {
    const TaskId id = enqueue(UniqueWhile::kept).id;
    end(database, id);
    CHECK(enqueue(UniqueWhile::kept) == existed(id));
    database.run("delete from dogged.tasks where id = " + std::to_string(id));
    CHECK(enqueue(UniqueWhile::kept).is_new());
  }
  SECTION("kept for a period, whatever retention drops") {
    const TaskId id = enqueue(UniqueWhile::kept, 1h).id;
    end(database, id);
    database.run("delete from dogged.tasks where id = " + std::to_string(id));
    CHECK(enqueue(UniqueWhile::kept, 1h) == existed(id));
    database.run("update dogged.unique_keys set taken_at = now() - interval '1 hour'");
    CHECK(enqueue(UniqueWhile::kept, 1h).is_new());
  }
  SECTION("no longer than the period, even if the task still waits") {
    const TaskId id = enqueue(UniqueWhile::live, 1h).id;
    CHECK(enqueue(UniqueWhile::live, 1h) == existed(id));
    database.run("update dogged.unique_keys set taken_at = now() - interval '1 hour'");
    CHECK(enqueue(UniqueWhile::live, 1h).is_new());
  }
}

TEST_CASE("with pending, an attempt that begins after the enqueue sees what the enqueueing transaction wrote") {
  TestDatabase database;
  const TaskId id = database.client().enqueue_unique(collect, {1}).id;
  pqxx::connection other{database.settings().url};
  pqxx::work transaction{other};
  const EnqueueOptions keep{.unique = Unique{.by = Unique::no_args, .while_ = UniqueWhile::pending}};
  REQUIRE(enqueue_unique_in(transaction, collect, {2}, keep, database.schema()) == existed(id));
  // As a claim does, which passes over a locked row.
  CHECK(database.value(
            "select count(*) as value from (select from dogged.tasks_live for no key update skip locked) t") == "0");
  transaction.commit();
  CHECK(database.value(
            "select count(*) as value from (select from dogged.tasks_live for no key update skip locked) t") == "1");
}

TEST_CASE("a call replaces or merges the args of a pending holder, and leaves a running one as it is") {
  TestDatabase database;
  Client client = database.client();
  const bool in_call_of_many = GENERATE(false, true);
  const auto enqueue = [&](const nlohmann::json& args, OnConflict conflict) {
    const EnqueueOptions options{.unique = Unique{.on_conflict = conflict}, .unique_key = "k"};
    if (!in_call_of_many) return client.enqueue_unique(plain, args, options);
    return client.enqueue_many_unique({{"plain", "1", {}}, {"plain", args.dump(), options}}).back();
  };
  const TaskId id = enqueue({{"a", 1}, {"b", 1}}, OnConflict::keep).id;
  CHECK(enqueue({{"b", 2}, {"c", 2}}, OnConflict::merge_args) == updated(id));
  CHECK(args_of(database, id) == nlohmann::json{{"a", 1}, {"b", 2}, {"c", 2}});
  CHECK(enqueue({1}, OnConflict::replace_args) == updated(id));
  CHECK(enqueue({2, 3}, OnConflict::merge_args) == updated(id));
  CHECK(args_of(database, id) == nlohmann::json{1, 2, 3});
  begin(database, id);
  CHECK(enqueue({4}, OnConflict::merge_args) == existed(id));
  CHECK(args_of(database, id) == nlohmann::json{1, 2, 3});
}

TEST_CASE("refuse throws UniqueConflict, which names the holder, and enqueues nothing") {
  TestDatabase database;
  const EnqueueOptions refuse{.unique = Unique{.on_conflict = OnConflict::refuse}, .unique_key = "k"};
  const TaskId id = database.client().enqueue_unique(plain, 1, refuse).id;
  const bool in_call_of_many = GENERATE(false, true);
  const auto error = error_of<UniqueConflict>([&] {
    if (!in_call_of_many) return void(database.client().enqueue(plain, 2, refuse));
    (void)database.client().enqueue_many_unique({{"plain", "2", {}}, {"plain", "2", refuse}});
  });
  CHECK(contains(error.message(), "task " + std::to_string(id) + " holds its key \"k\""));
  CHECK(error.sqlstate() == "UN001");
  CHECK(database.value("select count(*) as value from dogged.tasks") == "1");
}

TEST_CASE("debounce_merge merges the args of the task that waits") {
  TestDatabase database;
  const auto call = [&](const std::string& args) {
    return database.value(
        "select outcome as value from dogged.enqueue_unique('merged', $1::jsonb, 'k', run_at => now() + interval '10 "
        "s', "
        "on_conflict => 'debounce_merge')",
        db::Params{}.add(args));
  };
  CHECK(call(R"({"a": 1, "b": 1})") == "enqueued");
  CHECK(call(R"({"b": 2, "c": 2})") == "updated");
  CHECK(database.value("select args as value from dogged.tasks") == R"({"a": 1, "b": 2, "c": 2})");
}

TEST_CASE("args of another version put a ready task in a new place, which workers that know only that version find") {
  TestDatabase database;
  const auto call = [&](int version) {
    database.run(
        "select dogged.enqueue_unique('work', '{}', 'k', on_conflict => 'replace_args', args_version => $1::int)",
        db::Params{}.add(version));
    return database.value("select coalesce(ready_position, id) as value from dogged.tasks_live");
  };
  const std::string first = call(2);
  CHECK(call(2) == first);
  CHECK(call(1) != first);
}

TEST_CASE("debounce moves the first run with each call, up to its latest time, and wakes no earlier") {
  TestDatabase database;
  Client client = database.client();
  const auto call = [&](milliseconds delay) {
    return client.enqueue_unique(
        plain, delay.count(),
        {.delay = delay,
         .unique = Unique{.while_ = UniqueWhile::pending, .on_conflict = OnConflict::debounce, .latest = 1min},
         .unique_key = "k"});
  };
  const auto due = [&](TaskId id) {
    return database.value(
        "select extract(epoch from run_at - enqueued_at)::int as value from dogged.tasks where id = " +
        std::to_string(id));
  };
  const TaskId id = call(10s).id;
  CHECK(call(30s) == updated(id));
  CHECK(due(id) == "30");
  CHECK(args_of(database, id) == 30'000);
  CHECK(call(5min) == updated(id));
  CHECK(due(id) == "60");
  CHECK(call(0s) == updated(id));
  CHECK(database.value("select deferred::text as value from dogged.tasks") == "false");
}

TEST_CASE("reschedule keeps the time at which the holder expires, and runs no later") {
  TestDatabase database;
  Client client = database.client();
  const auto call = [&](milliseconds delay, std::optional<milliseconds> expires_in) {
    return client.enqueue_unique(plain, 1,
                                 {.delay = delay,
                                  .expires_in = expires_in,
                                  .unique = Unique{.on_conflict = OnConflict::reschedule},
                                  .unique_key = "k"});
  };
  const TaskId id = call(1min, 1h).id;
  CHECK(call(2min, {}) == updated(id));
  CHECK(database.value("select (expires_at - enqueued_at)::text as value from dogged.tasks") == "01:00:00");
  CHECK(contains(error_of<InvalidInput>([&] { (void)call(2h, {}); }).message(), "not be before its expires_at"));
}

TEST_CASE(
    "a call that changes a holder before its first run gives it the call's expires_at, which must be after that run") {
  TestDatabase database;
  Client client = database.client();
  const OnConflict on_conflict = GENERATE(OnConflict::replace_args, OnConflict::merge_args, OnConflict::reschedule,
                                          OnConflict::debounce, OnConflict::debounce_merge);
  const auto call = [&](milliseconds delay, milliseconds expires_in) {
    return client.enqueue_unique(
        plain, 1,
        {.delay = delay, .expires_in = expires_in, .unique = Unique{.on_conflict = on_conflict}, .unique_key = "k"});
  };
  const TaskId id = call(10min, 1h).id;
  CHECK(call(10min, 3h) == updated(id));
  CHECK(database.value("select (expires_at > now() + interval '2 h')::text as value from dogged.tasks") == "true");
  const bool keeps_run_at = on_conflict == OnConflict::replace_args || on_conflict == OnConflict::merge_args;
  if (!keeps_run_at) return;
  CHECK(contains(error_of<InvalidInput>([&] { (void)call(0min, 5min); }).message(), "not be before its expires_at"));
}

TEST_CASE("a pending holder that has expired never begins, so the call ends it and takes the key") {
  TestDatabase database;
  Client client = database.client();
  const auto expire = [&](TaskId id) {
    database.run(
        "update dogged.tasks_live set run_at = now() - interval '2 s', expires_at = now() - interval '1 s' where id = "
        "$1::bigint",
        db::Params{}.add(id));
  };
  const auto rule = GENERATE(Unique{.while_ = UniqueWhile::live}, Unique{.while_ = UniqueWhile::pending},
                             Unique{.on_conflict = OnConflict::refuse}, Unique{.on_conflict = OnConflict::debounce},
                             Unique{.while_ = UniqueWhile::kept});
  const auto holder = client.enqueue_unique(plain, 1, {.expires_in = 1h, .unique = rule, .unique_key = "k"});
  expire(holder.id);
  SECTION("one call") {
    const Enqueued next = client.enqueue_unique(plain, 2, {.unique = rule, .unique_key = "k"});
    CHECK(next.is_new() == (rule.while_ != UniqueWhile::kept));
  }
  SECTION("a call of many") {
    const auto next = client.enqueue_many_unique(
        {{"plain", "2", {.unique = rule, .unique_key = "k"}}, {"plain", "3", {.unique = rule, .unique_key = "other"}}});
    CHECK(next.front().is_new() == (rule.while_ != UniqueWhile::kept));
    CHECK(next.back().is_new());
  }
  CHECK(database.status_of(holder.id) == "expired");
}

TEST_CASE("a call ends no expired holder that a worker claims meanwhile") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue_unique(plain, 1, {.expires_in = 1h, .unique_key = "k"}).id;
  database.run("update dogged.tasks_live set run_at = now() - interval '2 s', expires_at = now() - interval '1 s'");
  pqxx::connection other{database.settings().url};
  pqxx::work claims{other};
  claims.exec("update " + database.schema() +
              ".tasks_live set status = 'running', attempt = 1, worker_id = 1, claimed_at = now()");
  std::optional<Enqueued> second;
  std::thread calls{[&] { second = database.client().enqueue_unique(plain, 2, {.unique_key = "k"}); }};
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) as value from pg_stat_activity where wait_event_type = 'Lock' and datname = "
               "current_database()") != "0";
  }));
  claims.commit();
  calls.join();
  CHECK(*second == existed(id));
}

TEST_CASE("a call shortens no wait of a holder for its retry or its circuit") {
  TestDatabase database;
  Client client = database.client();
  const EnqueueOptions debounced{.unique = Unique{.on_conflict = OnConflict::debounce}, .unique_key = "k"};
  EnqueueOptions expires = debounced;
  expires.expires_in = 2h;
  const TaskId id = client.enqueue_unique(plain, 1, expires).id;
  const int attempts = GENERATE(0, 1);
  database.run(
      "update dogged.tasks_live set attempt = $1::int, deferred = true, next_retry_at = now() + interval '1 hour'",
      db::Params{}.add(attempts));
  expires.expires_in = 1min;
  CHECK(client.enqueue_unique(plain, 2, expires) == updated(id));
  CHECK(args_of(database, id) == 2);
  CHECK(database.value("select (deferred and next_retry_at > now() + interval '59 min' and expires_at > "
                       "next_retry_at)::text as value "
                       "from dogged.tasks") == "true");
}

TEST_CASE("a unique task runs, retries and ends like any other, and its end frees the key") {
  TestDatabase database;
  std::atomic<int> runs{0};
  const auto task = registered(plain,
                               [&](Context&, const nlohmann::json&) {
                                 if (++runs < 3) throw TaskError{"AGAIN", "once more"};
                               },
                               {.retry = fixed(milliseconds{1}).with_max_retries(5), .auto_retry_for = {"AGAIN"}});
  const RunningWorker worker{database, {task}};
  const TaskId id = database.client().enqueue_unique(plain, 1).id;
  CHECK(database.client().wait(id, 30s).has_succeeded());
  CHECK(runs == 3);
  CHECK(database.client().enqueue_unique(plain, 1).is_new());
  CHECK(database.value("select count(distinct unique_key) as value from dogged.tasks") == "1");
}

TEST_CASE("a claim of unique tasks is a HOT update") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  Client client = database.client();
  for (int i = 0; i < 10; ++i) {
    (void)client.enqueue_unique(NewTask{"work", "{}", {.queue = "default", .unique_key = "key" + std::to_string(i)}});
  }
  database.connection().transaction([&] {
    const auto claim =
        runtime::claim_of(worker, {{.queue = "default", .how_many = 10, .of_all = true}}, {"work"}, 0, {1});
    CHECK(database.connection().run(claim).size() == 10);
    const test::Rows updates = database.connection().run(
        {"updates",
         "select n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where relid = 'dogged.tasks_live'::regclass"});
    CHECK(updates.one().number("n_tup_upd") == 10);
    CHECK(updates.one().number("n_tup_hot_upd") == 10);
  });
}

TEST_CASE("a repeated call of a client whose answer was lost tells the outcome of its first try") {
  TestDatabase database;
  const std::string call =
      "select made.answer as value from (select u.outcome || ' ' || u.id as answer from dogged.enqueue_unique('plain', "
      "unique_key => "
      "'k') u offset 0) made cross join lateral dogged.note_call('00000000-0000-4000-8000-000000000001', 1, '{}', "
      "made.answer)";
  const std::string answer = database.value(call);
  CHECK_THROWS_AS(database.value(call), Error);
  CHECK(database.value("select dogged.answer_made('00000000-0000-4000-8000-000000000001', 1) as value") == answer);
}

TEST_CASE("a replay takes the key again, says if another task holds it, and can merge into that task") {
  TestDatabase database;
  Client client = database.client();
  const EnqueueOptions unique{.unique_key = "k"};
  const auto fail = [&](TaskId id) {
    database.run("update dogged.tasks set status = 'failed', attempt = 1, finished_at = now() where id = " +
                 std::to_string(id));
  };
  const TaskId dead = client.enqueue_unique(plain, 1, unique).id;
  fail(dead);
  SECTION("nobody holds it") {
    const TaskId later = client.enqueue_unique(plain, 2, unique).id;
    end(database, later);
    CHECK(client.replay(dead) == ReplayResult::replayed);
    CHECK(client.enqueue_unique(plain, 3, unique) == existed(dead));
  }
  SECTION("the key was forgotten") {
    CHECK(db::one(database.connection().run(sql::TidyLeftRows{})).keys == 1);
    CHECK(client.replay(dead) == ReplayResult::replayed);
    CHECK(client.enqueue_unique(plain, 3, unique) == existed(dead));
  }
  SECTION("another task holds it") {
    const TaskId holder = client.enqueue_unique(plain, 2, unique).id;
    CHECK(client.replay(dead) == ReplayResult::key_held);
    CHECK(database.status_of(dead) == "failed");
    CHECK(database.value("select dogged.replay(" + std::to_string(dead) + ", merge => true) as value") == "merged");
    CHECK(database.status_of(dead) == "discarded");
    CHECK(database.value("select details ->> 'into' as value from dogged.audit where action = 'merge'") ==
          std::to_string(holder));
  }
  SECTION("another task held it and has expired") {
    const TaskId holder = client.enqueue_unique(plain, 2, {.expires_in = 1h, .unique_key = "k"}).id;
    database.run("update dogged.tasks_live set run_at = now() - interval '2 s', expires_at = now() - interval '1 s'");
    CHECK(client.replay(dead) == ReplayResult::replayed);
    CHECK(database.status_of(holder) == "expired");
  }
  SECTION("of two dead letters with the same key one is replayed") {
    const TaskId other = client.enqueue_unique(plain, 2, unique).id;
    fail(other);
    const std::string ids = "array[" + std::to_string(dead) + ", " + std::to_string(other) + "]";
    const auto [options, results] =
        GENERATE(table<std::string, std::string>({{"", "replayed key_held"}, {", merge => true", "replayed merged"}}));
    CHECK(database.value("select string_agg(result, ' ' order by id) as value from dogged.replay_many(" + ids +
                         options + ")") == results);
  }
}

TEST_CASE("of two replays of one key that are open at the same time one takes the key") {
  TestDatabase database;
  Client client = database.client();
  const auto dead_letter = [&] {
    const TaskId id = client.enqueue_unique(plain, 1, {.unique_key = "k"}).id;
    database.run("update dogged.tasks set status = 'failed', attempt = 1, finished_at = now() where id = " +
                 std::to_string(id));
    return id;
  };
  const TaskId first = dead_letter();
  const TaskId last = dead_letter();
  pqxx::connection other{database.settings().url};
  pqxx::work transaction{other};
  transaction.exec("select " + database.schema() + ".replay(" + std::to_string(last) + ")");
  ReplayResult result{};
  std::thread replays{[&] { result = database.client().replay(first); }};
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) as value from pg_stat_activity where wait_event_type = 'Lock' and datname = "
               "current_database()") != "0";
  }));
  transaction.commit();
  replays.join();
  CHECK(result == ReplayResult::key_held);
  CHECK(database.status_of(first) == "failed");
}

TEST_CASE("an enqueue that sees a dead letter lose its key meets it all the same once a replay that was open commits") {
  TestDatabase database;
  const TaskId dead = database.client().enqueue_unique(plain, 1, {.unique_key = "k"}).id;
  database.run("update dogged.tasks set status = 'failed', attempt = 1, finished_at = now() where id = " +
               std::to_string(dead));
  pqxx::connection other{database.settings().url};
  pqxx::work transaction{other};
  transaction.exec("select " + database.schema() + ".replay(" + std::to_string(dead) + ")");
  // The call of an enqueue that has found the key's row. The insert before it waits only for changes under way by then.
  std::string answer;
  std::thread takes{[&] {
    pqxx::connection taker{database.settings().url};
    pqxx::work taking{taker};
    answer = taking
                 .exec("select outcome || ' ' || holder from " + database.schema() +
                       ".take_key('plain', 'k', 1000000, 'live', 'keep', null, null, '2', null, null, null)")[0][0]
                 .c_str();
    taking.commit();
  }};
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) as value from pg_stat_activity where wait_event_type = 'Lock' and datname = "
               "current_database()") != "0";
  }));
  transaction.commit();
  takes.join();
  CHECK(answer == "existed " + std::to_string(dead));
}

TEST_CASE("keys that no task holds are forgotten, and others are kept") {
  TestDatabase database;
  Client client = database.client();
  const auto enqueue = [&](const std::string& key, const Unique& rule) {
    return client.enqueue_unique(plain, 1, {.unique = rule, .unique_key = key}).id;
  };
  (void)enqueue("waits", {});
  end(database, enqueue("ended", {}));
  end(database, enqueue("kept", {.while_ = UniqueWhile::kept}));
  end(database, enqueue("in its period", {.period = 1h, .while_ = UniqueWhile::kept}));
  end(database, enqueue("after its period", {.period = 1ms, .while_ = UniqueWhile::kept}));
  database.run(
      "update dogged.unique_keys set held_until = now() - interval '1 s' where unique_key = 'after its period'");
  CHECK(db::one(database.connection().run(sql::TidyLeftRows{})).keys == 2);
  CHECK(database.value("select string_agg(unique_key, ', ' order by unique_key) as value from dogged.unique_keys") ==
        "in its period, kept, waits");
}

TEST_CASE("a bad unique key gets an error that names the mistake") {
  TestDatabase database;
  Client client = database.client();
  const auto mistake_of = [&](const auto& task, const nlohmann::json& args, const EnqueueOptions& options) {
    return error_of<InvalidInput>([&] { (void)client.enqueue_unique(task, args, options); }).message();
  };
  CHECK(contains(mistake_of(plain, 1, {.unique_key = std::string(10'000, 'k')}),
                 "its unique_key has 10000 bytes; the limit is 512"));
  CHECK(contains(mistake_of(reindex, {{"usr", 1}}, {}),
                 "it is to be unique by \"/user\", and its args have no value there"));
  CHECK(contains(mistake_of(plain, 1, {.unique = Unique{.by = {"user"}}}), "\"user\", which is no JSON pointer"));
  CHECK(contains(mistake_of(plain, 1, {.unique = Unique{.period = 0ms}}),
                 "its unique period is 0 ms; it must be more than 0"));
  CHECK(contains(mistake_of(plain, 1, {.unique = Unique{.on_conflict = OnConflict::debounce, .latest = -5ms}}),
                 "its latest time is -5 ms; it must be more than 0"));
  const auto mistake_in_sql = [&](const std::string& parameters) {
    return error_of<InvalidInput>([&] { database.run("select dogged.enqueue_unique('plain', " + parameters + ")"); })
        .message();
  };
  CHECK(contains(mistake_in_sql("unique_key => 'a', unique_by => '{/a}'"),
                 "give either unique_key or unique_by, not both"));
  CHECK(contains(mistake_in_sql("unique_key => ''"), "its unique_key is empty"));
  CHECK(contains(mistake_in_sql("unique_by => array[null]"), "one of its unique_by is null"));
  const auto null_name = [&] { database.run("select dogged.enqueue_unique(null, unique_key => 'k')"); };
  CHECK(contains(error_of<InvalidInput>(null_name).message(), "a task needs a name"));
  CHECK(
      contains(mistake_in_sql("unique_key => repeat('k', 10000)"), "its unique_key has 10000 bytes; the limit is 512"));
  CHECK(
      contains(mistake_in_sql("unique_by => array_fill('/a'::text, array[17])"), "17 JSON pointers; the limit is 16"));
  CHECK(contains(mistake_in_sql("unique_period => '-1 s'"), "unique_period is -00:00:01, and must be more than 0"));
  CHECK(contains(mistake_in_sql("unique_period => '100000000 years'"),
                 "unique_period is 100000000 years; the limit is 10 years"));
  CHECK(contains(mistake_in_sql("on_conflict => 'debounce', latest => '11 years'"),
                 "task \"plain\": latest is 11 years; the limit is 10 years"));
  CHECK(
      contains(mistake_in_sql("latest => '1 min'"), "latest is 00:01:00, and on_conflict is keep, which moves no run"));
  CHECK(contains(mistake_of(plain, 1, {.unique = Unique{.on_conflict = OnConflict::replace_args, .latest = 1min}}),
                 "on_conflict is replace_args, which moves no run"));
  CHECK(database.value("select count(*) as value from dogged.tasks") == "0");
}

TEST_CASE("a bad unique key of one task refuses the whole bulk call, and names the task and the mistake") {
  const auto [rules, mistake] = GENERATE(table<std::string, std::string>(
      {{"unique_bys => array['{/n}', '{/user}']",
        "number 2 of the call: it is to be unique by \"/user\", and its args have no value there"},
       {"unique_bys => array['{/n}', '/n']",
        "number 2 of the call: its element of unique_bys is \"/n\", which is not the text of an array"},
       {"unique_bys => array['{/n}', '{/n']",
        "task \"plain\", number 2 of the call: its element of unique_bys is \"{/n\", which is not the text of an "
        "array"},
       {"unique_bys => array['{{/n,/user},{/n,/user}}', '{/n}']",
        "number 1 of the call: its unique_by {{/n,/user},{/n,/user}} is an array of arrays"},
       {"unique_bys => array['{/n}', '{' || repeat('/n,', 16) || '/n}']",
        "number 2 of the call: its unique_by has 17 JSON pointers; the limit is 16"},
       {"unique_keys => array['a', '']", "number 2 of the call: its unique_key is empty"},
       {"unique_keys => array['a', repeat('k', 513)]",
        "number 2 of the call: its unique_key has 513 bytes; the limit is 512"},
       {"unique_keys => array['a', 'b'], unique_bys => array[null, '{/n}']",
        "number 2 of the call: give either unique_key or unique_by, not both"},
       {"unique_keys => array['a', 'b'], unique_periods => array[null, interval '0']",
        "number 2 of the call: unique_period is 00:00:00, and must be more than 0"},
       {"unique_keys => array['a', 'b'], latests => array[null, interval '1 min']",
        "number 2 of the call: latest is 00:01:00, and on_conflict is keep, which moves no run"},
       {"unique_keys => array['a', null], on_conflicts => array['keep', 'replace_args']::dogged.unique_conflict[]",
        "task \"plain\", number 2 of the call, has the on_conflict replace_args, and neither a unique_key nor a "
        "unique_by"},
       {"unique_bys => array[null, '{/n}'], unique_whiles => '{pending}'",
        "number 1 of the call, has the unique_while pending"},
       {"unique_bys => array['{/n}', null], unique_periods => array[null, interval '1 min']",
        "number 2 of the call, has the unique_period 00:01:00"},
       {"unique_keys => array['a', 'a'], on_conflicts => '{refuse}'",
        "task \"plain\", number 2 of the call, is unique, and task 1 holds its key \"a\""},
       {"unique_keys => array['a', 'a'], on_conflicts => '{reschedule}', run_ats => array[null, "
        "'infinity'::timestamptz]",
        "number 2 of the call: run_at is infinity"}}));
  TestDatabase database;
  const auto call = [&, rules = rules] {
    database.run(
        "select * from dogged.enqueue_many_unique(array['plain'], array['{\"n\": 1}', '{\"n\": 2}']::jsonb[], " +
        rules + ")");
  };
  CHECK(contains(error_of<Error>(call).message(), mistake));
  CHECK(database.value("select count(*) as value from dogged.tasks") == "0");
}

TEST_CASE("a bulk call that meets holders names the task that it refuses by the place in the call") {
  TestDatabase database;
  database.run("select dogged.enqueue_unique('plain', unique_key => 'a')");
  const auto call = [&] {
    database.run(
        "select * from dogged.enqueue_many_unique(array['plain'], array['1', '2', '3']::jsonb[], "
        "unique_keys => array['b', 'a', 'c'], priorities => array[0, 0, 40000])");
  };
  CHECK(contains(error_of<InvalidInput>(call).message(), "number 3 of the call: priority 40000"));
}

TEST_CASE("args that are too long together with those of the holder are refused, and change nothing") {
  TestDatabase database;
  Client client = database.client();
  const EnqueueOptions merged{.unique = Unique{.on_conflict = OnConflict::merge_args}, .unique_key = "k"};
  const nlohmann::json half = nlohmann::json::array({std::string(600'000, 'a')});
  const TaskId id = client.enqueue_unique(plain, half, merged).id;
  const auto error = error_of<InvalidInput>([&] { (void)client.enqueue_unique(plain, half, merged); });
  CHECK(contains(error.message(), "with the args of task " + std::to_string(id)));
  CHECK(args_of(database, id) == half);
}
