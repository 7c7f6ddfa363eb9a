// See known_steps.hpp.
#include "step/core/known_steps.hpp"

#include <ostream>

namespace dogged::runtime {

KnownSteps::Ask KnownSteps::next(const std::string& name) const {
  switch (state_) {
    case State::unasked:
      return Ask::names;
    case State::all_known:
      return unsure_.contains(name) ? Ask::result : Ask::nothing;
    case State::some_known:
      break;
  }
  return Ask::result;
}

void KnownSteps::on_names(std::set<std::string> names) {
  state_ = names.size() < static_cast<std::size_t>(most_names) ? State::all_known : State::some_known;
  unsure_.merge(names);
}

std::string_view to_text(KnownSteps::State state) noexcept {
  switch (state) {
    case KnownSteps::State::unasked:
      return "unasked";
    case KnownSteps::State::all_known:
      return "all known";
    case KnownSteps::State::some_known:
      break;
  }
  return "some known";
}

std::string_view to_text(KnownSteps::Ask ask) noexcept {
  switch (ask) {
    case KnownSteps::Ask::names:
      return "names";
    case KnownSteps::Ask::result:
      return "result";
    case KnownSteps::Ask::nothing:
      break;
  }
  return "nothing";
}

std::ostream& operator<<(std::ostream& out, KnownSteps::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, KnownSteps::Ask ask) { return out << to_text(ask); }

}  // namespace dogged::runtime
