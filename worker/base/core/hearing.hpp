// Whether notifications arrive on a service's connection. Pure.
//
//   deaf --the service listens--> listening --a failure--> deaf
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/invariant.hpp"

namespace dogged::runtime {

class Hearing {
 public:
  enum class State {
    polls_only,  ///< by the service's settings
    deaf,        ///< the service does not listen yet on this connection
    listening,   ///< notifications arrive
  };

  explicit Hearing(bool listens) noexcept : state_(listens ? State::deaf : State::polls_only) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool is_deaf() const noexcept { return state_ == State::deaf; }

  void on_listening() {
    require_invariant(state_ == State::deaf, "a service begins to listen once on a connection");
    state_ = State::listening;
  }
  /// The next connection, if there is one, does not listen.
  void on_failure() noexcept {
    if (state_ == State::listening) state_ = State::deaf;
  }

 private:
  State state_;
};

[[nodiscard]] std::string_view to_text(Hearing::State state) noexcept;
std::ostream& operator<<(std::ostream& out, Hearing::State state);

}  // namespace dogged::runtime
