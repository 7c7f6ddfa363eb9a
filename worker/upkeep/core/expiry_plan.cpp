// See expiry_plan.hpp.
#include "upkeep/core/expiry_plan.hpp"

#include <chrono>
#include <ostream>

namespace dogged::runtime {
namespace {

// Expired tasks whose transaction took longer to commit are found by the looks back for ever.
constexpr milliseconds longest_late_commit{60'000};
constexpr std::chrono::minutes between_looks_at_all{10};

}  // namespace

std::optional<milliseconds> ExpiryPlan::look_back(TimePoint asked_at) const noexcept {
  if (asked_at >= expire_all_at_) return std::nullopt;
  return std::chrono::ceil<milliseconds>(asked_at - expired_at_ + longest_late_commit);
}

/// A batch that went back only as far as its look missed tasks once the batches had taken longer than a minute.
std::optional<milliseconds> ExpiryPlan::looked_back(TimePoint now) const noexcept {
  if (!looked_back_) return std::nullopt;
  return *looked_back_ + std::chrono::ceil<milliseconds>(now - asked_at_);
}

/// Looks that are due while batches are under way leave them alone: the batches go back far enough.
void ExpiryPlan::on_looked(bool has_expired, TimePoint asked_at) noexcept {
  if (state_ == State::ending) return;
  asked_at_ = asked_at;
  looked_back_ = look_back(asked_at);
  state_ = State::ending;
  if (!has_expired) finish();
}

void ExpiryPlan::on_expired(std::size_t count) noexcept {
  if (count == 0) finish();
}

void ExpiryPlan::finish() noexcept {
  state_ = State::idle;
  expired_at_ = asked_at_;
  if (!looked_back_) expire_all_at_ = asked_at_ + between_looks_at_all;
}

std::string_view to_text(ExpiryPlan::State state) noexcept {
  switch (state) {
    case ExpiryPlan::State::idle:
      return "idle";
    case ExpiryPlan::State::ending:
      break;
  }
  return "ending";
}

std::ostream& operator<<(std::ostream& out, ExpiryPlan::State state) { return out << to_text(state); }

}  // namespace dogged::runtime
