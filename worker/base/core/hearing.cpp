// See hearing.hpp.
#include "base/core/hearing.hpp"

#include <ostream>

namespace dogged::runtime {

std::string_view to_text(Hearing::State state) noexcept {
  switch (state) {
    case Hearing::State::polls_only:
      return "polls only";
    case Hearing::State::deaf:
      return "deaf";
    case Hearing::State::listening:
      break;
  }
  return "listening";
}

std::ostream& operator<<(std::ostream& out, Hearing::State state) { return out << to_text(state); }

}  // namespace dogged::runtime
