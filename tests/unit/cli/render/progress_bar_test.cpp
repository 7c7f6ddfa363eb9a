// The bar that shows how far long work has come.
#include "cli/render/progress_bar.hpp"

#include <iostream>
#include <string>

#include "support/captured_errors.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/styles.hpp"

using namespace std::chrono_literals;
using namespace dogged::cli;
using dogged::test::ascii;
using dogged::test::CapturedErrors;
using dogged::test::contains;
using dogged::test::plain;

TEST_CASE("a bar is filled as far as the work is done") {
  CHECK(progress_text("purged", 0, 8, 0ms, ascii) == "purged 0 of 8  ........................  0 %");
  CHECK(progress_text("purged", 2, 8, 0ms, ascii) == "purged 2 of 8  ######..................  25 %");
  CHECK(progress_text("purged", 8, 8, 9s, ascii) == "purged 8 of 8  ########################  100 %");
  CHECK(contains(progress_text("purged", 8, 8, 0ms, plain), "█"));
}

TEST_CASE("a bar of nothing, or of more than was expected, is drawn within its width") {
  CHECK(progress_text("purged", 0, 0, 0ms, ascii) == "purged 0 of 0  ........................  0 %");
  CHECK(progress_text("purged", 9, 8, 0ms, ascii) == "purged 9 of 8  ########################  100 %");
}

TEST_CASE("how long the rest takes is said once the pace is known, and not at the end") {
  CHECK(contains(progress_text("replayed", 100, 400, 10s, ascii), "25 %, 30 s left"));
  CHECK_FALSE(contains(progress_text("replayed", 100, 400, 999ms, ascii), "left"));
  CHECK_FALSE(contains(progress_text("replayed", 0, 400, 10s, ascii), "left"));
  CHECK_FALSE(contains(progress_text("replayed", 400, 400, 10s, ascii), "left"));
}

TEST_CASE("nothing is drawn where no terminal shows it") {
  const CapturedErrors captured;
  {
    ProgressBar bar{"replayed", 2, false, ascii};
    bar.show(1);
    bar.show(2);
  }
  CHECK(captured.text().empty());
}

TEST_CASE("a bar is drawn over itself, is full at the end, and leaves its line") {
  const CapturedErrors captured;
  {
    ProgressBar bar{"replayed", 2, true, ascii};
    bar.show(1);
    bar.show(2);
  }
  const std::string text = captured.text();
  CHECK(text.front() == '\r');
  CHECK(contains(text, "replayed 2 of 2"));
  CHECK(text.back() == '\n');
  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("a bar that was never shown leaves no line") {
  const CapturedErrors captured;
  { const ProgressBar bar{"replayed", 2, true, ascii}; }
  CHECK(captured.text().empty());
}
