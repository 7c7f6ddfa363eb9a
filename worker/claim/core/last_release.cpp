// See last_release.hpp.
#include "claim/core/last_release.hpp"

#include <algorithm>
#include <ostream>

namespace dogged::runtime {

LastRelease::Action LastRelease::next(const Certainty& certainty, TimePoint now) const noexcept {
  if (is_released_ && certainty.state() == Certainty::State::sure) return {Step::given_back};
  if (now >= until_) return {Step::given_up};
  if (certainty.state() == Certainty::State::in_doubt) return {Step::begin_session};
  if (!is_released_) return {Step::release};
  if (certainty.next(now) == Certainty::Ask::give_back) return {Step::give_back_unknown};
  return {Step::wait, std::min(certainty.asks_at(), until_)};
}

std::string_view to_text(LastRelease::Step step) noexcept {
  switch (step) {
    case LastRelease::Step::begin_session:
      return "begin session";
    case LastRelease::Step::release:
      return "release";
    case LastRelease::Step::give_back_unknown:
      return "give back unknown";
    case LastRelease::Step::wait:
      return "wait";
    case LastRelease::Step::given_back:
      return "given back";
    case LastRelease::Step::given_up:
      break;
  }
  return "given up";
}

std::ostream& operator<<(std::ostream& out, LastRelease::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, const LastRelease::Action& action) {
  out << to_text(action.step);
  if (action.step == LastRelease::Step::wait) out << " until " << action.until.time_since_epoch().count();
  return out;
}

}  // namespace dogged::runtime
