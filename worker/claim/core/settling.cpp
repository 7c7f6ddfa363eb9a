// See settling.hpp.
#include "claim/core/settling.hpp"

#include <algorithm>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds between_questions{1000};
constexpr std::size_t long_walk = 500;  // after so many ended tasks, a claim of an empty queue is slow
// The longer it takes to look through everything, the less often it is done.
constexpr milliseconds between_looks_through_all{60'000};
constexpr int rarely = 200;  // times as long as it took

}  // namespace

std::optional<Settling::Question> Settling::take_question(TimePoint now, bool has_empty_queue) {
  if (state_ == State::settled && now >= look_through_all_at_) {
    look_through_all_at_ = now + between_looks_through_all;  // even if the question fails
    return question(true);
  }
  const bool walk_is_long = claimed_ >= long_walk && has_empty_queue;
  const bool is_time = claimed_ > 0 && now >= ask_at_;
  if (!walk_is_long && !is_time) return std::nullopt;
  return question(false);
}

Settling::Question Settling::question(bool from_beginning) const {
  if (from_beginning) return {Positions{settled_, 0}, true};
  // The first two questions settle nothing. The answers are wanted.
  return {awaits_transactions() ? awaited_ : Positions{}, false};
}

Settling::Outcome Settling::on_answer(const Question& asked, const Answer& answer, TimePoint asked_at,
                                      TimePoint answered_at) {
  require_invariant(asked == question(asked.from_beginning) && (!asked.from_beginning || state_ == State::settled),
                    "watermarks are settled by the question that was asked");
  if (state_ != State::unknown && answer.last_position < last_position_) return Outcome::sequence_set_back;
  take(asked, answer);
  last_position_ = answer.last_position;
  claimed_ = 0;
  ask_at_ = asked_at + between_questions;
  if (asked.from_beginning) {
    look_through_all_at_ =
        answered_at + std::max<SteadyClock::duration>(between_looks_through_all, rarely * (answered_at - asked_at));
  }
  return Outcome::taken;
}

void Settling::take(const Question& asked, const Answer& answer) {
  switch (state_) {
    case State::unknown:
      state_ = State::position_known;
      return;
    case State::position_known:
      state_ = State::awaiting_transactions;
      break;
    case State::awaiting_transactions:
    case State::settled:
      if (answer.oldest < asked.positions.next_transaction) return;
      state_ = State::settled;
      settled_ = asked.positions.last;
      break;
  }
  awaited_ = Positions{last_position_, answer.next};
}

void Settling::forget(TimePoint now) {
  state_ = State::unknown;
  look_through_all_at_ = now + between_looks_through_all;
}

std::string_view to_text(Settling::State state) noexcept {
  switch (state) {
    case Settling::State::unknown:
      return "unknown";
    case Settling::State::position_known:
      return "position known";
    case Settling::State::awaiting_transactions:
      return "awaiting transactions";
    case Settling::State::settled:
      break;
  }
  return "settled";
}

std::string_view to_text(Settling::Outcome outcome) noexcept {
  switch (outcome) {
    case Settling::Outcome::taken:
      return "taken";
    case Settling::Outcome::sequence_set_back:
      break;
  }
  return "sequence set back";
}

std::ostream& operator<<(std::ostream& out, Settling::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Settling::Outcome outcome) { return out << to_text(outcome); }

std::ostream& operator<<(std::ostream& out, const Settling::Question& question) {
  out << "up to position " << question.positions.last << " before transaction " << question.positions.next_transaction;
  return question.from_beginning ? out << ", from the beginning" : out;
}

}  // namespace dogged::runtime
