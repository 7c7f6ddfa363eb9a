// What a log says once.
#include "base/core/told_once.hpp"

#include <cstddef>
#include <set>
#include <string>

#include "support/catch.hpp"

using dogged::runtime::ToldOnce;
using dogged::runtime::without_digits;

namespace {

/// A log, and the texts in it since all texts were forgotten.
struct LogWorld {
  ToldOnce told = {};
  std::string trace = {};
  std::set<std::string> in_log = {};

  /// Says so many texts that only `room` more are told.
  void fill(std::size_t room) {
    for (std::size_t i = 0; i + room < ToldOnce::most; ++i) {
      REQUIRE(told.note(std::to_string(i)));
      in_log.insert(std::to_string(i));
    }
  }

  void event(int number) {
    if (number == 3) {
      told.forget();
      return in_log.clear();
    }
    const std::string text(1, static_cast<char>('a' + number));
    const bool is_new = !in_log.contains(text) && in_log.size() < 1000;
    REQUIRE(told.note(text) == is_new);
    if (is_new) in_log.insert(text);
  }
};

int walk_log(const LogWorld& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 4; ++event) {
    LogWorld next = world;
    next.trace += static_cast<char>('0' + event);
    INFO(next.trace);
    next.event(event);
    count += 1 + walk_log(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE("a text is told once, until all texts are forgotten") {
  ToldOnce told;
  for (int round = 0; round < 2; ++round) {
    CHECK(told.note("a"));
    CHECK(told.note("b"));
    CHECK_FALSE(told.note("a"));
    CHECK_FALSE(told.note("b"));
    told.forget();
  }
}

TEST_CASE("after a thousand texts none is told any more, until all texts are forgotten") {
  ToldOnce told;
  for (std::size_t i = 0; i < ToldOnce::most; ++i) REQUIRE(told.note(std::to_string(i)));
  CHECK_FALSE(told.note("one more"));
  told.forget();
  CHECK(told.note("one more"));
}

TEST_CASE(
    "in all sequences of three texts, each text is told once until all are forgotten, also where few more texts are "
    "told",
    "[one_thread]") {
  CHECK(walk_log(LogWorld{}, 7) == 21'844);
  for (const std::size_t room : {1U, 2U}) {
    LogWorld nearly_full;
    nearly_full.fill(room);
    CHECK(walk_log(nearly_full, 4) == 340);
  }
}

TEST_CASE("errors that differ in the numbers of processes and transactions are the same text") {
  CHECK(without_digits("process 12 waits for 3") == without_digits("process 4 waits for 567"));
  CHECK(without_digits("process 12 waits for 3") == "process  waits for ");
}
