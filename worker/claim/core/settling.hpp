// When the watermarks of the queues are settled, and up to which position. Pure.
//
// A transaction that took a position may make it a ready task as long as the transaction is open. So three answers come
// before a position is passed over for good: State names what each of them teaches.
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
  enum class State {
    unknown,                ///< the last position that was given out is to be learnt
    position_known,         ///< the transactions that may have taken a position up to that one are to be learnt
    awaiting_transactions,  ///< all of these transactions must end
    settled,  ///< these have ended: positions up to theirs are passed over, and later ones are asked for anew
  };
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

  [[nodiscard]] State state() const noexcept { return state_; }

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
  [[nodiscard]] bool awaits_transactions() const noexcept { return state_ >= State::awaiting_transactions; }
  [[nodiscard]] Question question(bool from_beginning) const;
  void take(const Question& asked, const Answer& answer);

  State state_ = State::unknown;
  std::int64_t last_position_ = 0;  // by the last answer, from position_known on
  Positions awaited_{};             // of the transactions that must end first, from awaiting_transactions on
  std::int64_t settled_ = 0;        // once settled, no open transaction can still use a position up to this one
  std::size_t claimed_ = 0;         // tasks since the last answer
  TimePoint ask_at_{};
  TimePoint look_through_all_at_{};
};

[[nodiscard]] std::string_view to_text(Settling::State state) noexcept;
[[nodiscard]] std::string_view to_text(Settling::Outcome outcome) noexcept;
std::ostream& operator<<(std::ostream& out, Settling::State state);
std::ostream& operator<<(std::ostream& out, Settling::Outcome outcome);
std::ostream& operator<<(std::ostream& out, const Settling::Question& question);

}  // namespace dogged::runtime
