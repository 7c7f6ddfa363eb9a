// When the watermarks of the queues are settled, and up to which position. Pure.
//
// A transaction that took a position may make it a ready task as long as the transaction is open. So three questions
// come before a position is passed over for good. The first learns the last position that was given out. The second
// learns which transactions may have taken one up to there. The third learns that all of those have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class Settling {
 public:
  /// Positions up to `last` were given out to transactions before `next_transaction`.
  struct Positions {
    std::int64_t last = 0;
    std::int64_t next_transaction = 0;

    friend bool operator==(const Positions&, const Positions&) = default;
  };
  struct Question {
    Positions positions;
    bool from_beginning = false;  ///< looks through everything, because rows may have been changed by hand

    friend bool operator==(const Question&, const Question&) = default;
  };
  /// The answer of settle_watermarks.sql for the whole table.
  struct Answer {
    std::int64_t oldest = 0;  ///< the oldest open transaction
    std::int64_t next = 0;    ///< the next transaction
    std::int64_t last_position = 0;
  };
  enum class Outcome { taken, sequence_set_back };

  explicit Settling(TimePoint now) { forget(now); }

  /// The question to ask now, if any. `has_empty_queue`: a claim of that queue walks over all tasks that have ended.
  [[nodiscard]] std::optional<Question> take_question(TimePoint now, bool has_empty_queue);

  void on_claimed(std::size_t tasks) noexcept { claimed_ += tasks; }
  /// The answer to a question that was asked at `asked_at`. If the sequence of positions was set back, nothing that was
  /// settled holds, and forget() follows.
  [[nodiscard]] Outcome on_answer(const Question& asked, const Answer& answer, TimePoint asked_at,
                                  TimePoint answered_at);
  /// The next connection may be to another server.
  void forget(TimePoint now);

 private:
  [[nodiscard]] Question question(bool from_beginning) const;

  std::size_t claimed_ = 0;  // tasks since the last answer
  TimePoint ask_at_{};
  TimePoint look_through_all_at_{};
  std::optional<Positions> waits_for_;  // the transactions of these positions must end first
  std::int64_t settled_ = 0;            // no open transaction can still use a position up to this one
  std::int64_t last_position_ = 0;      // by the last answer; 0: unknown
};

[[nodiscard]] std::string_view to_text(Settling::Outcome outcome) noexcept;
std::ostream& operator<<(std::ostream& out, Settling::Outcome outcome);
std::ostream& operator<<(std::ostream& out, const Settling::Question& question);

}  // namespace dogged::runtime
