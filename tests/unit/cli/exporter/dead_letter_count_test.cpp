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
constexpr std::int64_t until_us = 1'000;
constexpr std::chrono::milliseconds usual{25};  // of a slice

DeadLetterSlice slice_until(std::int64_t end_us, std::vector<DeadLetters> letters) {
  return {.letters = std::move(letters), .end_us = end_us, .until_us = until_us};
}
DeadLetterSlice last_slice(std::vector<DeadLetters> letters) {
  return {.letters = std::move(letters), .end_us = std::nullopt, .until_us = until_us};
}

std::uint64_t sum_of(const std::vector<DeadLetters>& letters) {
  std::uint64_t sum = 0;
  for (const DeadLetters& row : letters) sum += row.count;
  return sum;
}

/// Of the answer; 0 if it has no such row.
std::uint64_t count_of(const DeadLetterCount& count, const std::string& task, const std::string& error_type) {
  const auto& letters = count.answer()->letters;
  const auto is_wanted = [&](const DeadLetters& row) { return row.task == task && row.error_type == error_type; };
  const auto found = std::find_if(letters.begin(), letters.end(), is_wanted);
  return found == letters.end() ? 0 : found->count;
}

}  // namespace

TEST_CASE("a count of dead letters goes on where the slice before ended, up to the time at which the count began") {
  DeadLetterCount count;
  REQUIRE(count.next(start) == DeadLetterRange{.after_us = 0, .until_us = std::nullopt});
  count.on_slice(slice_until(700, {{"send", "E1", 2}, {"send", "E2", 1}}), start, usual);
  CHECK_FALSE(count.answer());
  REQUIRE(count.next(start + seconds{1}) == DeadLetterRange{.after_us = 700, .until_us = until_us});
  count.on_slice(slice_until(900, {{"send", "E1", 3}, {"pay", "", 1}}), start + seconds{1}, usual);
  REQUIRE(count.next(start + minutes{20}) == DeadLetterRange{.after_us = 900, .until_us = until_us});
  count.on_slice({}, start + minutes{20}, usual);

  REQUIRE(count.answer());
  CHECK(count.answer()->begun == start);
  REQUIRE(count.answer()->letters.size() == 3);
  CHECK(count.answer()->letters.front().task == "pay");
  CHECK(count_of(count, "pay", "other") == 1);
  CHECK(count_of(count, "send", "E1") == 5);
  CHECK(count_of(count, "send", "E2") == 1);
}

TEST_CASE("a count of dead letters begins five minutes after the one before, and its answer is kept meanwhile") {
  DeadLetterCount count;
  count.on_slice(last_slice({{"send", "E1", 2}}), start, usual);
  REQUIRE(count.answer());
  CHECK_FALSE(count.next(start + minutes{5} - seconds{1}));
  const auto second = start + minutes{5};
  REQUIRE(count.next(second) == DeadLetterRange{});
  count.on_slice(slice_until(700, {{"send", "E1", 4}}), second, usual);
  CHECK(sum_of(count.answer()->letters) == 2);
  REQUIRE(count.next(second + seconds{1}) == DeadLetterRange{.after_us = 700, .until_us = until_us});
  count.on_slice(last_slice({{"send", "E2", 1}}), second + seconds{1}, usual);
  CHECK(sum_of(count.answer()->letters) == 5);
  CHECK_FALSE(count.next(second + minutes{5} - seconds{1}));
  CHECK(count.next(second + minutes{5}) == DeadLetterRange{});
}

TEST_CASE("an error code with many dead letters keeps its name, also if a hundred smaller codes were counted before") {
  DeadLetterCount count;
  std::vector<DeadLetters> small;
  for (int i = 0; i < 500; ++i) small.push_back({"send", "ID_" + std::to_string(i), 1});
  count.on_slice(slice_until(700, small), start, usual);
  count.on_slice(last_slice({{"send", "SMTP_550", 40}}), start + seconds{1}, usual);
  REQUIRE(count.answer());
  CHECK(count_of(count, "send", "SMTP_550") == 40);
  CHECK(count_of(count, "send", "other") == 500 - 99);
  CHECK(count.answer()->letters.size() == 101);
}

TEST_CASE("a count of dead letters with more pairs of task and code than it tells apart loses none", "[one_thread]") {
  DeadLetterCount count;
  const std::size_t slices = most_pairs_in_count / 1'000 + 2;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    std::vector<DeadLetters> found;
    for (int i = 0; i < 1'000; ++i) {
      const std::string name = "n" + std::to_string(1'000 * slice + static_cast<std::size_t>(i));
      found.push_back({name, name, 3});
    }
    const auto now = start + seconds{slice};
    count.on_slice(slice + 1 < slices ? slice_until(static_cast<std::int64_t>(slice) + 1, found) : last_slice(found),
                   now, usual);
  }
  REQUIRE(count.answer());
  CHECK(count.answer()->letters.size() == 2'001);
  CHECK(sum_of(count.answer()->letters) == 3'000 * slices);
  CHECK(count_of(count, "other", "other") >= 6'000);
}

TEST_CASE("a slow server counts its dead letters in smaller slices, and larger ones when it is fast again") {
  using std::chrono::milliseconds;
  DeadLetterCount count;
  const auto rows_after = [&](milliseconds took) {
    count.on_slice(slice_until(700, {}), start, took);
    return count.rows();
  };
  CHECK(count.rows() == 50'000);
  CHECK(rows_after(milliseconds{40}) == 50'000);
  CHECK(rows_after(milliseconds{41}) == 25'000);
  CHECK(rows_after(milliseconds{14}) == 25'000);
  CHECK(rows_after(milliseconds{13}) == 50'000);
  CHECK(rows_after(milliseconds{1}) == 50'000);
  for (int i = 0; i < 10; ++i) (void)rows_after(milliseconds{1'999});
  CHECK(count.rows() == 1'000);
}
