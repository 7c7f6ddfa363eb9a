// Whether the claimer knows every task that runs under its worker. Pure.
//
// When the answer to a claim is lost, tasks may run under the worker that the worker does not know. The claimer then
// begins a new claim session. From then on a claim of the old session that arrives late changes nothing. After that the
// claimer gives back every task that it does not know.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <vector>

#include <dogged/task_id.hpp>

#include "base/time.hpp"

namespace dogged::runtime {

class Certainty {
 public:
  enum class State {
    sure,         ///< the worker knows every task that runs under it
    in_doubt,     ///< the answer to a claim or a release was lost, or the statement is still under way
    reconciling,  ///< a new session has begun; the worker gives back the tasks that it does not know
    some_locked,  ///< tasks are known and to be given back, but another session has locked their rows: unreleased()
  };
  enum class Ask { nothing, begin_session, give_back };

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] Ask next(TimePoint now) const noexcept;
  /// When next() asks for something again.
  [[nodiscard]] TimePoint asks_at() const noexcept;
  /// Whether the worker knows every task that runs under it, except unreleased().
  [[nodiscard]] bool knows_what_it_holds() const noexcept {
    return state_ == State::sure || state_ == State::some_locked;
  }
  [[nodiscard]] const std::vector<TaskId>& unreleased() const noexcept { return unreleased_; }

  /// The number of the present claim session. Statements of earlier sessions change nothing.
  [[nodiscard]] std::int64_t session() const noexcept { return session_; }
  /// The number of the next session. No number is used twice, even if the statement that begins a session fails.
  [[nodiscard]] std::int64_t next_session() noexcept { return ++session_; }

  void on_failure() noexcept;
  void on_session_begun();
  /// The unknown tasks were given back, except `locked`.
  void on_given_back(std::vector<TaskId> locked, TimePoint now);
  /// A task could not be given back, because another session has locked its row.
  void on_locked(TaskId id, TimePoint now);

 private:
  State state_ = State::sure;
  std::int64_t session_ = 0;
  TimePoint give_back_at_ = never;
  std::vector<TaskId> unreleased_;
};

[[nodiscard]] std::string_view to_text(Certainty::State state) noexcept;
[[nodiscard]] std::string_view to_text(Certainty::Ask ask) noexcept;
std::ostream& operator<<(std::ostream& out, Certainty::State state);
std::ostream& operator<<(std::ostream& out, Certainty::Ask ask);

}  // namespace dogged::runtime
