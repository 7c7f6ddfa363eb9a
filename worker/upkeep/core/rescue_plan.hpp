// The plan decides whether upkeep rescues tasks after a look, and whether upkeep ends lapsed leases before. Pure.
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"
#include "lease/core/lease.hpp"
#include "upkeep/core/outlook.hpp"

namespace dogged::runtime {

/// If the worker's own lease was not renewed steadily, the server or this machine stood still, and the other workers
/// may have fared alike. Then the others get time to renew their leases: at least a heartbeat, and until the worker's
/// own lease was renewed once more. The others get this time once each time that a look finds lapsed leases. Otherwise
/// repeated gaps would put off every rescue.
class RescuePlan {
 public:
  enum class State {
    trusts,      ///< lapsed leases are ended, as long as the worker's own lease is renewed steadily
    lets_renew,  ///< leases have lapsed, and are left alone for a time
    ends,        ///< that time is over: lapsed leases are ended, until none is found
  };
  enum class Rescue {
    none,
    of_ended_leases,      ///< the tasks held under leases that were ended before
    after_ending_lapsed,  ///< the leases that have lapsed are ended first
  };

  explicit RescuePlan(milliseconds heartbeat) noexcept : heartbeat_(heartbeat) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  /// A look has found `found`. `own`: the worker's own lease.
  [[nodiscard]] Rescue on_looked(const Outlook& found, const Lease& own, TimePoint now) noexcept;

 private:
  [[nodiscard]] State next_state(bool has_lapsed, const Lease& own, TimePoint now) const noexcept;

  milliseconds heartbeat_;
  State state_ = State::trusts;
  TimePoint lets_renew_since_{};
};

[[nodiscard]] std::string_view to_text(RescuePlan::State state) noexcept;
[[nodiscard]] std::string_view to_text(RescuePlan::Rescue rescue) noexcept;
std::ostream& operator<<(std::ostream& out, RescuePlan::State state);
std::ostream& operator<<(std::ostream& out, RescuePlan::Rescue rescue);

}  // namespace dogged::runtime
