// See record_plan.hpp.
#include "step/core/record_plan.hpp"

#include <ostream>

namespace dogged::runtime {

RecordPlan::Step RecordPlan::next() const noexcept {
  switch (state_) {
    case State::unsent:
      return Step::record;
    case State::sent:
      return Step::look;
    case State::recorded:
      return Step::recorded;
    case State::lost:
      break;
  }
  return Step::lost;
}

std::string_view to_text(RecordPlan::Step step) noexcept {
  switch (step) {
    case RecordPlan::Step::record:
      return "record";
    case RecordPlan::Step::look:
      return "look";
    case RecordPlan::Step::recorded:
      return "recorded";
    case RecordPlan::Step::lost:
      break;
  }
  return "lost";
}

std::ostream& operator<<(std::ostream& out, RecordPlan::Step step) { return out << to_text(step); }

}  // namespace dogged::runtime
