// The claimer's handling of tasks that may run under its worker without the worker's knowing.
#include "claim/core/certainty.hpp"

#include <chrono>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Ask = Certainty::Ask;
using State = Certainty::State;
using dogged::test::start;

TEST_CASE("after a lost answer a new session begins, what is unknown is given back, and only then is the worker sure") {
  Certainty certainty;
  CHECK(certainty.next(start) == Ask::nothing);
  CHECK(certainty.asks_at() == never);
  certainty.on_failure();
  CHECK(certainty.state() == State::in_doubt);
  CHECK_FALSE(certainty.knows_what_it_holds());
  CHECK(certainty.next(start) == Ask::begin_session);
  CHECK(certainty.next_session() == 1);
  certainty.on_session_begun();
  CHECK(certainty.state() == State::reconciling);
  CHECK_FALSE(certainty.knows_what_it_holds());
  CHECK(certainty.next(start) == Ask::give_back);
  certainty.on_given_back({}, start);
  CHECK(certainty.state() == State::sure);
  CHECK(certainty.knows_what_it_holds());
}

TEST_CASE("the number of a claim session is never used twice, also where the statement that begins it fails") {
  Certainty certainty;
  certainty.on_failure();
  CHECK(certainty.next_session() == 1);
  certainty.on_failure();
  CHECK(certainty.next_session() == 2);
  CHECK(certainty.session() == 2);
}

TEST_CASE("tasks whose rows are locked are given back later, and again, until none is left") {
  Certainty certainty;
  certainty.on_failure();
  certainty.on_session_begun();
  certainty.on_given_back({4, 5}, start);
  CHECK(certainty.state() == State::some_locked);
  CHECK(certainty.unreleased() == std::vector<dogged::TaskId>{4, 5});
  CHECK(certainty.next(start) == Ask::nothing);
  CHECK(certainty.next(certainty.asks_at()) == Ask::give_back);
  certainty.on_given_back({5}, start + 1s);
  CHECK(certainty.next(start + 1s) == Ask::nothing);
  CHECK(certainty.next(certainty.asks_at()) == Ask::give_back);
  certainty.on_given_back({}, start + 2s);
  CHECK(certainty.state() == State::sure);
}

TEST_CASE("a task that cannot be released is remembered in each state, and given back") {
  for (const State state : {State::sure, State::in_doubt, State::reconciling, State::some_locked}) {
    INFO(to_text(state));
    Certainty certainty;
    if (state == State::in_doubt || state == State::reconciling) certainty.on_failure();
    if (state == State::reconciling) certainty.on_session_begun();
    if (state == State::some_locked) certainty.on_locked(1, start);
    REQUIRE(certainty.state() == state);
    certainty.on_locked(2, start);
    CHECK(certainty.unreleased().back() == 2);
    if (certainty.state() == State::in_doubt) certainty.on_session_begun();
    CHECK(certainty.next(start + 1h) == Ask::give_back);
  }
}

TEST_CASE("a locked task is tried again in its time, however many others are found locked after it") {
  Certainty certainty;
  certainty.on_locked(1, start);
  const TimePoint asks_at = certainty.asks_at();
  CHECK(asks_at > start);
  certainty.on_locked(2, asks_at - 1ms);
  CHECK(certainty.asks_at() == asks_at);
  CHECK(certainty.next(asks_at) == Ask::give_back);
}

TEST_CASE("a failure in whatever state begins with a new session") {
  for (const State state : {State::sure, State::in_doubt, State::reconciling, State::some_locked}) {
    Certainty certainty;
    if (state == State::in_doubt || state == State::reconciling) certainty.on_failure();
    if (state == State::reconciling) certainty.on_session_begun();
    if (state == State::some_locked) certainty.on_locked(1, start);
    certainty.on_failure();
    CHECK(certainty.next(start) == Ask::begin_session);
  }
}
