// Which slices of the dead letters the readings of the exporter count, and what becomes of them.
#include "cli/exporter/core/dead_letter_count.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace dogged::cli::exporter;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr DeadLetterCount::Time start{std::chrono::hours{1}};

std::uint64_t sum_of(const std::vector<DeadLetters>& letters) {
  std::uint64_t sum = 0;
  for (const DeadLetters& row : letters) sum += row.count;
  return sum;
}

}  // namespace

TEST_CASE(
    "a count of dead letters is answered when its last slice is counted, and goes on where the slice before ended") {
  DeadLetterCount count;
  REQUIRE(count.next(start) == 0);
  count.on_slice({{{"send", "E1", 2}, {"send", "E2", 1}}, 700}, start);
  CHECK_FALSE(count.answer());
  REQUIRE(count.next(start + seconds{1}) == 700);
  count.on_slice({{{"send", "E1", 3}, {"pay", "", 1}}, 900}, start + seconds{1});
  REQUIRE(count.next(start + minutes{20}) == 900);
  count.on_slice({}, start + minutes{20});

  REQUIRE(count.answer());
  CHECK(count.answer()->begun == start);
  const auto& letters = count.answer()->letters;
  REQUIRE(letters.size() == 3);
  CHECK((letters[0].task == "pay" && letters[0].error_type == "other" && letters[0].count == 1));
  CHECK((letters[1].task == "send" && letters[1].error_type == "E1" && letters[1].count == 5));
  CHECK((letters[2].task == "send" && letters[2].error_type == "E2" && letters[2].count == 1));
}

TEST_CASE("a count of dead letters begins five minutes after the one before, and its answer is kept meanwhile") {
  DeadLetterCount count;
  count.on_slice({{{"send", "E1", 2}}, std::nullopt}, start);
  REQUIRE(count.answer());
  CHECK_FALSE(count.next(start + minutes{5} - seconds{1}));
  const auto second = start + minutes{5};
  REQUIRE(count.next(second) == 0);
  count.on_slice({{{"send", "E1", 4}}, 700}, second);
  CHECK(sum_of(count.answer()->letters) == 2);
  REQUIRE(count.next(second + seconds{1}) == 700);
  count.on_slice({{{"send", "E2", 1}}, std::nullopt}, second + seconds{1});
  CHECK(sum_of(count.answer()->letters) == 5);
  CHECK_FALSE(count.next(second + minutes{5} - seconds{1}));
  CHECK(count.next(second + minutes{5}) == 0);
}

TEST_CASE("a count of dead letters with 10,000 tasks and codes in many slices is bounded, and loses none",
          "[one_thread]") {
  DeadLetterCount count;
  for (int slice = 0; slice < 100; ++slice) {
    DeadLetterSlice found;
    for (int i = 0; i < 100; ++i) {
      const std::string name = "n" + std::to_string(100 * slice + i);
      found.letters.push_back({name, name, 3});
    }
    if (slice < 99) found.end_us = slice + 1;
    count.on_slice(found, start + seconds{slice});
  }
  REQUIRE(count.answer());
  CHECK(count.answer()->letters.size() == 2001);
  CHECK(sum_of(count.answer()->letters) == 30'000);
}
