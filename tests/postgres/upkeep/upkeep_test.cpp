// Upkeep's connection while there is work without end.
#include <algorithm>
#include <memory>
#include <string>

#include <spdlog/sinks/ringbuffer_sink.h>

#include "support/catch.hpp"
#include "support/start_upkeep.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::eventually;
using test::terminate_connection;
using test::TestDatabase;

TEST_CASE("upkeep forgets a lost connection once PostgreSQL answers again, also where ticks are always due") {
  TestDatabase database;
  database.script(R"(
    select dogged.schedule('nightly', 'report', '0 0 1 1 *');
    update dogged.schedules set fires_at = now() - interval '1 second';
    create or replace function dogged.fire_due_ticks(most integer default 100, out schedules integer,
                                                     out due_in_ms bigint)
    language sql as 'select 1, 0::bigint')");
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(1000);
  const auto upkeep = test::start_upkeep(
      database, {.heartbeat = 1s},
      std::make_shared<runtime::SharedLease>(add_worker(database), 1h, std::chrono::steady_clock::now()),
      std::make_shared<spdlog::logger>("test", lines));
  const auto logged = [&](const std::string& words) {
    const auto all = lines->last_formatted();
    return std::any_of(all.begin(), all.end(), [&](const std::string& line) { return contains(line, words); });
  };
  REQUIRE(eventually([&] { return terminate_connection(database, "upkeep") == 1; }));
  CHECK(eventually([&] { return logged("upkeep: PostgreSQL answers again"); }));
}
