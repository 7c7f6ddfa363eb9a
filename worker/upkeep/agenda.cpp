// See agenda.hpp.
#include "upkeep/agenda.hpp"

#include <algorithm>
#include <chrono>

namespace dogged::runtime {
namespace {

constexpr milliseconds first_rescue_again{250};  // doubled each time, up to a heartbeat
constexpr milliseconds shortest_until_lapse{50};
// Expired tasks whose transaction took longer to commit are found by the looks back for ever.
constexpr milliseconds longest_late_commit{60'000};
constexpr std::chrono::minutes between_looks_at_all{10};
constexpr std::chrono::minutes longest_between_comparisons{10};
constexpr int heartbeats_between_looks = 6;  // of a worker that began after two others

}  // namespace

Agenda::Agenda(const Settings& settings, TimePoint now) noexcept
    : settings_(settings),
      looks_at_(now),
      may_look_at_(now + (settings.lets_others_renew ? settings.heartbeat : milliseconds{0})) {}

bool Agenda::may_look(TimePoint now) noexcept {
  if (now >= may_look_at_) return true;
  looks_at_ = may_look_at_;
  return false;
}

Agenda::Rescue Agenda::decide(const Outlook& found, const Lease& own, TimePoint now) noexcept {
  const bool has_lapsed = found.lapses_in.value_or(milliseconds{0}) < milliseconds{0};
  if (!has_lapsed) {
    lets_renew_since_.reset();
    lets_renew_ = false;
  } else if (!lets_renew_since_) {
    lets_renew_ = !own.is_renewed_steadily(now, settings_.heartbeat);
    if (lets_renew_) lets_renew_since_ = now;
  } else {
    lets_renew_ = now < *lets_renew_since_ + settings_.heartbeat || own.renewed_at() < *lets_renew_since_;
  }
  if (has_lapsed && !lets_renew_) return Rescue::after_ending_lapsed;
  return found.has_to_rescue ? Rescue::of_ended_leases : Rescue::none;
}

void Agenda::note_looked(const Outlook& found, bool left_tasks, TimePoint now) noexcept {
  const milliseconds longest = (found.comes_first ? 1 : heartbeats_between_looks) * settings_.heartbeat;
  milliseconds wait = longest;
  if (lets_renew_) {
    wait = settings_.heartbeat;
  } else if (found.lapses_in) {  // a claim under way holds up the end of a lease that has lapsed
    wait = std::clamp(*found.lapses_in + milliseconds{1}, std::min(shortest_until_lapse, longest), longest);
  }
  looks_at_ = now + wait;
  note_rescued(left_tasks, now);
}

/// Another look may come earlier: the time of the next rescue stays.
void Agenda::note_rescued(bool left_tasks, TimePoint now) noexcept {
  if (!left_tasks) {
    rescue_again_after_ = milliseconds{0};
    return;
  }
  if (rescue_again_after_ == milliseconds{0}) {
    rescue_again_after_ = first_rescue_again;
    rescue_again_at_ = now + rescue_again_after_;
  } else if (now >= rescue_again_at_) {
    rescue_again_after_ = std::min(2 * rescue_again_after_, std::max(first_rescue_again, settings_.heartbeat));
    rescue_again_at_ = now + rescue_again_after_;
  }
  looks_at_ = std::min(looks_at_, rescue_again_at_);
}

void Agenda::note_failed(TimePoint now) noexcept {
  may_look_at_ = now + settings_.heartbeat;
  looks_at_ = now;
  must_compare_ = true;  // workers may have begun meanwhile
}

std::optional<milliseconds> Agenda::look_back(TimePoint now) const noexcept {
  if (now >= expire_all_at_) return std::nullopt;
  return std::chrono::ceil<milliseconds>(now - expired_at_ + longest_late_commit);
}

void Agenda::note_expired(TimePoint asked_at, std::optional<milliseconds> looked_back) noexcept {
  expired_at_ = asked_at;
  if (!looked_back) expire_all_at_ = asked_at + between_looks_at_all;
}

/// A worker registers a moment before it declares its tasks, so one that has just begun is compared with twice.
bool Agenda::must_compare(const Outlook& found, TimePoint now) const noexcept {
  if (now < compares_again_at_) return false;
  const auto since_compared = now - compared_at_;
  return must_compare_ || since_compared >= longest_between_comparisons ||
         found.newest_began_ago < since_compared + 2 * heartbeats_between_looks * settings_.heartbeat;
}

void Agenda::note_compared(TimePoint asked_at) noexcept {
  compared_at_ = asked_at;
  must_compare_ = false;
}

}  // namespace dogged::runtime
