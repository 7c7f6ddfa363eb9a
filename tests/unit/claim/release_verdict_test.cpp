// The verdict on a task that could not be given back: every answer of who_holds.sql that decides.
#include "claim/core/release_verdict.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include "support/catch.hpp"

using namespace dogged::runtime;
using dogged::lifecycle::Status;

namespace {

constexpr int given_back_from = 3;  // the attempt

/// The latest attempt of the task, as the columns of the table have it.
constexpr std::array<std::optional<int>, 5> latest_attempts{std::nullopt, 1, 2, 3, 4};

/// The verdicts on a task that the worker does not hold: `g` for given back, `f` for fenced.
struct Row {
  std::optional<Status> status;
  std::string_view verdicts;
};
constexpr std::array<Row, 8> table{{
    {std::nullopt, "fffff"},       // there is no such task, or this version does not know its status
    {Status::pending, "ffgff"},    // 2: an earlier try has given it back; 3: a rescue has counted the attempt
    {Status::running, "fffff"},    // 3: another worker has taken the task after an earlier try
    {Status::succeeded, "fffff"},  // 3: likewise, and has ended the task
    {Status::failed, "fffff"},
    {Status::discarded, "fffff"},
    {Status::cancelled, "fffff"},  // 2: an operator has cancelled the task after an earlier try
    {Status::expired, "fffff"},    // 2: upkeep has ended the task after an earlier try
}};

}  // namespace

TEST_CASE("the verdict on a release that changed nothing, for each status and latest attempt of its task") {
  std::map<ReleaseVerdict, int> counts;
  for (const Row& row : table) {
    for (std::size_t column = 0; column < latest_attempts.size(); ++column) {
      for (const bool is_mine : {true, false}) {
        const std::string_view status = row.status ? to_text(*row.status) : "none";
        CAPTURE(is_mine, status, column);
        const Holder holder{.is_mine = is_mine, .task_attempt = latest_attempts[column], .status = row.status};
        const ReleaseVerdict of_table =
            row.verdicts.at(column) == 'g' ? ReleaseVerdict::given_back : ReleaseVerdict::fenced;
        const ReleaseVerdict expected = is_mine ? ReleaseVerdict::locked : of_table;
        REQUIRE(release_verdict(holder, given_back_from) == expected);
        ++counts[expected];
      }
    }
  }
  CHECK(counts == std::map<ReleaseVerdict, int>{
                      {ReleaseVerdict::locked, 40}, {ReleaseVerdict::given_back, 1}, {ReleaseVerdict::fenced, 39}});
}
