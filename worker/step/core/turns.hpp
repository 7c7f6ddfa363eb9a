// Decides which handler of a worker may ask the queue's database next, and how a handler goes on after a failed try.
// Pure: handler_session.hpp waits, asks and throws.
#pragma once

#include <iosfwd>
#include <string_view>

namespace dogged::runtime {

/// The handlers share one connection, so one of them asks at a time.
class Turns {
 public:
  enum class State {
    free,   ///< no handler asks
    taken,  ///< a handler asks
    away,   ///< no handler asks, and the last try has not reached the database
  };
  enum class Entry {
    take,   ///< the turn
    wait,   ///< until another handler's turn ends, or a stop is requested
    leave,  ///< without having asked: the handler is to stop, and an answer may take long
  };
  enum class Failure {
    connection_lost,  ///< or not made
    passes,           ///< a refusal that may pass, such as a lock that was not available
    lasts,            ///< a refusal of the handler's values
    defect,           ///< a mistake of dogged
  };
  enum class Sequel {
    try_again,
    fail,        ///< the handler gets the error
    end_worker,  ///< the handler waits for its stop, so that its attempt ends as interrupted and not as failed
  };

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] Entry next(bool stop_requested) const noexcept;
  [[nodiscard]] static Sequel after(Failure failure, bool stop_requested) noexcept;

  // Events.

  void on_taken();
  /// The turn has ended. `is_away`: its last try has not reached the database.
  void on_ended(bool is_away);

 private:
  State state_ = State::free;
};

[[nodiscard]] std::string_view to_text(Turns::State state) noexcept;
[[nodiscard]] std::string_view to_text(Turns::Entry entry) noexcept;
[[nodiscard]] std::string_view to_text(Turns::Sequel sequel) noexcept;
std::ostream& operator<<(std::ostream& out, Turns::State state);
std::ostream& operator<<(std::ostream& out, Turns::Entry entry);
std::ostream& operator<<(std::ostream& out, Turns::Sequel sequel);

}  // namespace dogged::runtime
