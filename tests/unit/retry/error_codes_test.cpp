// Error codes and lists of them, as values.
#include <string>
#include <string_view>
#include <vector>

#include <dogged/codes.hpp>

#include "support/catch.hpp"

using dogged::ErrorCode;
using dogged::ErrorCodes;

namespace {

ErrorCodes numbered(const std::vector<std::string>& names) {
  ErrorCodes codes;
  for (const std::string& name : names) codes.add(name);
  return codes;
}

std::vector<std::string> names(int from, int to) {
  std::vector<std::string> result;
  for (int i = from; i < to; ++i) result.push_back("C" + std::to_string(i));
  return result;
}

}  // namespace

TEST_CASE("A list holds each code once") {
  constexpr ErrorCodes codes{"A", "B", "A", "B", "B"};
  static_assert(codes.size() == 2);
  CHECK(std::vector<std::string_view>(codes.begin(), codes.end()) == std::vector<std::string_view>{"A", "B"});
  CHECK(codes.contains("A"));
  CHECK_FALSE(codes.contains("C"));
}

TEST_CASE("Lists are put together in order, each code once") {
  constexpr ErrorCodes sum = ErrorCodes{"A", "B"} + ErrorCodes{"C", "A"} + ErrorCodes{};
  CHECK(std::vector<std::string_view>(sum.begin(), sum.end()) == std::vector<std::string_view>{"A", "B", "C"});
}

TEST_CASE("What is beyond 64 codes is counted and not kept") {
  const auto first = names(0, 40);
  const auto second = names(30, 70);
  const ErrorCodes full = numbered(first) + numbered(names(0, 0)) + numbered(names(0, 0));
  CHECK(full.size() == 40);
  const ErrorCodes sum = full + numbered(second);
  CHECK(sum.size() == 70);
  CHECK(sum.end() - sum.begin() == 64);
  CHECK((sum + ErrorCodes{"C0"}).size() == 70);
  CHECK((ErrorCodes{"C0"} + sum).size() == 70);
  const auto whole = names(0, 64);
  CHECK(numbered(whole).size() == 64);
}

TEST_CASE("An error code has room for the longest, and refuses what is none") {
  const std::string longest(64, 'A');
  CHECK(ErrorCode{longest}.view() == longest);
  static_assert(ErrorCode{"HTTP_503"} == ErrorCode{"HTTP_503"});
  const std::string bad = GENERATE("", "http_503", "5XX", "A-B", "_A");
  CAPTURE(bad);
  CHECK_THROWS_AS(ErrorCode{bad}, dogged::InvalidInput);
  CHECK_THROWS_WITH(ErrorCode{longest + "A"},
                    "the error code \"" + longest + "\" is not 1 to 64 of A-Z 0-9 _ beginning with a letter");
}
