// See record_plan.hpp.
#include "step/core/record_plan.hpp"

#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {

void RecordPlan::on_sent() {
  require_invariant(step_ == Step::record, "a record is sent only if none may be there");
  step_ = Step::look;
}

void RecordPlan::on_answer(bool is_held) {
  require_invariant(step_ == Step::look, "an answer comes to a record that was sent");
  step_ = is_held ? Step::recorded : Step::lost;
}

void RecordPlan::on_look(bool has_own_record) {
  require_invariant(step_ == Step::look, "an attempt looks for a record that was sent");
  step_ = has_own_record ? Step::recorded : Step::record;
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
