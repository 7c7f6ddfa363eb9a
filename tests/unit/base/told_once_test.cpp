// What a log says once.
#include "base/core/told_once.hpp"

#include <string>

#include "support/catch.hpp"

using dogged::runtime::ToldOnce;
using dogged::runtime::without_digits;

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

TEST_CASE("errors that differ in the numbers of processes and transactions are the same text") {
  CHECK(without_digits("process 12 waits for 3") == without_digits("process 4 waits for 567"));
  CHECK(without_digits("process 12 waits for 3") == "process  waits for ");
}
