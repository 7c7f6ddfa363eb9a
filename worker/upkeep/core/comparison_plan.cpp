// See comparison_plan.hpp.
#include "upkeep/core/comparison_plan.hpp"

#include <chrono>
#include <ostream>

namespace dogged::runtime {
namespace {

constexpr std::chrono::minutes longest_between_comparisons{10};
constexpr int heartbeats_counted_as_new = 12;

}  // namespace

void ComparisonPlan::on_looked(const Outlook& found, TimePoint asked_at, TimePoint now) noexcept {
  if (!must_compare(found, now)) return;
  state_ = State::due;
  asked_at_ = asked_at;
}

/// A worker registers a moment before it declares its tasks, so one that has just begun is compared with twice.
bool ComparisonPlan::must_compare(const Outlook& found, TimePoint now) const noexcept {
  if (now < compares_again_at_) return false;
  const auto since_compared = now - compared_at_;
  return state_ != State::compared || since_compared >= longest_between_comparisons ||
         found.newest_began_ago < since_compared + heartbeats_counted_as_new * heartbeat_;
}

void ComparisonPlan::on_compared() noexcept {
  state_ = State::compared;
  compared_at_ = asked_at_;
}

void ComparisonPlan::on_refused(TimePoint now) noexcept {
  state_ = State::awaited;
  compares_again_at_ = now + again_after_refusal_;
}

std::string_view to_text(ComparisonPlan::State state) noexcept {
  switch (state) {
    case ComparisonPlan::State::compared:
      return "compared";
    case ComparisonPlan::State::awaited:
      return "awaited";
    case ComparisonPlan::State::due:
      break;
  }
  return "due";
}

std::ostream& operator<<(std::ostream& out, ComparisonPlan::State state) { return out << to_text(state); }

}  // namespace dogged::runtime
