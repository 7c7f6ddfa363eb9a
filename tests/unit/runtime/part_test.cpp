// How long the parts of a worker wait for PostgreSQL.
#include "runtime/part.hpp"

#include <set>
#include <string_view>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;

namespace {

constexpr Part all_parts[] = {Part::start,   Part::registration, Part::shutdown, Part::handlers, Part::completer,
                              Part::claimer, Part::upkeep,       Part::chores,   Part::lease};

}  // namespace

TEST_CASE("no two parts of a worker share a name") {
  std::set<std::string_view> names;
  for (const Part part : all_parts) names.insert(to_text(part));
  CHECK(names.size() == std::size(all_parts));
}

TEST_CASE("the server gives up a statement before the worker gives up the connection, except of a heartbeat") {
  for (const milliseconds lease : {30ms, 30'000ms, 3'600'000ms}) {
    for (const Part part : all_parts) {
      CAPTURE(to_text(part), lease.count());
      const Patience patience = patience_of(part, lease, lease / 3);
      if (part == Part::lease) {
        CHECK(patience.answer_within >= 200ms);
        CHECK(patience.answer_within <= std::max<milliseconds>(lease / 3, 200ms));
        CHECK(patience.longest_backoff <= lease / 3);
      } else {
        CHECK(patience.answer_within == patience.statement_timeout + 5s);
      }
    }
  }
}

TEST_CASE("a statement for tasks takes no longer than the lease, and a statement for all workers has its own time") {
  CHECK(patience_of(Part::claimer, 10s, 1s) == Patience{10s, 15s, 5s});
  CHECK(patience_of(Part::completer, 1s, 100ms) == Patience{5s, 10s, 5s});
  CHECK(patience_of(Part::handlers, 1h, 10s) == Patience{30s, 35s, 5s});
  CHECK(patience_of(Part::upkeep, 10s, 1s) == Patience{30s, 35s, 5s});
  CHECK(patience_of(Part::chores, 10s, 1s) == Patience{120s, 125s, 60s});
  CHECK(patience_of(Part::lease, 30s, 1s) == Patience{30s, 10s, 1s});
}
