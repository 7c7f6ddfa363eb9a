// When watermarks are settled, and that no position is settled which an open transaction can still use.
#include "claim/core/settling.hpp"

#include <chrono>
#include <set>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/property.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

TEST_CASE("nothing is asked while nothing was claimed, and once a second while tasks are") {
  Settling settling{start};
  CHECK_FALSE(settling.take_question(start + 1h, true));
  settling.on_claimed(1);
  const auto question = settling.take_question(start, false);
  REQUIRE(question);
  CHECK(settling.on_answer(*question, {10, 10, 5}, start, start) == Settling::Outcome::taken);
  settling.on_claimed(1);
  CHECK_FALSE(settling.take_question(start + 999ms, false));
  CHECK(settling.take_question(start + 1s, false));
}

TEST_CASE("positions are settled by the third answer, once the transactions that may have taken them have ended") {
  using State = Settling::State;
  Settling settling{start};
  TimePoint now = start;
  const auto state_after = [&](const Settling::Question& expected, const Settling::Answer& answer) {
    settling.on_claimed(1);
    now += 1s;
    const auto question = settling.take_question(now, false);
    REQUIRE(question == expected);
    REQUIRE(settling.on_answer(*question, answer, now, now) == Settling::Outcome::taken);
    return settling.state();
  };
  CHECK(settling.state() == State::unknown);
  CHECK(state_after({{0, 0}}, {10, 12, 5}) == State::position_known);
  CHECK(state_after({{0, 0}}, {10, 14, 8}) == State::awaiting_transactions);  // of the positions up to 5
  CHECK(state_after({{5, 14}}, {13, 20, 9}) == State::awaiting_transactions);
  CHECK(state_after({{5, 14}}, {14, 21, 9}) == State::settled);
  CHECK(state_after({{9, 21}}, {20, 22, 11}) == State::settled);  // up to 5 as before
  CHECK(state_after({{9, 21}}, {21, 23, 12}) == State::settled);
  CHECK(state_after({{11, 23}}, {23, 24, 12}) == State::settled);
  settling.forget(now);
  CHECK(settling.state() == State::unknown);
  CHECK(state_after({{0, 0}}, {3, 3, 2}) == State::position_known);  // of another server, which is behind the first
}

TEST_CASE("only settled positions are looked through again") {
  Settling settling{start};
  TimePoint now = start;
  for (const auto last_before : {Settling::State::unknown, Settling::State::position_known,
                                 Settling::State::awaiting_transactions, Settling::State::settled}) {
    CHECK(settling.state() == last_before);
    now += 1h;
    settling.on_claimed(1);
    const auto question = settling.take_question(now, false);
    REQUIRE(question);
    CHECK(question->from_beginning == (last_before == Settling::State::settled));
    (void)settling.on_answer(*question, {10, 10, 5}, now, now);
  }
}

TEST_CASE("an answer to a question that was not asked is a mistake of dogged") {
  Settling settling{start};
  CHECK_THROWS_AS(settling.on_answer({{5, 10}, false}, {10, 10, 5}, start, start), std::logic_error);
  CHECK_THROWS_AS(settling.on_answer({{0, 0}, true}, {10, 10, 5}, start, start), std::logic_error);
}

TEST_CASE("an empty queue is settled early where many tasks have ended in it") {
  Settling settling{start};
  settling.on_claimed(1);
  const auto question = settling.take_question(start, false);
  (void)settling.on_answer(*question, {10, 10, 5}, start, start);
  settling.on_claimed(500);
  CHECK_FALSE(settling.take_question(start + 1ms, false));
  CHECK(settling.take_question(start + 1ms, true));
}

TEST_CASE("everything is looked through again, the less often the longer it takes") {
  Settling settling{start};
  TimePoint now = start;
  for (int i = 0; i < 3; ++i, now += 1s) {
    settling.on_claimed(1);
    const auto question = settling.take_question(now, false);
    REQUIRE(question);
    CHECK_FALSE(question->from_beginning);
    (void)settling.on_answer(*question, {10 + i, 10 + i, 5}, now, now);
  }
  CHECK_FALSE(settling.take_question(start + 59s, true));
  const auto all = settling.take_question(start + 60s, true);
  REQUIRE(all);
  CHECK(all->from_beginning);
  CHECK_FALSE(settling.take_question(start + 60s, true));  // also where that question fails, once a minute
  (void)settling.on_answer(*all, {20, 20, 5}, start + 60s, start + 61s);
  CHECK_FALSE(settling.take_question(start + 61s + 199s, true));
  CHECK(settling.take_question(start + 61s + 200s, true));
}

TEST_CASE("where the sequence was set back, the claimer is told to forget") {
  Settling settling{start};
  settling.on_claimed(1);
  auto question = settling.take_question(start, false);
  (void)settling.on_answer(*question, {10, 10, 100}, start, start);
  settling.on_claimed(1);
  question = settling.take_question(start + 1s, false);
  CHECK(settling.on_answer(*question, {10, 10, 3}, start, start) == Settling::Outcome::sequence_set_back);
}

TEST_CASE("no position is settled that an open transaction can still use") {
  // A transaction has its id before it takes positions, as the schema's functions see to.
  CHECK(dogged::test::holds([] {
    Settling settling{start};
    TimePoint now = start;
    std::int64_t next_transaction = 1;
    std::int64_t position = 0;
    std::set<std::int64_t> open;                            // transactions
    std::set<std::pair<std::int64_t, std::int64_t>> taken;  // position, its transaction, which is open
    const int steps = dogged::test::any_in_range(1, 60);
    for (int i = 0; i < steps; ++i) {
      switch (dogged::test::any_in_range(0, 4)) {
        case 0:
          open.insert(next_transaction++);
          break;
        case 1:
          if (!open.empty()) taken.emplace(++position, *open.begin());
          break;
        case 2:
          if (!open.empty()) {
            const auto ended = *open.rbegin();
            open.erase(ended);
            for (auto one = taken.begin(); one != taken.end();) one = one->second == ended ? taken.erase(one) : ++one;
          }
          break;
        default: {
          now += 1s;
          settling.on_claimed(1);
          const auto question = settling.take_question(now, false);
          RC_ASSERT(question.has_value());
          const std::int64_t oldest = open.empty() ? next_transaction : *open.begin();
          // The statement settles up to here where all transactions before this one have ended.
          const bool settles = oldest >= question->positions.next_transaction;
          if (settles && question->positions.last > 0) {
            RC_ASSERT(taken.empty() || taken.begin()->first > question->positions.last);
          }
          (void)settling.on_answer(*question, {oldest, next_transaction, position}, now, now);
        }
      }
    }
  }));
}
