// Decides what the log says of an outage. The work with PostgreSQL, or the export of spans, fails, and a service tries
// again until the work succeeds. Pure.
//
//   works --a failure--> fails --a success--> works
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "base/core/told_once.hpp"

namespace dogged::runtime {

class Outage {
 public:
  enum class State {
    works,
    fails,
  };
  /// How the log tells of a failure.
  enum class Tell {
    first,         ///< it is the first one since the last success
    other_reason,  ///< its reason was not told in this outage; often another reason keeps the outage from ending
    nothing,
  };

  /// Reasons are the same if their texts are.
  [[nodiscard]] Tell on_failure(std::string reason);
  /// True if the success ends an outage. The caller tells that.
  [[nodiscard]] bool on_success() noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  State state_ = State::works;
  ToldOnce reasons_;  // of this outage
};

[[nodiscard]] std::string_view to_text(Outage::State state) noexcept;
[[nodiscard]] std::string_view to_text(Outage::Tell tell) noexcept;
std::ostream& operator<<(std::ostream& out, Outage::State state);
std::ostream& operator<<(std::ostream& out, Outage::Tell tell);

}  // namespace dogged::runtime
