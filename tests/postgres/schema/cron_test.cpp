// When specs of schedules fire: against another implementation's answers, across changes of the clock in ten time
// zones, and what bad specs get.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using test::contains;
using test::error_of;
using test::TestDatabase;

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file{std::string{DOGGED_SOURCE_DIR} + path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// The next times of a spec as the clock of its zone shows them, with the offset from UTC.
std::string next_on_the_clock(TestDatabase& database, const std::string& spec, const std::string& zone,
                              const std::string& after, int count) {
  return database.value(
      R"(select string_agg(to_char(t at time zone $2, 'DD HH24:MI') || replace(to_char((t at time zone $2) - (t at time zone 'UTC'), ' +HH24:MI'), '+-', '-'),
                           ', ' order by t) as value
           from dogged.next_ticks($1, $2, $3::timestamptz, $4::int) t)",
      db::Params{}.add(spec).add(zone).add(after).add(count));
}

InvalidInput refusal_of(TestDatabase& database, const std::string& spec, const std::string& zone = "UTC",
                        const std::string& options = "") {
  return error_of<InvalidInput>([&] {
    database.run("select dogged.schedule('nightly', 'report', $1, $2" + options + ")",
                 db::Params{}.add(spec).add(zone));
  });
}

}  // namespace

TEST_CASE("10,000 specs fire when another implementation says that they do") {
  TestDatabase database;
  const std::string golden = file_text("/tests/postgres/schema/cron/golden.txt");
  REQUIRE(golden.size() > 100'000);
  const std::string tables = R"(
    with lines as (select string_to_array(line, E'\t') as parts from regexp_split_to_table(rtrim($1, E'\n'), E'\n') line),
         compared as (
           select parts[1] as spec, parts[2]::bigint as after, parts[3] as expected,
                  (select string_agg((extract(epoch from t)::bigint - parts[2]::bigint)::text, ',' order by t)
                     from dogged.next_ticks(parts[1], 'UTC', to_timestamp(parts[2]::bigint), 5) t) as found
             from lines) )";
  CHECK(database.value(tables + "select count(*) as value from compared", db::Params{}.add(golden)) == "10000");
  CHECK(database.value(
            tables +
                "select string_agg(format('%s after %s: %s, not %s', spec, after, found, expected), E'\\n') as value "
                "from (select * from compared where found is distinct from expected limit 5) wrong",
            db::Params{}.add(golden)) == "null");
}

TEST_CASE("in a whole year, specs fire at the minutes that another implementation gives, and at no others") {
  TestDatabase database;
  const std::string golden = file_text("/tests/postgres/schema/cron/year.txt");
  REQUIRE(std::count(golden.begin(), golden.end(), '\n') == 300);
  CHECK(database.value(R"(
    select string_agg(format('%s: %s times, not %s, or other ones', spec, found.times, expected), E'\n') as value
      from (select parts[1] as spec, parts[2]::int as expected, parts[3] as expected_sum
              from (select string_to_array(line, E'\t') as parts from regexp_split_to_table(rtrim($1, E'\n'), E'\n') line) l) s
     cross join lateral (
       select count(*) as times, md5(string_agg(extract(epoch from t)::bigint::text, ',' order by t)) as sum
         from dogged.next_ticks(spec, 'UTC', '2026-12-31 23:59:59Z', expected + 1) t where t < '2028-01-01Z') found
     where (found.times, found.sum) is distinct from (expected::bigint, expected_sum))",
                       db::Params{}.add(golden)) == "null");
}

// These tests read the clock of the zone minute by minute. A spec with fixed hours fires when the clock first shows, or
// jumps over, one of its times. A spec of every hour fires whenever the clock shows one.
TEST_CASE("across changes of the clock in ten zones, fixed hours fire once a day and every hour by elapsed time") {
  TestDatabase database;
  database.script(R"(
    create function dogged.wrong_ticks(zone text, day timestamptz, spec text) returns text language sql as $$
      with clock as (select t, t at time zone zone as shown
                       from generate_series(day - interval '2 days', day + interval '36 hours', interval '1 minute') t),
           advance as (select t, shown, max(shown) over (order by t) as latest,
                              max(shown) over (order by t rows between unbounded preceding and 1 preceding) as before
                         from clock),
           parts as (select string_to_array(split_part(spec, ' ', 1), ',') as minutes,
                            string_to_array(split_part(spec, ' ', 2), ',') as hours),
           expected as (
             select t from advance, parts
              where hours <> '{*}'
                and exists (select from generate_series(before + interval '1 minute', latest, interval '1 minute') l
                             where extract(minute from l)::text = any (minutes) and extract(hour from l)::text = any (hours))
              union all
             select t from advance, parts where hours = '{*}' and extract(minute from shown)::text = any (minutes))
      select format('%s, %s, %s', zone, day, spec)
       where array(select t from expected where t > day - interval '36 hours' order by t) is distinct from
             array(select t from dogged.next_ticks(spec, zone, day - interval '36 hours', 1000) t where t <= day + interval '36 hours')
    $$)");
  CHECK(database.value(R"(
    select string_agg(dogged.wrong_ticks(zone, day::timestamptz, spec), E'\n') as value
      from (values ('Europe/Berlin', '2026-03-29'), ('Europe/Berlin', '2026-10-25'), ('Europe/Dublin', '2026-03-29'),
                   ('Europe/Dublin', '2026-10-25'), ('America/New_York', '2026-03-08'), ('America/New_York', '2026-11-01'),
                   ('Australia/Lord_Howe', '2026-04-05'), ('Australia/Lord_Howe', '2026-10-04'), ('Pacific/Apia', '2011-12-30'),
                   ('Asia/Kathmandu', '1986-01-01'), ('Africa/Casablanca', '2026-02-15'), ('Africa/Casablanca', '2026-03-22'),
                   ('America/Sao_Paulo', '2018-11-04'), ('America/Sao_Paulo', '2019-02-17'), ('Africa/Cairo', '2026-04-24'),
                   ('Africa/Cairo', '2026-10-30'), ('Antarctica/Troll', '2026-03-29'), ('Antarctica/Troll', '2026-10-25'),
                   ('Asia/Tehran', '2022-03-22'), ('Asia/Tehran', '2022-09-22')) as changes (zone, day),
           (values ('30 2 * * *'), ('0 0 * * *'), ('30 0,1,2,3 * * *'), ('15 23 * * *'), ('0,20,40 * * * *'), ('7 * * * *'))
             as specs (spec))") == "null");
}

TEST_CASE(
    "a local time that the clock leaves out fires when it goes on, and one that it shows twice fires the first time") {
  TestDatabase database;
  CHECK(next_on_the_clock(database, "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", 2) ==
        "29 03:00 +02:00, 30 02:30 +02:00");
  CHECK(next_on_the_clock(database, "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2) ==
        "25 02:30 +02:00, 26 02:30 +01:00");
  // Asked while the clock shows the hour again.
  CHECK(next_on_the_clock(database, "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z", 1) == "26 02:30 +01:00");
  CHECK(next_on_the_clock(database, "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00Z", 2) ==
        "04 01:00 -02:00, 05 00:00 -02:00");
  CHECK(next_on_the_clock(database, "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00Z", 2) ==
        "04 02:30 +11:00, 05 02:15 +11:00");
  CHECK(next_on_the_clock(database, "0 9 * * *", "Pacific/Apia", "2011-12-30T00:00Z", 2) ==
        "31 00:00 +14:00, 31 09:00 +14:00");
  CHECK(next_on_the_clock(database, "0 9 * * *", "Asia/Kathmandu", "2026-06-01T00:00Z", 1) == "01 09:00 +05:45");
}

TEST_CASE("a spec of every hour runs by elapsed time across changes of the clock") {
  TestDatabase database;
  CHECK(next_on_the_clock(database, "30 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", 3) ==
        "29 01:30 +01:00, 29 03:30 +02:00, 29 04:30 +02:00");
  CHECK(next_on_the_clock(database, "30 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", 3) ==
        "25 02:30 +02:00, 25 02:30 +01:00, 25 03:30 +01:00");
}

TEST_CASE("a spec of each second hour fires at the hours that the clock shows, across its changes") {
  TestDatabase database;
  // 02:00 is left out in spring and no tick makes up for it; in autumn the clock shows 02:00 twice, and both fire.
  CHECK(next_on_the_clock(database, "0 */2 * * *", "Europe/Berlin", "2026-03-28T23:30Z", 2) ==
        "29 04:00 +02:00, 29 06:00 +02:00");
  CHECK(next_on_the_clock(database, "0 */2 * * *", "Europe/Berlin", "2026-10-24T22:30Z", 3) ==
        "25 02:00 +02:00, 25 02:00 +01:00, 25 04:00 +01:00");
}

TEST_CASE("an interval is counted from midnight of 1 January 1970 in its zone, in any session and at any time") {
  TestDatabase database;
  CHECK(next_on_the_clock(database, "every 90s", "UTC", "2026-11-26T12:00:01Z", 2) ==
        "26 12:01 +00:00, 26 12:03 +00:00");
  CHECK(next_on_the_clock(database, "every 7h", "UTC", "1970-01-01T00:00:00Z", 3) ==
        "01 07:00 +00:00, 01 14:00 +00:00, 01 21:00 +00:00");
  CHECK(next_on_the_clock(database, "every 1d", "Asia/Kathmandu", "1970-01-01T00:00Z", 1) ==
        next_on_the_clock(database, "every 1d", "Asia/Kathmandu", "1970-01-01T12:00Z", 1));
}

TEST_CASE(
    "what fits either day fires where both days are restricted, and what fits both where one begins with a star") {
  TestDatabase database;
  CHECK(next_on_the_clock(database, "0 0 13 * 5", "UTC", "2026-11-01T00:00Z", 3) ==
        "06 00:00 +00:00, 13 00:00 +00:00, 20 00:00 +00:00");
  CHECK(next_on_the_clock(database, "0 0 */2 * MON", "UTC", "2026-11-01T00:00Z", 2) ==
        "09 00:00 +00:00, 23 00:00 +00:00");
}

TEST_CASE("the names of specs, their last days and their n-th weekdays fire as they say") {
  TestDatabase database;
  CHECK(next_on_the_clock(database, "@weekly", "UTC", "2026-11-26T00:00Z", 1) == "29 00:00 +00:00");
  CHECK(next_on_the_clock(database, "@yearly", "UTC", "2026-11-26T00:00Z", 1) == "01 00:00 +00:00");
  CHECK(next_on_the_clock(database, "0 9 L * *", "UTC", "2028-02-01T00:00Z", 1) == "29 09:00 +00:00");
  CHECK(next_on_the_clock(database, "0 9 * * 5#2", "UTC", "2026-11-01T00:00Z", 1) == "13 09:00 +00:00");
  CHECK(next_on_the_clock(database, "0 9 * * friL", "UTC", "2026-11-01T00:00Z", 1) == "27 09:00 +00:00");
  CHECK(next_on_the_clock(database, "0 0 * FEB 1#5", "UTC", "2081-01-01T00:00Z", 1) == "29 00:00 +00:00");  // 2112
}

TEST_CASE("a weekday 7 is Sunday, alone, in ranges, in lists and with a number") {
  TestDatabase database;
  const auto next = [&](const std::string& spec) {
    return next_on_the_clock(database, spec, "UTC", "2026-11-23T00:00Z", 8);  // a Monday
  };
  CHECK(next_on_the_clock(database, "0 0 * * 7", "UTC", "2026-11-23T00:00Z", 2) == "29 00:00 +00:00, 06 00:00 +00:00");
  CHECK(next_on_the_clock(database, "0 0 * * 5-7", "UTC", "2026-11-23T00:00Z", 4) ==
        "27 00:00 +00:00, 28 00:00 +00:00, 29 00:00 +00:00, 04 00:00 +00:00");
  CHECK(next("0 0 * * 7") == next("0 0 * * 0"));
  CHECK(next("0 0 * * 5-7") == next("0 0 * * 0,5,6"));
  CHECK(next("0 0 * * 1,7") == next("0 0 * * SUN,MON"));
  CHECK(next("0 0 * * 7#2") == next("0 0 * * 0#2"));
  CHECK(next("0 0 * * 7L") == next("0 0 * * SUNL"));
  CHECK(next("0 0 * * 0-7") == next("0 0 * * *"));
  CHECK(next("0 0 * * MON-FRI") == next("0 0 * * 1,2,3,4,5"));
  CHECK(next_on_the_clock(database, "0 0 * * MON-FRI", "UTC", "2026-11-26T00:00Z", 3) ==
        "27 00:00 +00:00, 30 00:00 +00:00, 01 00:00 +00:00");
}

TEST_CASE("each name of a spec fires as its five fields do") {
  TestDatabase database;
  const auto [name, fields] = GENERATE(table<std::string, std::string>({{"@hourly", "0 * * * *"},
                                                                        {"@daily", "0 0 * * *"},
                                                                        {"@midnight", "0 0 * * *"},
                                                                        {"@weekly", "0 0 * * 0"},
                                                                        {"@monthly", "0 0 1 * *"},
                                                                        {"@yearly", "0 0 1 1 *"},
                                                                        {"@annually", "0 0 1 1 *"},
                                                                        {"@DAILY", "0 0 * * *"}}));
  INFO(name);
  for (const char* zone : {"UTC", "Europe/Berlin"}) {
    CHECK(next_on_the_clock(database, name, zone, "2026-10-24T12:34Z", 20) ==
          next_on_the_clock(database, fields, zone, "2026-10-24T12:34Z", 20));
  }
}

TEST_CASE("a mistake in a spec is refused with its field, its value and its range") {
  TestDatabase database;
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {"60 * * * *", "its minute field has 60, which is not from 0 to 59"},
      {"0 24 * * *", "its hour field has 24, which is not from 0 to 23"},
      {"0 0 0 * *", "its day-of-month field has 0, which is not from 1 to 31"},
      {"0 0 * 13 *", "its month field has 13, which is not from 1 to 12"},
      {"0 0 * * 8", "its day-of-week field has 8, which is not from 0 to 7"},
      {"x 0 0 * * *", "its second field has \"x\", which is not a number"},
      {"0 0 * FOO *", "its month field has \"FOO\", which is not a number"},
      {"30-10 * * * *", "its minute field has the range \"30-10\", which ends before it begins"},
      {"*/0 * * * *", "its minute field has the step \"0\", which is not from 1 to 60"},
      {"5/15 * * * *", "its minute field has \"5/15\", a step without a range"},
      {"0 0 * * 5#6", "its day-of-week field has \"5#6\", and a month has the 1st to the 5th of a weekday"},
      {"0 0 * *", "it has 4 fields, not 5 or 6"},
      {"0 0 * * * * *", "it has 7 fields, not 5 or 6"},
      {"1,,2 * * * *", "its minute field has \"\", which is not a number"},
      {"@often", "this name is not known"},
      {"every", "\"\" is not a duration from 1s to 366d"},
      {"every 0s", "\"0s\" is not a duration from 1s to 366d"},
      {"every 1500ms", "\"1500ms\" is not a duration from 1s to 366d"},
      {"", "a schedule's spec is empty"},
  };
  for (const auto& [spec, message] : mistakes) {
    const InvalidInput error = refusal_of(database, spec);
    INFO(spec << ": " << error.message());
    CHECK(contains(error.message(), message));
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("next times after a time that is infinite, null or far from any calendar are refused with that time") {
  TestDatabase database;
  for (const char* spec : {"0 3 * * *", "@hourly", "every 90s"}) {
    for (const char* after : {"infinity", "-infinity", "20000-01-01", "0005-01-01 BC"}) {
      const auto ask = [&] {
        database.run("select * from dogged.next_ticks($1, 'UTC', $2::timestamptz)", db::Params{}.add(spec).add(after));
      };
      CHECK(contains(error_of<InvalidInput>(ask).message(), "\": after is " + std::string{after}.substr(0, 5)));
    }
    const auto null = [&] {
      database.run("select * from dogged.next_ticks($1, after => null)", db::Params{}.add(spec));
    };
    CHECK(contains(error_of<InvalidInput>(null).message(), "after is null"));
    CHECK(database.value("select dogged.next_tick(dogged.compile_spec($1), 'UTC', null) is null as value",
                         db::Params{}.add(spec)) == "t");
  }
}

TEST_CASE("forms of other crons that dogged lacks are refused, and the hint says how to write the spec") {
  TestDatabase database;
  const auto [spec, remedy] = GENERATE(table<std::string, std::string>({{"0 0 L-3 * *", "L is the last day"},
                                                                        {"0 0 15W * *", "L is the last day"},
                                                                        {"0 0 * * L", "5L is the last Friday"},
                                                                        {"0 0 * * 1-5#2", "5#2 the second"},
                                                                        {"0 0 ? * MON", "Write * for any value."},
                                                                        {"0 0 1 * ?", "Write * for any value."}}));
  const InvalidInput error = refusal_of(database, spec);
  INFO(spec << ": " << error.message() << ": " << error.hint());
  CHECK(contains(error.message(), "which is not a number"));
  CHECK(contains(error.hint(), remedy));
}

TEST_CASE("a spec that never fires is refused, and one that fires more often than every 10 s unless that is meant") {
  TestDatabase database;
  CHECK(contains(refusal_of(database, "0 0 30 2 *").message(), "its spec \"0 0 30 2 *\" never fires"));
  CHECK(contains(refusal_of(database, "* * * * * *").message(), "fires again after 1 s"));
  CHECK(contains(refusal_of(database, "0,55 * * * * *").message(), "fires again after 5 s"));
  CHECK(contains(refusal_of(database, "every 9s").message(), "fires again after 9 s"));
  CHECK(database.value("select dogged.schedule('each', 'report', '* * * * * *', allow_frequent => true) as value") ==
        "created");
  CHECK(database.value("select dogged.schedule('ten', 'report', 'every 10s') as value") == "created");
}

TEST_CASE(
    "only names of the IANA time zone database are time zones, and the refusal of a misspelt one names the nearest") {
  TestDatabase database;
  for (const char* zone :
       {"Europe/Berln", "FOO+3", "CET-1CEST", "+01:00", "berlin", "japan", "localtime", "", "Etc/GMT+99", "Etc/GMT+13",
        "Etc/GMT-15", "Etc/GMT+05", "Factory", "Europe/BERLIN", "America/new_york", "America/Knox_In"}) {
    INFO(zone);
    const InvalidInput error = refusal_of(database, "0 3 * * *", zone);
    CHECK(contains(error.message(), "its time zone \"" + std::string{zone} + "\" is not known"));
    CHECK(contains(error.hint(), "pg_timezone_names"));
  }
  CHECK(contains(refusal_of(database, "0 3 * * *", "berlin").hint(), "Nearest to it: Europe/Berlin, "));
  CHECK(contains(refusal_of(database, "0 3 * * *", "Europe/Berln").hint(), "Nearest to it: Europe/Berlin, "));
  CHECK(contains(refusal_of(database, "0 3 * * *", "Europe/BERLIN").hint(), "Nearest to it: Europe/Berlin, "));
  for (const std::string zone : {"Etc/GMT+0", "Etc/GMT+5", "Etc/GMT+12", "Etc/GMT-0", "Etc/GMT-14"}) {
    CHECK(database.value("select dogged.schedule('" + zone.substr(4, 3) + "', 'report', '0 3 * * *', '" + zone +
                         "') as value") != "");
  }
}

TEST_CASE("the pattern of common time zones matches no other spelling of a name that the server knows") {
  TestDatabase database;
  CHECK(database.value("select coalesce(string_agg(z.name, ' '), '') as value from pg_timezone_names z "
                       "where z.name ~ '^[A-Z]' and z.name <> initcap(z.name) and dogged.is_time_zone(initcap(z.name)) "
                       "and not exists (select from pg_timezone_names same where same.name = initcap(z.name))") == "");
}

// Debian 13 has names without a slash in a package of their own.
TEST_CASE("a time zone without a slash is accepted if the server has the name in this spelling") {
  TestDatabase database;
  const std::string zone =
      GENERATE("Japan", "GB", "Poland", "Cuba", "Universal", "EST5EDT", "W-SU", "Etc/UTC", "America/Port-au-Prince");
  const bool is_there = database.value("select exists (select from pg_timezone_names where name = $1)::text as value",
                                       db::Params{}.add(zone)) == "true";
  INFO(zone);
  if (is_there) {
    CHECK(database.value("select dogged.schedule('zone', 'report', '0 3 * * *', $1) as value",
                         db::Params{}.add(zone)) == "created");
  } else {
    CHECK(contains(refusal_of(database, "0 3 * * *", zone).message(), "is not known"));
  }
}

TEST_CASE("an abbreviation of a time zone is refused with the zone to write for its offset") {
  TestDatabase database;
  const auto [zone, offset] = GENERATE(table<std::string, std::string>(
      {{"CET", "Etc/GMT-1"}, {"EST", "Etc/GMT+5"}, {"GMT", "or UTC"}, {"Zulu", "or UTC"}, {"MET", "Etc/GMT-1"}}));
  const InvalidInput error = refusal_of(database, "0 3 * * *", zone);
  CHECK(contains(error.message(),
                 "its time zone \"" + zone + "\" is an abbreviation, which has no changes of the clock"));
  CHECK(contains(error.hint(), offset));
}
