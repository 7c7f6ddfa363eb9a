// See look_plan.hpp.
#include "upkeep/core/look_plan.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace dogged::runtime {
namespace {

constexpr milliseconds first_rescue_again{250};  // doubled each time, up to a heartbeat
constexpr milliseconds shortest_until_lapse{50};
constexpr int heartbeats_between_looks = 6;  // of a worker that began after two others

}  // namespace

LookPlan::Ask LookPlan::next(TimePoint now) noexcept {
  if (now < looks_at_) return Ask::nothing;
  if (!may_look_at_) may_look_at_ = now + heartbeat_;
  if (now >= *may_look_at_) return Ask::look;
  looks_at_ = *may_look_at_;
  return Ask::connect;
}

void LookPlan::on_worker_began(TimePoint now) noexcept { looks_at_ = std::min(looks_at_, now); }

void LookPlan::on_looked(const Outlook& found, bool lets_renew, TimePoint now) noexcept {
  const milliseconds longest = (found.comes_first ? 1 : heartbeats_between_looks) * heartbeat_;
  milliseconds wait = longest;
  if (lets_renew) {
    wait = heartbeat_;
  } else if (found.lapses_in) {  // a claim under way holds up the end of a lease that has lapsed
    wait = std::clamp(*found.lapses_in + milliseconds{1}, std::min(shortest_until_lapse, longest), longest);
  }
  looks_at_ = now + wait;
  if (std::exchange(left_tasks_, false)) {
    rescue_again(now);
  } else {
    rescue_again_after_ = milliseconds{0};
  }
}

/// Another look may come earlier: the time of the next rescue stays.
void LookPlan::rescue_again(TimePoint now) noexcept {
  if (rescue_again_after_ == milliseconds{0}) {
    rescue_again_after_ = first_rescue_again;
    rescue_again_at_ = now + rescue_again_after_;
  } else if (now >= rescue_again_at_) {
    rescue_again_after_ = std::min(2 * rescue_again_after_, std::max(first_rescue_again, heartbeat_));
    rescue_again_at_ = now + rescue_again_after_;
  }
  looks_at_ = std::min(looks_at_, rescue_again_at_);
}

void LookPlan::on_failure() noexcept {
  left_tasks_ = false;
  may_look_at_.reset();
  looks_at_ = TimePoint::min();
}

std::string_view to_text(LookPlan::Ask ask) noexcept {
  switch (ask) {
    case LookPlan::Ask::nothing:
      return "nothing";
    case LookPlan::Ask::connect:
      return "connect";
    case LookPlan::Ask::look:
      break;
  }
  return "look";
}

std::ostream& operator<<(std::ostream& out, LookPlan::Ask ask) { return out << to_text(ask); }

}  // namespace dogged::runtime
