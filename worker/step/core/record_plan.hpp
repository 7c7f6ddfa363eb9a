// The plan decides how a handler's step comes on record (Context::step). Pure: steps.cpp asks the database.
//
//   record --on_sent()--> look --the answer to the record--> recorded or lost, for good
//   look --that answer was lost, and the attempt's own record is there--> recorded
//   look --that answer was lost, and no record is there--> record
#pragma once

#include <iosfwd>
#include <string_view>

namespace dogged::runtime {

class RecordPlan {
 public:
  enum class Step {
    record,    ///< record_step.sql
    look,      ///< recorded_step.sql: the record may have taken effect, and its answer is not known
    recorded,  ///< the handler goes on
    lost,      ///< the worker does not hold the attempt any more: the handler ends
  };

  [[nodiscard]] Step next() const noexcept { return step_; }
  /// Call this before the record is sent: whatever fails after that may have taken effect.
  void on_sent();
  void on_answer(bool is_held);
  /// A record of another attempt may arrive late. Its value differs from the value with which this attempt goes on.
  void on_look(bool has_own_record);

 private:
  Step step_ = Step::record;
};

[[nodiscard]] std::string_view to_text(RecordPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, RecordPlan::Step step);

}  // namespace dogged::runtime
