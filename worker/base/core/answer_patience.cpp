// See answer_patience.hpp.
#include "base/core/answer_patience.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace dogged::runtime {
namespace {

constexpr milliseconds shortest{10};                         // else the caller would look again without a pause
constexpr milliseconds between_breaks_of_connection{1'000};  // its thread has not noticed yet

}  // namespace

AnswerPatience::Action AnswerPatience::look(std::optional<TimePoint> busy_since, milliseconds patience,
                                            TimePoint now) noexcept {
  patience = std::max(patience, shortest);
  const TimePoint over_at = busy_since.value_or(now) + patience;
  if (!busy_since || now < over_at) return {Step::wait, over_at};
  const bool is_told = std::exchange(state_, State::gave_up) == State::gave_up;
  return {is_told ? Step::give_up_again : Step::give_up, now + std::min(patience, between_breaks_of_connection)};
}

std::string_view to_text(AnswerPatience::State state) noexcept {
  switch (state) {
    case AnswerPatience::State::patient:
      return "patient";
    case AnswerPatience::State::gave_up:
      break;
  }
  return "gave up";
}

std::string_view to_text(AnswerPatience::Step step) noexcept {
  switch (step) {
    case AnswerPatience::Step::wait:
      return "wait";
    case AnswerPatience::Step::give_up:
      return "give up";
    case AnswerPatience::Step::give_up_again:
      break;
  }
  return "give up again";
}

std::ostream& operator<<(std::ostream& out, AnswerPatience::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, AnswerPatience::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, const AnswerPatience::Action& action) {
  return out << to_text(action.step) << ", and look again at " << action.look_again_at.time_since_epoch().count();
}

}  // namespace dogged::runtime
