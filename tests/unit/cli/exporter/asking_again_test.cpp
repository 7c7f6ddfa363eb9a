// How long an answer of the exporter's reader is kept.
#include "cli/exporter/core/asking_again.hpp"

#include <chrono>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using dogged::cli::exporter::AskingAgain;

namespace {

constexpr AskingAgain::Time asked_at{1h};

}  // namespace

TEST_CASE("an answer is kept for so many times as long as it took, at most two minutes") {
  AskingAgain again{100};
  CHECK(again.is_due(asked_at));
  CHECK(again.on_answer(asked_at, 300ms) == 30s);
  CHECK_FALSE(again.is_due(asked_at + 30s - 1ns));
  CHECK(again.is_due(asked_at + 30s));
  CHECK(again.on_answer(asked_at, 1201ms) == 2min);
  CHECK_FALSE(again.is_due(asked_at + 2min - 1ns));
  CHECK(again.is_due(asked_at + 2min));
}

TEST_CASE("a refusal is kept for three times as long as it took, whatever answers are kept for") {
  for (const int answers_apart : {0, 100, 1000}) {
    AskingAgain again{answers_apart};
    CHECK(again.on_refusal(asked_at, 2s) == 6s);
    CHECK_FALSE(again.is_due(asked_at + 6s - 1ns));
    CHECK(again.is_due(asked_at + 6s));
  }
}
