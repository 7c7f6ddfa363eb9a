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
  if (settled_ > 0 && now >= look_through_all_at_) {
    look_through_all_at_ = now + between_looks_through_all;  // even if the question fails
    return question(true);
  }
  const bool walk_is_long = claimed_ >= long_walk && has_empty_queue;
  const bool is_time = claimed_ > 0 && now >= ask_at_;
  if (!walk_is_long && !is_time) return std::nullopt;
  return question(false);
}

Settling::Question Settling::question(bool from_beginning) const {
  return {from_beginning ? Positions{settled_, 0} : waits_for_.value_or(Positions{}), from_beginning};
}

Settling::Outcome Settling::on_answer(const Question& asked, const Answer& answer, TimePoint asked_at,
                                      TimePoint answered_at) {
  require_invariant(asked == question(asked.from_beginning), "watermarks are settled by the question that was asked");
  if (answer.last_position < last_position_) return Outcome::sequence_set_back;
  if (answer.oldest >= asked.positions.next_transaction) {
    settled_ = asked.positions.last;
    if (last_position_ > 0) waits_for_ = Positions{last_position_, answer.next};
  }
  last_position_ = answer.last_position;
  claimed_ = 0;
  ask_at_ = asked_at + between_questions;
  if (asked.from_beginning) {
    look_through_all_at_ =
        answered_at + std::max<SteadyClock::duration>(between_looks_through_all, rarely * (answered_at - asked_at));
  }
  return Outcome::taken;
}

void Settling::forget(TimePoint now) {
  waits_for_.reset();
  settled_ = 0;
  last_position_ = 0;
  look_through_all_at_ = now + between_looks_through_all;
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

std::ostream& operator<<(std::ostream& out, Settling::Outcome outcome) { return out << to_text(outcome); }

std::ostream& operator<<(std::ostream& out, const Settling::Question& question) {
  out << "up to position " << question.positions.last << " before transaction " << question.positions.next_transaction;
  return question.from_beginning ? out << ", from the beginning" : out;
}

}  // namespace dogged::runtime
