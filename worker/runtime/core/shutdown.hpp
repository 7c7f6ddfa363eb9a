// In which order a worker shuts down, and how long each step may take. Pure: shutting_down.cpp carries the steps
// out.
//
// The worker signs off before it records the attempts that it interrupted. Another worker may begin their tasks from
// then on, and must not find a lease of this worker. A step that fails does not end the shutdown. Tasks that could not
// be given back, and reports that could not be written, are rescued when the lease has lapsed.
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class Shutdown {
 public:
  static constexpr milliseconds time_to_give_back{5'000};
  static constexpr milliseconds time_to_write{5'000};

  enum class Step {
    stop_claiming,
    give_back,           ///< claimed tasks that have not begun
    let_finish,          ///< waits until nothing runs
    stop_handlers,       ///< sets the stop tokens, and waits until nothing runs
    give_up_handlers,    ///< those that still run
    write_reports,       ///< of the attempts that have ended
    sign_off,            ///< the worker holds no lease any more
    record_interrupted,  ///< adds the reports of the handlers that were given up
    finish_reports,      ///< writes them, and ends the completer
    wake_others,         ///< for interrupted tasks and for retries
    ended,
  };
  /// How long running attempts may go on.
  struct Times {
    milliseconds grace{0};       ///< before their stop tokens are set
    milliseconds stop_grace{0};  ///< after that

    friend bool operator==(const Times&, const Times&) = default;
  };
  struct Action {
    Step step = Step::ended;
    TimePoint until = never;  ///< the step fails if it takes longer

    friend bool operator==(const Action&, const Action&) = default;
  };

  explicit Shutdown(const Times& times) : times_(times) {}

  /// `wanted`, cut to `limit` in all. The grace is cut first: a handler that heeds its stop token needs the stop grace
  /// to end in order. No time of `wanted`, nor the limit, is negative.
  [[nodiscard]] static Times times_within(milliseconds limit, const Times& wanted);

  [[nodiscard]] Action next(TimePoint now) const;
  /// The step was carried out. For let_finish and stop_handlers, success means that nothing runs any more.
  void on_done(bool success);

 private:
  Times times_;
  Step step_ = Step::stop_claiming;
  bool wakes_others_ = false;  // for interrupted tasks in any case; for retries, if PostgreSQL answers
};

[[nodiscard]] std::string_view to_text(Shutdown::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, Shutdown::Step step);
std::ostream& operator<<(std::ostream& out, const Shutdown::Action& action);
std::ostream& operator<<(std::ostream& out, const Shutdown::Times& times);

}  // namespace dogged::runtime
