// Which steps of a task are on record, as one attempt of it knows. Pure: steps.cpp asks.
//
// A question for each step doubled the statements of a handler with many steps. Most tasks have nothing on record, so
// an attempt asks once for the names, and later only for the results of those. A record of an earlier attempt may
// arrive after that. Then this attempt runs the step, and its own record counts (record_step.sql).
//
//   unasked --the names come--> all known, or some known if there may be more
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <string_view>

namespace dogged::runtime {

class KnownSteps {
 public:
  enum class State {
    unasked,
    all_known,   ///< the names on record
    some_known,  ///< most_names of them, and there may be more
  };
  enum class Ask {
    names,    ///< of all steps on record: names_of_steps.sql
    result,   ///< of this step: recorded_step.sql
    nothing,  ///< the step is not on record
  };
  /// So many names are read. With more, each step asks for itself.
  static constexpr std::int64_t most_names = 10'000;

  /// The question of the attempt before it runs the step `name`.
  [[nodiscard]] Ask next(const std::string& name) const;
  /// The names on record, and not more than most_names of them.
  void on_names(std::set<std::string> names);
  /// The attempt runs the step. If the attempt comes to the step again, the attempt asks: the step may be on record,
  /// and the answer that said so lost.
  void note_begun(const std::string& name) { unsure_.insert(name); }

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  State state_ = State::unasked;
  std::set<std::string> unsure_;  // on record, or begun
};

[[nodiscard]] std::string_view to_text(KnownSteps::State state) noexcept;
[[nodiscard]] std::string_view to_text(KnownSteps::Ask ask) noexcept;
std::ostream& operator<<(std::ostream& out, KnownSteps::State state);
std::ostream& operator<<(std::ostream& out, KnownSteps::Ask ask);

}  // namespace dogged::runtime
