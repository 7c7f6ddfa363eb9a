// Texts that the command line reads and writes: times, durations, columns, tables, delays, and lines of tasks.
#include "cli/render/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <dogged/client.hpp>

#include "cli/input/new_tasks.hpp"
#include "cli/render/delay_plot.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/moment.hpp"
#include "cli/render/table.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/styles.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::cli;
using dogged::test::contains;
using dogged::test::plain;

namespace {

std::string message_of(const std::string& line) {
  try {
    PointerTexts pointers;
    static_cast<void>(task_from_json_line(line, pointers));
  } catch (const InvalidInput& error) {
    return error.message();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("ISO 8601 times are read with every part that may be left out") {
  const Time noon = time_from_microseconds(1'795'262'400'000'000);
  CHECK(time_from_iso8601("2026-11-21T12:00:00Z") == noon);
  CHECK(time_from_iso8601("2026-11-21 12:00Z") == noon);
  CHECK(time_from_iso8601("2026-11-21T13:00:00+01:00") == noon);
  CHECK(time_from_iso8601("2026-11-21T07:30:00-0430") == noon);
  CHECK(time_from_iso8601("2026-11-21T14:00+02") == noon);
  CHECK(time_from_iso8601("2026-11-21T12:00:00.250Z") == noon + 250ms);
  CHECK(time_from_iso8601("2026-11-21T12:00:00.123456789Z") == noon + 123456us);
  CHECK(to_iso8601(noon + 250ms) == "2026-11-21T12:00:00.250000Z");
}

TEST_CASE("a date alone is its midnight, in the zone that is asked for") {
  CHECK(time_from_iso8601("2026-11-21", Zone::utc) == time_from_iso8601("2026-11-21T00:00:00Z"));
  CHECK(time_from_iso8601("2026-11-21") == time_from_iso8601("2026-11-21T00:00"));
  CHECK(time_from_iso8601("2026-11-21T12:00", Zone::utc) == time_from_iso8601("2026-11-21T12:00:00Z"));
}

TEST_CASE("a text that is not a time is refused with an example") {
  for (const char* text : {"", "now", "2026-13-01T00:00Z", "2026-02-30T00:00Z", "2026-02-30", "2026-11", "2026-11-21Z",
                           "2026-11-21T24:00Z", "2026-11-21T12:00:60Z", "2026-11-21T12:00Zz", "2026-11-21T12:00+1",
                           "2026-11-21T12:00:00.Z", "infinity", "2026-11-21T12:00+01:60"}) {
    INFO(text);
    CHECK_THROWS_AS(time_from_iso8601(text), InvalidInput);
  }
}

TEST_CASE("durations are rounded for reading") {
  CHECK(readable(0us) == "0 ms");
  CHECK(readable(400us) == "0.4 ms");
  CHECK(readable(120ms) == "120 ms");
  CHECK(readable(999ms) == "999 ms");
  CHECK(readable(999'700us) == "1 s");
  CHECK(readable(5200ms) == "5.2 s");
  CHECK(readable(41s) == "41 s");
  CHECK(readable(59'960ms) == "1 m");
  CHECK(readable(102s) == "1 m 42 s");
  CHECK(readable(1h) == "1 h");
  CHECK(readable(1h + 5min) == "1 h 5 m");
  CHECK(readable(76h) == "3 d 4 h");
  CHECK(readable(-5s) == "-5 s");
}

TEST_CASE("a table's time is relative within an hour, a clock today, and else a day") {
  const Time noon = time_from_iso8601("2026-11-21T12:00:00Z");
  const auto shown = [noon](microseconds ahead) { return short_time(noon + ahead, noon, Zone::utc); };
  CHECK(shown(400ms) == "now");
  CHECK(shown(-12s) == "12 s ago");
  CHECK(shown(59'600ms) == "in 1 m");
  CHECK(shown(3min + 29s) == "in 3 m");
  CHECK(shown(-59min) == "59 m ago");
  CHECK(shown(-59min - 30s) == "11:00:30");
  CHECK(shown(11h) == "23:00:00");
  CHECK(shown(12h) == "Nov 22 00:00");
  CHECK(shown(-13h) == "Nov 20 23:00");
  CHECK(shown(-24h * 179) == "May 26 12:00");
  CHECK(shown(-24h * 181) == "2026-05-24");
}

TEST_CASE("a short duration has one unit") {
  CHECK(short_duration(400ms) == "0 s");
  CHECK(short_duration(59s) == "59 s");
  CHECK(short_duration(59'700ms) == "1 m");
  CHECK(short_duration(90min) == "2 h");
  CHECK(short_duration(23h + 40min) == "1 d");
  CHECK(short_duration(24h * 400) == "400 d");
}

TEST_CASE("harmless text is one line that moves no cursor") {
  CHECK(harmless("a\nb\tc\033[31m", true) == "a b c [31m");
  CHECK(harmless("Zoë", true) == "Zoë");
  CHECK(harmless("Zoë", false) == "Zo?");
  CHECK(harmless("\xC2\x9B"
                 "31m",
                 true) == " 31m");
  CHECK(harmless("a\xE2\x80\xAE"
                 "b",
                 true) == "ab");
  CHECK(harmless("\xFF\xC3", true) == "??");
  CHECK(harmless("\xED\xA0\x80", true) == "???");
}

TEST_CASE("widths count columns, not bytes") {
  CHECK(display_width("Zoë") == 3);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\xCC\x81") == 1);
  CHECK(shorten("日本語", 5, true) == "日本…");
  CHECK(shorten("abcdef", 5, false) == "ab...");
  CHECK(shorten("abcdef", 6, true) == "abcdef");
  CHECK(shorten("abcdefgh", 5, true, Cut::middle) == "ab…gh");
  CHECK(shorten("日本語日本語", 6, true, Cut::middle) == "日…語");
  CHECK(shorten("abcdefe\xCC\x81", 4, true, Cut::middle) == "ab…e\xCC\x81");
}

TEST_CASE("text is broken at spaces, and within a word that is longer than a line, at a slash if it has one") {
  using Lines = std::vector<std::string>;
  CHECK(wrapped("one two three", 7, true) == Lines{"one two", "three"});
  CHECK(wrapped("abcdefgh ij", 5, true) == Lines{"abcde", "fgh", "ij"});
  CHECK(wrapped("/tasks/a.b/delay", 11, true) == Lines{"/tasks/a.b/", "delay"});
  CHECK(wrapped("日本 語", 4, true) == Lines{"日本", "語"});
  CHECK(wrapped("one two three four", 7, true, 2) == Lines{"one two", "three …"});
  CHECK(wrapped("", 7, true) == Lines{""});
}

TEST_CASE("a table fits the terminal by cutting only what may be cut") {
  const std::vector<Column> columns{
      {.title = "ID", .align = Align::right}, {.title = "NAME", .least = 8}, {.title = "EMPTY"}, {.title = "STATUS"}};
  const std::vector<std::vector<Cell>> rows{{{"1"}, {std::string(60, 'x')}, {""}, {"pending"}},
                                            {{"100"}, {"short"}, {""}, {"failed"}}};
  const std::string text = render_table(columns, rows, {.width = 40, .unicode = true, .color = false});
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) CHECK(display_width(line) <= 40);
  CHECK(contains(text, "pending"));
  CHECK(contains(text, "…"));
  CHECK(contains(text, "100  short"));
  CHECK_FALSE(contains(text, "EMPTY"));
}

TEST_CASE("where a table is too wide, columns go in the order of their rank, and those without one stay") {
  const std::vector<Column> columns{{.title = "ID", .align = Align::right},
                                    {.title = "QUEUE", .rank = 2},
                                    {.title = "NAME", .least = 10},
                                    {.title = "HOST", .rank = 1}};
  const std::vector<std::vector<Cell>> rows{{{"1"}, {"default"}, {std::string(20, 'x')}, {"host"}}};
  const auto titles = [&](std::size_t width) {
    std::istringstream line{render_table(columns, rows, {.width = width, .unicode = true, .color = false})};
    std::string text;
    for (std::string word; line >> word && word != "1";) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  CHECK(titles(80) == "ID QUEUE NAME HOST");
  CHECK(titles(39) == "ID QUEUE NAME HOST");
  CHECK(titles(38) == "ID NAME HOST");  // the name stays whole
  CHECK(titles(29) == "ID NAME");
  CHECK(titles(15) == "ID NAME");
  CHECK(contains(render_table(columns, rows, {.width = 13, .unicode = true, .color = false}), " 1  xxxxxxxx…\n"));
}

TEST_CASE("a wide table has all columns whole, and its cells in full") {
  const std::vector<Column> columns{{.title = "NAME", .least = 8}, {.title = "SEEN", .rank = 1}};
  const std::vector<std::vector<Cell>> rows{{{std::string(60, 'x')}, {"3 m ago", Color::plain, "2026-11-21 12:00:00"}}};
  CHECK(contains(render_table(columns, rows, {.width = 20, .wide = true}), "x  2026-11-21 12:00:00\n"));
}

TEST_CASE("a wider terminal never shows less of a column, and no column is cut while a less important one is there") {
  const std::vector<Column> columns{{.title = "I"},
                                    {.title = "N", .least = 16, .cut = Cut::middle},
                                    {.title = "M", .rank = 3, .least = 12},
                                    {.title = "L", .rank = 1, .least = 10, .enough = 20},
                                    {.title = "Q", .rank = 2, .least = 10},
                                    {.title = "S"}};
  const std::vector<std::size_t> lengths{8, 29, 60, 45, 21, 9};
  std::vector<Cell> row;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const char letter = static_cast<char>('a' + i);
    row.push_back({std::string(lengths[i], letter)});
  }
  std::vector<std::size_t> narrower(columns.size(), 0);
  for (std::size_t width = 20; width <= 200; ++width) {
    const std::string text = render_table(columns, {row}, {.width = width});
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const char letter = static_cast<char>('a' + i);
      shown.push_back(static_cast<std::size_t>(std::count(text.begin(), text.end(), letter)));
    }
    INFO(width << " columns:\n" << text);
    for (std::size_t i = 0; i < columns.size(); ++i) CHECK(shown[i] >= narrower[i]);
    if (shown[3] > 0) CHECK(shown[1] == 29);
    if (shown[4] > 0) CHECK(shown[3] >= 19);  // 20 are enough of a list while others wait for room
    if (shown[2] > 0) CHECK(shown[4] == 21);
    if (shown[3] > 20) CHECK(shown[2] == 60);
    narrower = shown;
  }
  CHECK(narrower == lengths);
}

TEST_CASE("where the columns that stay do not fit, the widest is cut first, each to its least before any below it") {
  const std::vector<Column> columns{{.title = "NAME", .least = 16, .cut = Cut::middle}, {.title = "CODE", .least = 24}};
  const std::vector<std::vector<Cell>> rows{{{std::string(29, 'n')}, {std::string(21, 'c')}}};
  CHECK(contains(render_table(columns, rows, {.width = 45}), "nnnnnnnnnnn…nnnnnnnnnn  ccccccccccccccccccccc\n"));
  CHECK(contains(render_table(columns, rows, {.width = 39}), "nnnnnnnn…nnnnnnn  ccccccccccccccccccccc\n"));
  CHECK(contains(render_table(columns, rows, {.width = 38}), "nnnnnnnn…nnnnnnn  ccccccccccccccccccc…\n"));
}

TEST_CASE("JSON strings are escaped, and broken UTF-8 does not break the document") {
  CHECK(JsonObject{}.add("a", "\"\n").add("n", 1).add("t", true).text() == R"({"a":"\"\n","n":1,"t":true})");
  CHECK_NOTHROW(json_string("\xFF"));
  CHECK(JsonObject{}.add("x", std::optional<std::int64_t>{}).text() == R"({"x":null})");
}

TEST_CASE("a policy's delays are listed with their ranges and their total") {
  const RetryPolicy policy = Exponential{.base = 30s, .max_retries = 5};
  const std::string text = render_delays(policy, plain);
  CHECK(contains(text, "22.5 s to 37.5 s"));
  CHECK(contains(text, "6 m to 10 m"));
  CHECK(contains(text, "15 m 30 s"));
  CHECK(total_of(delays_of(policy)) == DelayRange{697500ms, 930s, 1162500ms});
  CHECK(render_delays(NoRetry{}, plain) == "  never retried: a failure ends the task\n");
}

TEST_CASE("bars of delays are to scale") {
  const std::string text =
      render_delays(Linear{.initial = 10s, .increment = 10s, .max_retries = 2, .jitter = Jitter::none()},
                    {.width = 80, .unicode = false, .color = false});
  std::istringstream stream{text};
  std::vector<long> bars;
  for (std::string line; std::getline(stream, line);) {
    if (const auto cells = std::count(line.begin(), line.end(), '#'); cells > 0) bars.push_back(cells);
  }
  REQUIRE(bars.size() == 2);
  CHECK(std::abs(bars[1] - 2 * bars[0]) <= 1);
}

TEST_CASE("a line of NDJSON becomes a task, and its args stay as they are written") {
  PointerTexts pointers;
  const NewTask task = task_from_json_line(
      R"( {"args": {"n": 12345678901234567890123.50, "s": "a,}\"]"}, "name":"a.b", "queue":"q", "in":"1h30m", "priority":-5,)"
      R"( "trace_context":"t", "parent": 42, "args_version": 3} )",
      pointers);
  CHECK(task.name == "a.b");
  CHECK(task.args_json == R"({"n": 12345678901234567890123.50, "s": "a,}\"]"})");
  CHECK(task.options.queue == "q");
  CHECK(task.options.delay == 90min);
  CHECK(task.options.priority == -5);
  CHECK(task.options.trace_context == "t");
  CHECK(task.options.parent == TaskId{42});
  CHECK(task.args_version == 3);
  CHECK(task_from_json_line(R"({"name":"a"})", pointers).args_json == "{}");
  CHECK(task_from_json_line(R"({"name":"a","args":5})", pointers).args_json == "5");
  CHECK(task_from_json_line(R"({"name":"a","at":"2026-11-21T12:00Z"})", pointers).options.run_at.has_value());
}

TEST_CASE("a line of NDJSON makes a task unique as the options do") {
  PointerTexts pointers;
  const NewTask task = task_from_json_line(
      R"({"name":"a", "unique_by": ["/user", "/a~1b", ""], "unique_while": "pending", "on_conflict": "debounce",)"
      R"( "unique_period": "1h", "latest": "1m"})",
      pointers);
  REQUIRE(task.options.unique);
  const Unique& unique = *task.options.unique;
  CHECK(std::vector<std::string_view>{unique.by.begin(), unique.by.end()} ==
        std::vector<std::string_view>{"/user", "/a~1b", ""});
  CHECK(unique.while_ == UniqueWhile::pending);
  CHECK(unique.on_conflict == OnConflict::debounce);
  CHECK(unique.period == 1h);
  CHECK(unique.latest == 1min);
  CHECK(task_from_json_line(R"({"name":"a", "unique_key": "k"})", pointers).options.unique_key == "k");
  CHECK(task_from_json_line(R"({"name":"a", "unique_by": []})", pointers).options.unique->by.empty());
}

TEST_CASE("mistakes in what makes a line's task unique are named") {
  const auto of = [](const std::string& members) { return message_of(R"({"name":"a",)" + members + "}"); };
  CHECK(of(R"("unique_by":"/user")") == "\"unique_by\" is \"\"/user\"\", and must be a list of strings");
  CHECK(contains(of(R"("unique_by":["user"])"), "\"unique_by\" has \"user\", which is no JSON pointer"));
  std::string seventeen = "\"/0\"";
  for (int i = 1; i < 17; ++i) seventeen += ",\"/" + std::to_string(i) + "\"";
  CHECK(of(R"("unique_by":[)" + seventeen + "]") == "\"unique_by\" has 17 JSON pointers; the limit is 16");
  CHECK(of(R"("unique_key":")" + std::string(513, 'k') + "\"") == "\"unique_key\" has 513 bytes; the limit is 512");
  CHECK(of(R"("unique_key":"")") == "\"unique_key\" is empty");
  CHECK(of(R"("unique_key":"k","unique_by":["/a"])") == "give either \"unique_key\" or \"unique_by\", not both");
  CHECK(of(R"("unique_period":"0s")") == "\"unique_period\" is 0ms, and must be more than 0");
  CHECK(contains(of(R"("latest":"soon")"), "\"latest\": \"soon\" is not a duration"));
  CHECK(contains(of(R"("unique_while":"liv")"), "\"unique_while\": \"liv\" is not known (did you mean \"live\"?)"));
}

TEST_CASE("mistakes in a line are named") {
  CHECK(contains(message_of(R"({"name":"a","arg":{}})"), "\"arg\" is not known (did you mean \"args\"?)"));
  CHECK(contains(message_of(R"({"name":"a","name":"b"})"), "twice"));
  CHECK(contains(message_of(R"({"name":"a","args_version":0})"), "args_version 0 is not between 1 and 32767"));
  CHECK(contains(message_of(R"({"name":5})"), "\"name\" is \"5\", and must be a string"));
  CHECK(contains(message_of(R"({"args":{}})"), "needs a \"name\""));
  CHECK(contains(message_of(R"([1])"), "not a JSON object"));
  CHECK(contains(message_of(R"({"name":"a","priority":1.5})"), "whole number"));
  CHECK(contains(message_of(R"({"name":"a","priority":[1]})"), "whole number"));
  CHECK(contains(message_of(R"({"name":"a","priority":40000})"), "not between -32768 and 32767"));
  CHECK(contains(message_of(R"({"name":"a","priority":18446744073709551615})"), "whole number"));
  CHECK(contains(message_of(R"({"name":"a","at":"2611-06-13T12:00Z"})"), "at most 10 years from now"));
  CHECK(contains(message_of(R"({"name":"a","in":"soon"})"), "\"in\": \"soon\" is not a duration"));
  CHECK(contains(message_of(R"({"name":"a","in":"1s","at":"2026-11-21T12:00Z"})"), "not both"));
  CHECK(contains(message_of(R"({"name":"a",)"), "is not JSON: column"));
  CHECK(contains(message_of("{} {}"), "is not JSON"));
  CHECK(message_of("{\"name\":\"a - \xFF\"}") ==
        "the line is not JSON: column 14: invalid string: ill-formed UTF-8 byte");
  CHECK(contains(message_of(""), "is empty"));
}

TEST_CASE("a document of any depth is read without a stack", "[one_thread]") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_NOTHROW(require_json("ARGS", deep));
  PointerTexts pointers;
  CHECK(task_from_json_line(R"({"name":"a","args":)" + deep + "}", pointers).args_json == deep);
  CHECK_THROWS_AS(require_json("ARGS", std::string(1'000'000, '[')), InvalidInput);
}

TEST_CASE("malformed JSON is reported with its line and column") {
  try {
    require_json("ARGS", "{\n  \"a\": tru\n}");
    FAIL("accepted");
  } catch (const InvalidInput& error) {
    CHECK(contains(error.message(), "ARGS is not JSON: line 2, column"));
  }
}
