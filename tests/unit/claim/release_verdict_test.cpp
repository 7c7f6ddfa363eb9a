// The verdict on a task that could not be given back.
#include "claim/core/release_verdict.hpp"

#include "support/catch.hpp"

using namespace dogged::runtime;
using dogged::lifecycle::Status;

TEST_CASE("the verdict on a release that changed nothing, in each state that its task can be in") {
  const auto verdict = [](const Holder& holder) { return release_verdict(holder, 3); };
  CHECK(verdict({.is_mine = true, .task_attempt = 3, .status = Status::running}) == ReleaseVerdict::locked);
  CHECK(verdict({.task_attempt = 2, .status = Status::pending}) == ReleaseVerdict::given_back);
  // Another worker took the task after an earlier try had given it back; or its rescue has counted the attempt.
  CHECK(verdict({.task_attempt = 3, .status = Status::running}) == ReleaseVerdict::fenced);
  CHECK(verdict({.task_attempt = 3, .status = Status::pending}) == ReleaseVerdict::fenced);
  CHECK(verdict({.task_attempt = 2, .status = Status::cancelled}) == ReleaseVerdict::fenced);
  CHECK(verdict({.task_attempt = 2}) == ReleaseVerdict::fenced);
  CHECK(verdict({}) == ReleaseVerdict::fenced);
}
