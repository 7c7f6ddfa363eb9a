// Which rows the readings of the exporter ask for.
#include "cli/exporter/core/look_back.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"

using namespace dogged::cli::exporter;
using std::chrono::seconds;

namespace {

constexpr std::int64_t second = 1'000'000;
constexpr seconds short_back{30};  // in place of two minutes, so that a walk has fewer steps

/// A row that ended at one second and became visible at another.
struct Row {
  std::int64_t ended, visible;
  int counted = 0;
  std::int64_t counted_at = 0;
};

/// Readings of these rows. A snapshot is the second at which it was taken.
class Readings {
 public:
  explicit Readings(std::vector<Row> rows, seconds back = short_back) : rows_(std::move(rows)), back_(back) {}

  void read(std::int64_t at) {
    for (const Unseen& asked : look_back_.next(at * second, back_)) {
      for (Row& row : rows_) {
        const bool is_in_range =
            row.ended * second >= asked.after_us && (!asked.until_us || row.ended * second < *asked.until_us);
        if (!is_in_range || row.visible > at || row.visible <= std::stoll(asked.snapshot)) continue;
        ++row.counted;
        row.counted_at = at;
      }
    }
    look_back_.on_read({std::to_string(at), at * second}, back_);
  }

  void give_up(std::int64_t at) { look_back_.on_given_up({std::to_string(at), at * second}); }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::vector<Unseen> next(std::int64_t at) const { return look_back_.next(at * second, back_); }

 private:
  std::vector<Row> rows_;
  seconds back_;
  LookBack look_back_;
};

std::vector<Row> rows_until(std::int64_t last) {
  std::vector<Row> rows;
  for (std::int64_t ended = 0; ended <= last; ++ended) {
    for (const std::int64_t late : {0, 1, 4, 5, 6, 14, 29, 30, 31, 50}) rows.push_back({ended, ended + late});
  }
  return rows;
}

constexpr std::int64_t first = 40;  // the first reading; rows may have ended before

/// Calls `check` with the times of readings after the first, for all sequences of `length` intervals.
template <class Check>
void walk(int length, Check check) {
  const std::vector<std::int64_t> intervals{1, 4, 10, 15, 33, 70};
  std::vector<std::size_t> chosen(static_cast<std::size_t>(length), 0);
  while (true) {
    std::vector<std::int64_t> times{first};
    for (const std::size_t interval : chosen) times.push_back(times.back() + intervals[interval]);
    check(times);
    auto next = std::find_if(chosen.begin(), chosen.end(), [&](std::size_t i) { return i + 1 < intervals.size(); });
    if (next == chosen.end()) return;
    ++*next;
    std::fill(chosen.begin(), next, 0);
  }
}

}  // namespace

TEST_CASE("each row that becomes visible within the look back counts once, whenever the exporter is scraped",
          "[one_thread]") {
  walk(4, [](std::vector<std::int64_t> times) {
    const std::int64_t last = times.back();
    for (const std::int64_t more : {20, 40, 60, 100})
      times.push_back(last + more);  // so that all marks are asked again
    Readings readings{rows_until(last)};
    for (const std::int64_t at : times) readings.read(at);
    for (const Row& row : readings.rows()) {
      const bool is_seen_by_first = row.visible <= first;
      const bool is_in_time = row.visible - row.ended <= short_back.count();
      if (is_seen_by_first ? row.counted == 0 : is_in_time ? row.counted == 1 : row.counted <= 1) continue;
      CAPTURE(times, row.ended, row.visible, row.counted);
      FAIL("counted " << row.counted << " times");
    }
  });
}

TEST_CASE("the next reading counts a row that becomes visible within five seconds", "[one_thread]") {
  walk(4, [](const std::vector<std::int64_t>& times) {
    Readings readings{rows_until(times.back())};
    for (const std::int64_t at : times) readings.read(at);
    for (const Row& row : readings.rows()) {
      if (row.visible <= first || row.visible - row.ended > 5 || row.visible > times.back()) continue;
      const std::int64_t next = *std::lower_bound(times.begin(), times.end(), row.visible);
      if (row.counted_at == next) continue;
      CAPTURE(times, row.ended, row.visible, row.counted_at);
      FAIL("counted at " << row.counted_at << " and not at " << next);
    }
  });
}

TEST_CASE("a reading each 15 s asks for the last 20 s, and for the 15 s before the look back") {
  Readings readings{{}};
  CHECK(readings.next(0).empty());
  for (const std::int64_t at : {0, 15}) readings.read(at);
  CHECK(readings.next(30) == std::vector<Unseen>{{.snapshot = "15", .after_us = 10 * second, .until_us = std::nullopt},
                                                 {.snapshot = "0", .after_us = -30 * second, .until_us = -5 * second}});
  for (std::int64_t at = 30; at <= 300; at += 15) readings.read(at);
  CHECK(readings.next(315) ==
        std::vector<Unseen>{{.snapshot = "300", .after_us = 295 * second, .until_us = std::nullopt},
                            {.snapshot = "285", .after_us = 265 * second, .until_us = 280 * second}});
}

TEST_CASE("readings of each second ask for late rows each ten seconds") {
  Readings readings{{}};
  int of_late_rows = 0;
  for (std::int64_t at = 0; at <= 100; ++at) {
    const std::size_t asked = readings.next(at).size();
    CHECK(asked <= 2);
    if (asked == 2) ++of_late_rows;
    readings.read(at);
  }
  CHECK(of_late_rows == 8);  // at 30, 40 … 100 s
}

TEST_CASE("a look back of an hour finds each row that becomes visible within the hour") {
  std::vector<Row> rows;
  for (std::int64_t ended = 0; ended <= 7200; ended += 7) {
    for (const std::int64_t late : {0, 90, 600, 1800, 3600}) rows.push_back({ended, ended + late});
  }
  Readings readings{rows, seconds{3600}};
  for (std::int64_t at = 0; at <= 14'400; at += 60) readings.read(at);
  for (const Row& row : readings.rows()) {
    if (row.counted == (row.visible > 0 ? 1 : 0)) continue;
    CAPTURE(row.ended, row.visible, row.counted);
    FAIL("counted " << row.counted << " times");
  }
}

TEST_CASE("after a long absence the exporter asks for the last 15 minutes alone") {
  Readings readings{{}};
  for (const std::int64_t at : {0, 15, 30}) readings.read(at);
  constexpr std::int64_t later = 10'000;
  CHECK(readings.next(later) ==
        std::vector<Unseen>{{.snapshot = "30", .after_us = (later - 15 * 60) * second, .until_us = std::nullopt}});
}

TEST_CASE("after a reading that took too long, rows count that it did not see") {
  Readings readings{{{.ended = 50, .visible = 55}, {.ended = 50, .visible = 75}, {.ended = 71, .visible = 72}}};
  for (const std::int64_t at : {0, 20, 40}) readings.read(at);
  readings.give_up(60);
  CHECK(readings.next(80) ==
        std::vector<Unseen>{{.snapshot = "60", .after_us = 55 * second, .until_us = std::nullopt}});
  for (const std::int64_t at : {80, 100, 120}) readings.read(at);
  CHECK(readings.rows()[0].counted == 0);
  CHECK(readings.rows()[1].counted == 1);
  CHECK(readings.rows()[2].counted == 1);
}

TEST_CASE("rows that end after the server's clock was set back count once") {
  LookBack look_back;
  look_back.on_read({"a", 1000 * second}, short_back);
  look_back.on_read({"b", 1015 * second}, short_back);
  CHECK(look_back.next(400 * second, short_back) ==
        std::vector<Unseen>{{.snapshot = "b", .after_us = 370 * second, .until_us = std::nullopt}});
  look_back.on_read({"c", 400 * second}, short_back);
  CHECK(look_back.next(415 * second, short_back) ==
        std::vector<Unseen>{{.snapshot = "c", .after_us = 395 * second, .until_us = std::nullopt}});
}
