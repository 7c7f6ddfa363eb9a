// Where a claim looks: never past a task that may be ready, and not again where there can be none.
#include "claim/core/watermarks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "support/catch.hpp"
#include "support/property.hpp"

using namespace dogged::runtime;
using Range = Watermarks::Range;

namespace {

constexpr Place first = std::numeric_limits<Place>::min();
constexpr Place last = std::numeric_limits<Place>::max();

constexpr Place in_front(std::int64_t priority, std::int64_t number) {
  return place_of(priority, number) - (Place{1} << 46);
}

bool looks_at(const Watermarks& watermarks, Place place) {
  for (const Range& range : watermarks.ranges()) {
    if (place > range.after && place <= range.upto) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a place is of the priority first, and of the position within it") {
  CHECK(place_of(0, 7) == 7);
  CHECK(place_of(1, 7) == 140'737'488'355'335);
  CHECK(place_of(-1, 7) == -140'737'488'355'321);
  CHECK(place_of(-32'768, 0) == -4'611'686'018'427'387'904);
  CHECK(place_of(32'767, 7) == 4'611'545'280'939'032'583);
}

TEST_CASE("at first a claim looks everywhere") { CHECK(Watermarks{}.ranges() == std::vector<Range>{{first, last}}); }

TEST_CASE("claimed places are passed over until they are forgotten, and more urgent tasks are not") {
  Watermarks watermarks;
  watermarks.note_claimed(place_of(0, 100));
  CHECK(watermarks.passes_over_claimed());
  CHECK(watermarks.ranges() == std::vector<Range>{{first, place_of(0, 0)}, {place_of(0, 100), last}});
  CHECK(looks_at(watermarks, place_of(-1, 5)));
  CHECK(looks_at(watermarks, in_front(0, 5)));
  CHECK_FALSE(looks_at(watermarks, place_of(0, 100)));
  CHECK(looks_at(watermarks, place_of(0, 101)));
  CHECK(looks_at(watermarks, in_front(1, 5)));
  CHECK(looks_at(watermarks, place_of(1, 5)));
  watermarks.forget_claimed();
  CHECK_FALSE(watermarks.passes_over_claimed());
  CHECK(watermarks.ranges() == std::vector<Range>{{first, last}});
}

TEST_CASE("settled places are passed over for good, in their lane alone") {
  Watermarks watermarks;
  watermarks.note_claimed(place_of(7, 50));
  watermarks.note_claimed(in_front(7, 60));
  watermarks.forget_claimed();
  CHECK(watermarks.unsettled(40) ==
        std::vector<Range>{{in_front(7, 0), in_front(7, 40)}, {place_of(7, 0), place_of(7, 40)}});
  watermarks.settle(place_of(7, 40));
  CHECK_FALSE(looks_at(watermarks, place_of(7, 40)));
  CHECK(looks_at(watermarks, place_of(7, 41)));
  CHECK(looks_at(watermarks, in_front(7, 1)));
  CHECK(looks_at(watermarks, place_of(6, 40)));
  CHECK(watermarks.unsettled(40) == std::vector<Range>{{in_front(7, 0), in_front(7, 40)}});
  watermarks.settle(in_front(7, 40));
  CHECK_FALSE(looks_at(watermarks, in_front(7, 40)));
  CHECK(looks_at(watermarks, in_front(7, 41)));
  watermarks.settle(place_of(7, 30));  // an older answer takes nothing back
  CHECK_FALSE(looks_at(watermarks, place_of(7, 40)));
  watermarks.forget_settled();
  CHECK(looks_at(watermarks, place_of(7, 1)));
  CHECK(watermarks.unsettled(40) ==
        std::vector<Range>{{in_front(7, 0), in_front(7, 40)}, {place_of(7, 0), place_of(7, 40)}});
  watermarks.settle(place_of(7, 20));  // there was something after all
  CHECK_FALSE(looks_at(watermarks, place_of(7, 20)));
  CHECK(looks_at(watermarks, place_of(7, 21)));
  watermarks.forget();
  CHECK(watermarks.unsettled(40).empty());
  CHECK(watermarks.ranges() == std::vector<Range>{{first, last}});
}

TEST_CASE("a lane that nothing was claimed from is not settled") {
  Watermarks watermarks;
  CHECK(watermarks.unsettled(1000).empty());
  watermarks.settle(place_of(0, 1000));
  CHECK(watermarks.ranges() == std::vector<Range>{{first, last}});
}

TEST_CASE("of many priorities those claimed from last are kept apart") {
  Watermarks watermarks;
  for (std::int64_t priority = 0; priority < 100; ++priority) watermarks.note_claimed(place_of(priority, 10));
  CHECK(watermarks.ranges().size() == Watermarks::max_lanes + 1);
  CHECK(looks_at(watermarks, place_of(0, 1)));
  CHECK_FALSE(looks_at(watermarks, place_of(99, 1)));
}

TEST_CASE("a priority that is claimed from again is kept apart, before those that were not") {
  Watermarks watermarks;
  for (std::int64_t priority = 0; priority < std::int64_t{Watermarks::max_lanes}; ++priority) {
    watermarks.note_claimed(place_of(priority, 10));
  }
  watermarks.note_claimed(place_of(0, 11));
  watermarks.note_claimed(place_of(Watermarks::max_lanes, 10));
  CHECK_FALSE(looks_at(watermarks, place_of(0, 11)));
  CHECK(looks_at(watermarks, place_of(1, 1)));
}

TEST_CASE("every priority has its places, the first and the last as well") {
  for (const std::int64_t priority : {-32768, 32767}) {
    Watermarks watermarks;
    watermarks.note_claimed(place_of(priority, 10));
    watermarks.note_claimed(in_front(priority, 10));
    CHECK_FALSE(looks_at(watermarks, place_of(priority, 10)));
    CHECK_FALSE(looks_at(watermarks, in_front(priority, 10)));
    CHECK(looks_at(watermarks, place_of(priority, 11)));
    CHECK(looks_at(watermarks, in_front(priority, 11)));
  }
}

TEST_CASE("the ranges are in order, apart, and hold exactly what was neither claimed nor settled") {
  REQUIRE(dogged::test::holds([] {
    Watermarks watermarks;
    std::map<std::pair<std::int64_t, bool>, std::int64_t> passed;  // by priority and lane
    const auto steps = *rc::gen::container<std::vector<std::tuple<bool, int, bool, int>>>(rc::gen::tuple(
        rc::gen::arbitrary<bool>(), rc::gen::inRange(-3, 4), rc::gen::arbitrary<bool>(), rc::gen::inRange(1, 50)));
    for (const auto& [settles, priority, front, number] : steps) {
      const Place place = front ? in_front(priority, number) : place_of(priority, number);
      std::int64_t& upto = passed[{priority, front}];
      if (settles && upto == 0) continue;  // not a lane yet
      settles ? watermarks.settle(place) : watermarks.note_claimed(place);
      upto = std::max<std::int64_t>(upto, number);
    }
    const std::vector<Range> ranges = watermarks.ranges();
    RC_ASSERT(ranges.front().after == first);
    RC_ASSERT(ranges.back().upto == last);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      RC_ASSERT(ranges[i].after < ranges[i].upto);
      if (i > 0) RC_ASSERT(ranges[i - 1].upto < ranges[i].after);
    }
    for (int priority = -4; priority <= 4; ++priority) {
      for (int number = 1; number <= 50; ++number) {
        RC_ASSERT(looks_at(watermarks, place_of(priority, number)) == (number > passed[{priority, false}]));
        RC_ASSERT(looks_at(watermarks, in_front(priority, number)) == (number > passed[{priority, true}]));
      }
    }
  }));
}
