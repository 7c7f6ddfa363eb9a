// The refusals of enqueue: each mistake has an error that names the thing, the value and the limit, and nothing is
// enqueued.
#include <chrono>
#include <limits>

#include "support/catch.hpp"
#include "support/place_in_call.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::no_args;
using test::TestDatabase;
using test::work;

namespace {

/// The error of enqueueing a good task and `bad` together, and two that are alike but for their args; nothing may be
/// there afterwards.
InvalidInput refused(TestDatabase& database, const NewTask& bad) {
  Client client = database.client();
  const auto error = error_of<InvalidInput>([&] {
    client.enqueue_many({NewTask{"good", R"({"fine": true})", {}}, bad});
  });
  const auto alike = error_of<InvalidInput>([&] { client.enqueue_many({NewTask{bad.name, "1", bad.options}, bad}); });
  const auto without_now = [](const Error& refusal) {
    const std::string message = test::without_place(refusal.message());
    return message.substr(0, message.find("(it is "));
  };
  CHECK(without_now(alike) == without_now(error));
  CHECK_FALSE(contains(error.message(), "number 1 of the call"));
  CHECK(database.count_tasks() == 0);
  client.enqueue(NewTask{"good", "{}", {}});  // the connection is as good as before
  CHECK(database.count_tasks() == 1);
  return error;
}

InvalidInput refused_in_sql(TestDatabase& database, const std::string& sql) {
  const auto error = error_of<InvalidInput>([&] { database.run(sql); });
  CHECK(database.count_tasks() == 0);
  return error;
}

void check_says(const Error& error, const std::vector<std::string>& parts, const std::string& hint_part = "") {
  for (const std::string& part : parts) {
    INFO("message: " << error.message().substr(0, 500) << "\nlooked for: " << part);
    CHECK(contains(error.message(), part));
  }
  INFO("hint: " << error.hint());
  CHECK(contains(error.hint(), hint_part));
  CHECK(error.message().size() < 1500);
}

nlohmann::json nested(int levels) {
  nlohmann::json json = 1;
  for (int i = 0; i < levels; ++i) json = nlohmann::json::array({std::move(json)});
  return json;
}

}  // namespace

TEST_CASE("malformed JSON args are refused, with the task and the place of the mistake") {
  TestDatabase database;
  check_says(refused(database, {"mail.send", "{\"to\": \"a\",\n \"cc\": }", {}}),
             {"task \"mail.send\"", "args", "line 2, column 8"}, "Nothing was enqueued");
}

TEST_CASE("empty args text is refused as malformed JSON") {
  TestDatabase database;
  check_says(refused(database, {"mail.send", "", {}}), {"task \"mail.send\"", "args", "line 1"},
             "Nothing was enqueued");
}

TEST_CASE("of many malformed args the task that has them is named, not its neighbours") {
  TestDatabase database;
  Client client = database.client();
  const auto error = error_of<InvalidInput>([&] {
    client.enqueue_many(
        {NewTask{"first", "{}", {}}, NewTask{"second", "{'single': 1}", {}}, NewTask{"third", "[]", {}}});
  });
  check_says(error, {"task \"second\"", "line 1, column 2"});
  CHECK_FALSE(contains(error.message(), "first"));
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("an escaped NUL in untyped args is refused, with the task and the JSON pointer") {
  TestDatabase database;
  check_says(refused(database, {"mail.send", R"({"to": ["a", "b\u0000c"]})", {}}),
             {"task \"mail.send\"", "/to/1", "NUL"}, "Nothing was enqueued");
}

TEST_CASE("a NUL byte in untyped args is refused, with the task") {
  TestDatabase database;
  check_says(refused(database, {"mail.send", std::string{"{\"to\": \"a\0b\"}", 13}, {}}),
             {"task \"mail.send\"", "NUL"});
}

TEST_CASE("args of one task are never taken for those of two") {
  TestDatabase database;
  Client client = database.client();
  const std::string two = std::string{"1"} + '\x1e' + "2";
  check_says(error_of<InvalidInput>([&] {
               client.enqueue_many({NewTask{"first", two, {}}, NewTask{"first", "3", {}}});
             }),
             {"task \"first\"", "args are not JSON"});
  for (const std::string separator : {",", "\\x1e", "\n", "\x1f", "]", "\",\""}) {
    CHECK_THROWS_AS(client.enqueue_many({NewTask{"first", "1" + separator + "2", {}}, NewTask{"first", "3", {}}}),
                    InvalidInput);
  }
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("invalid UTF-8 in untyped args is refused, with the task and its place") {
  TestDatabase database;
  check_says(refused(database, {"mail.send", "{\"to\": \"caf\xE9\"}", {}}),
             {"task \"mail.send\"", "UTF-8", "line 1, column 13"}, "Nothing was enqueued");
}

TEST_CASE("200,000 opening brackets are refused, not recursed into") {
  TestDatabase database;
  check_says(refused(database, {"deep", std::string(200'000, '['), {}}), {"task \"deep\"", "args"},
             "Nothing was enqueued");
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("200,000 levels of arrays are refused, with the limit") {
  TestDatabase database;
  check_says(refused(database, {"deep", std::string(200'000, '[') + std::string(200'000, ']'), {}}),
             {"task \"deep\"", "nested more than 500 levels"}, "Nothing was enqueued");
}

TEST_CASE("typed args nested more than 500 levels are refused, with the limit") {
  TestDatabase database;
  Client client = database.client();
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, nested(501)); }), {"task \"work\"", "500 levels"});
  CHECK(database.count_tasks() == 0);
  client.enqueue(work, nested(500));
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("args over the size limit are refused, with their size, the limit and the setting") {
  TestDatabase database;
  check_says(refused(database, {"big", "\"" + std::string(1'048'575, 'x') + "\"", {}}),
             {"task \"big\"", "1048577 bytes", "1048576"}, "settings.max_args_bytes");
}

TEST_CASE("args of exactly the limit are taken, and raising the setting raises the limit") {
  TestDatabase database;
  Client client = database.client();
  client.enqueue(NewTask{"big", "\"" + std::string(1'048'574, 'x') + "\"", {}});
  database.run("update dogged.settings set max_args_bytes = 2000000");
  client.enqueue(NewTask{"big", "\"" + std::string(1'999'998, 'x') + "\"", {}});
  CHECK(database.count_tasks() == 2);
}

TEST_CASE("args are measured as the text that a worker is handed, however little of it they are as jsonb") {
  TestDatabase database;
  const auto numbers = [](int how_many, const std::string& number = "1e131071") {  // 131,072 digits; 16 bytes as jsonb
    return "to_jsonb(array_fill(" + number + ", array[" + std::to_string(how_many) + "]))";
  };
  for (const std::string& call :
       {"dogged.enqueue('big', " + numbers(8) + ")", "dogged.enqueue_many(array['big'], array[" + numbers(8) + "])",
        "dogged.enqueue_many(array['big', 'small'], array[" + numbers(8) + ", '1'])"}) {
    check_says(refused_in_sql(database, "select " + call), {"task \"big\"", "1048592 bytes", "1048576"},
               "settings.max_args_bytes");
  }
  database.run("update dogged.settings set max_args_bytes = 2000000");
  const std::string longest = "-1e131071 + 0e-16383";  // the longest number there is: 147,457 characters
  check_says(refused_in_sql(database, "select dogged.enqueue_many(array['big'], array[" + numbers(14, longest) + "])"),
             {"task \"big\"", "2064426 bytes", "2000000"}, "settings.max_args_bytes");
  database.run("select dogged.enqueue_many(array['big'], array[" + numbers(13, longest) + ", '1'])");
  CHECK(database.count_tasks() == 2);
}

TEST_CASE(
    "args whose numbers would be more than the server can write out are refused by their measure, and not written "
    "out") {
  TestDatabase database;
  // 160 kB as jsonb, 1.3 GB as text. to_jsonb writes each number out, which took the server 4 s.
  const std::string numbers = "('[' || repeat('1e131071,', 9999) || '1e131071]')::jsonb";
  for (const std::string& call :
       {"dogged.enqueue('big', " + numbers + ")", "dogged.enqueue_many(array['big'], array[" + numbers + "])",
        "dogged.enqueue_many(array['big', 'small'], array[" + numbers + ", '1'])",
        "dogged.enqueue('big', jsonb_build_object('a', array['x'], 'b', " + numbers + "))"}) {
    check_says(refused_in_sql(database, "select " + call), {"task \"big\"", "its args", "1048576"},
               "settings.max_args_bytes");
  }
}

TEST_CASE("args of a few kilobytes are measured as exactly as short ones") {
  TestDatabase database;
  const auto numbers = [](int how_many) {  // each with its comma and its space 10 bytes, and the brackets 2, less 2
    return "to_jsonb(array_fill(12345678, array[" + std::to_string(how_many) + "]))";
  };
  database.run("update dogged.settings set max_args_bytes = 10000");
  check_says(refused_in_sql(database, "select dogged.enqueue('big', " + numbers(1001) + ")"),
             {"task \"big\"", "10010 bytes", "10000"});
  database.run("select dogged.enqueue('big', " + numbers(1000) + ")");
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("malformed args are refused without a piece of them") {
  TestDatabase database;
  for (const std::string args : {R"({"pin": 4711471147114711 4711471147114711})", R"({"pin": 4711471147114711x})",
                                 R"(["4711471147114711", nul])", "{\"pin\": \"4711471147114711\xff\"}"}) {
    const InvalidInput error = refused(database, {"secret", args, {}});
    INFO(error.what());
    CHECK(contains(error.message(), "task \"secret\""));
    CHECK_FALSE(contains(error.what(), "4711"));
    database.run("delete from dogged.tasks");
  }
}

TEST_CASE("in SQL args that are null among many are refused, whether the tasks are alike or not") {
  TestDatabase database;
  for (const std::string names : {"array['a']", "array['a', 'b']"}) {
    check_says(refused_in_sql(database, "select dogged.enqueue_many(" + names + ", array['1', null]::jsonb[])"),
               {"args is null"}, "Leave args out");
  }
}

TEST_CASE("in SQL half an idempotency key is refused") {
  TestDatabase database;
  check_says(refused_in_sql(database, "select dogged.enqueue('a', producer => gen_random_uuid())"), {"call is null"},
             "Give both, or neither");
  check_says(refused_in_sql(database, "select dogged.enqueue('a', call => 1)"), {"producer is null"},
             "Give both, or neither");
}

TEST_CASE("an empty task name is refused") {
  TestDatabase database;
  check_says(refused(database, {"", "{}", {}}), {"name", "empty"}, "Nothing was enqueued");
}

TEST_CASE("a task name over 128 bytes is refused, with its length and the limit") {
  TestDatabase database;
  check_says(refused(database, {std::string(129, 'n'), "{}", {}}), {"nnnn", "129 bytes", "128"},
             "Nothing was enqueued");
}

TEST_CASE("a task name of other characters is refused, with what may stand there") {
  TestDatabase database;
  check_says(refused(database, {"send mail", "{}", {}}), {"\"send mail\"", "A-Z a-z 0-9"}, "Nothing was enqueued");
}

TEST_CASE("a queue that does not exist is refused, with those that do and how to make it") {
  TestDatabase database;
  check_says(refused(database, {"work", "{}", {.queue = "mial"}}), {"task \"work\"", "\"mial\"", "does not exist"},
             "There are: default.");
}

TEST_CASE("a run_at in the past is refused, with both times") {
  TestDatabase database;
  const auto yesterday = std::chrono::system_clock::now() - 24h;
  check_says(refused(database, {"work", "{}", {.run_at = yesterday}}), {"task \"work\"", "run_at 20", "in the past"},
             "Leave run_at out");
}

TEST_CASE("a run_at at the end of time is refused") {
  TestDatabase database;
  check_says(refused(database, {"work", "{}", {.run_at = std::chrono::system_clock::time_point::max()}}),
             {"task \"work\"", "run_at 2262", "more than 10 years ahead"}, "unit");
  check_says(error_of<InvalidInput>([&] {
               database.client().enqueue(work, no_args, {.run_at = std::chrono::system_clock::time_point::min()});
             }),
             {"run_at", "in the past"});
}

TEST_CASE("an infinite run_at is refused in SQL, in both directions") {
  TestDatabase database;
  check_says(refused_in_sql(database, "select dogged.enqueue('work', run_at => 'infinity')"),
             {"task \"work\"", "run_at is infinity"}, "Give a time");
  check_says(refused_in_sql(database, "select dogged.enqueue('work', run_at => '-infinity')"),
             {"task \"work\"", "run_at is -infinity"}, "Give a time");
}

TEST_CASE("a delay that is negative or over 10 years is refused, with the limits") {
  TestDatabase database;
  check_says(refused(database, {"work", "{}", {.delay = -1ms}}), {"task \"work\"", "delay is -1 ms", "0 to 10 years"});
  check_says(error_of<InvalidInput>([&] { database.client().enqueue(work, no_args, {.delay = milliseconds::max()}); }),
             {"delay is 9223372036854775807 ms"});
}

TEST_CASE("run_at and delay together are refused") {
  TestDatabase database;
  check_says(refused(database, {"work", "{}", {.run_at = std::chrono::system_clock::now(), .delay = 1s}}),
             {"task \"work\"", "either run_at or delay"});
}

TEST_CASE("a priority out of range is refused, with the range") {
  TestDatabase database;
  check_says(refused(database, {"work", "{}", {.priority = 32768}}),
             {"task \"work\"", "priority 32768", "-32768 and 32767"}, "Nothing was enqueued");
  check_says(error_of<InvalidInput>(
                 [&] { database.client().enqueue(work, no_args, {.priority = std::numeric_limits<int>::min()}); }),
             {"priority -2147483648"});
}

TEST_CASE("a trace context over 512 bytes is refused, with its length and the limit") {
  TestDatabase database;
  check_says(refused(database, {"work", "{}", {.trace_context = std::string(513, 't')}}),
             {"task \"work\"", "trace_context has 513 bytes", "512"}, "Nothing was enqueued");
}

TEST_CASE("NaN and infinity in typed args are refused, with the JSON pointer") {
  TestDatabase database;
  Client client = database.client();
  const nlohmann::json args = {{"prices", {1.5, std::numeric_limits<double>::quiet_NaN()}}};
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, args); }), {"task \"work\"", "/prices/1", "NaN"});
  const nlohmann::json infinite = {{"a/b", std::numeric_limits<double>::infinity()}};
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, infinite); }), {"/a~1b", "infinite"});
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("a NUL in a string or a key of typed args is refused, with the JSON pointer") {
  TestDatabase database;
  Client client = database.client();
  const std::string with_nul{"a\0b", 3};
  check_says(error_of<InvalidInput>([&] {
               client.enqueue(work, {{"to", {{"name", with_nul}}}});
             }),
             {"task \"work\"", "/to/name", "NUL"});
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, {{"to", {{with_nul, 1}}}}); }), {"/to", "NUL"});
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("invalid UTF-8 in typed args is refused, with the task") {
  TestDatabase database;
  Client client = database.client();
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, {{"name", "caf\xE9"}}); }), {"task \"work\"", "UTF-8"});
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("a NUL in a name, a queue or a trace context is refused") {
  TestDatabase database;
  const std::string with_nul{"a\0b", 3};
  check_says(refused(database, {with_nul, "{}", {}}), {"NUL"});
  Client client = database.client();
  CHECK_THROWS_AS(client.enqueue(work, no_args, {.queue = with_nul}), InvalidInput);
  CHECK_THROWS_AS(client.enqueue(work, no_args, {.trace_context = with_nul}), InvalidInput);
}

TEST_CASE("invalid UTF-8 in a name, a queue or a trace context is refused, and said where") {
  TestDatabase database;
  check_says(refused(database, {"caf\xE9", "{}", {}}), {"name", "UTF-8"});
  Client client = database.client();
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, no_args, {.queue = "caf\xE9"}); }),
             {"task \"work\"", "queue", "UTF-8"});
  check_says(error_of<InvalidInput>([&] { client.enqueue(work, no_args, {.trace_context = "caf\xE9"}); }),
             {"task \"work\"", "trace_context", "UTF-8"});
}

TEST_CASE("null args are refused in SQL, with what to write for a JSON null") {
  TestDatabase database;
  check_says(refused_in_sql(database, "select dogged.enqueue('work', null)"), {"task \"work\"", "args is null"},
             "'null'::jsonb");
  database.run("select dogged.enqueue('work', 'null')");
  CHECK(database.count_tasks() == 1);
}

TEST_CASE(
    "a value that is too long and that all tasks of a call share is refused as for one task, and not multiplied "
    "first") {
  TestDatabase database;
  database.run("set temp_file_limit = 0");  // nor anywhere on the way
  for (const std::string priorities : {"null", "array_fill(0, array[9999]) || 1"}) {
    check_says(
        refused_in_sql(database,
                       "select dogged.enqueue_many('{a.b}', array_fill('{}'::jsonb, array[10000]), trace_contexts "
                       "=> array[repeat('x', 200000)], priorities => " +
                           priorities + ")"),
        {"task \"a.b\"", "trace_context has 200000 bytes"});
  }
}

TEST_CASE("a null name is refused in SQL") {
  TestDatabase database;
  check_says(refused_in_sql(database, "select dogged.enqueue(null)"), {"name", "null"}, "Nothing was enqueued");
}

TEST_CASE("of each array for enqueue_many in SQL one element is needed for each task, or one for all") {
  TestDatabase database;
  const auto refused_arrays = [&](const std::string& arrays) {
    return refused_in_sql(database, "select dogged.enqueue_many(" + arrays + ")");
  };
  check_says(refused_arrays("'{a,b}', '{1}'"), {"there are 2 names and 1 args; give one for each task, or one for all"},
             "Nothing was enqueued");
  check_says(refused_arrays("'{a,b}', '{1,2,3}'"), {"2 names and 3 args"});
  check_says(refused_arrays("null, '{1,2,3}'"), {"0 names and 3 args"});
  check_says(refused_arrays("'{}', '{1}'"), {"0 names and 1 args"});
  check_says(refused_arrays("'{a}', null"), {"args is null"}, "empty array");
  for (const std::string other :
       {"queues", "run_ats", "priorities", "trace_contexts", "expires_ats", "tags", "parent_ids", "args_versions"}) {
    check_says(refused_arrays("'{a}', '{1,2,3}', " + other + " => '{null,null}'"), {"2 " + other + " and 3 args"});
    check_says(refused_arrays("'{a}', '{1,2,3}', " + other + " => '{}'"), {"0 " + other + " and 3 args"});
  }
}

TEST_CASE("a queue cannot be created under a name that tasks could not be enqueued to") {
  TestDatabase database;
  check_says(refused_in_sql(database, "select dogged.create_queue('my queue')"), {"\"my queue\"", "1 to 128"});
  check_says(refused_in_sql(database, "select dogged.create_queue('')"), {"\"\"", "1 to 128"});
  CHECK_THROWS_AS(database.run("select dogged.create_queue(null)"), InvalidInput);
}
