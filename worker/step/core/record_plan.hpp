// The plan decides how a handler's step comes on record (Context::step). Pure: steps.cpp asks the database.
//
//   unsent --on_sent()--> sent --the answer--> recorded or lost, for good
//   sent --the answer was lost: on_look() finds the attempt's own record--> recorded
//   sent --on_look() finds none--> unsent
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

  [[nodiscard]] Step next() const noexcept;
  /// Call this before the record is sent: whatever fails after that may have taken effect.
  void on_sent() noexcept { state_ = State::sent; }
  void on_answer(bool is_held) noexcept { state_ = is_held ? State::recorded : State::lost; }
  /// A record of another attempt may arrive late. Its value differs from the value with which this attempt goes on.
  void on_look(bool has_own_record) noexcept { state_ = has_own_record ? State::recorded : State::unsent; }

 private:
  enum class State { unsent, sent, recorded, lost };

  State state_ = State::unsent;
};

[[nodiscard]] std::string_view to_text(RecordPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, RecordPlan::Step step);

}  // namespace dogged::runtime
