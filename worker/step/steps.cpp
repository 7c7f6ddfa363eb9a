// See steps.hpp.
#include "step/steps.hpp"

#include <exception>
#include <utility>

#include <dogged/error.hpp>

#include "client/passing_error.hpp"
#include "sql/step.hpp"

namespace dogged::runtime {

/// Runs the statement that `make` gives until it is answered: made anew each time, because it says how long ago the
/// step began.
template <class MakeStatement>
auto Steps::ask(MakeStatement make, const std::stop_token& stop) {
  const detail::Lock lock{mutex_};
  while (true) {
    try {
      auto rows = session_->connection().run(make());
      session_->succeeded();
      return rows;
    } catch (const std::exception& error) {
      if (stop.stop_requested() || !is_passing(error)) throw;
      session_->recover_from(error, stop);
    }
  }
}

void Steps::require_held(bool is_held, const Attempt& attempt, const std::string& name) const {
  if (is_held) return;
  throw LeaseLost("attempt " + std::to_string(attempt.number) + " of task " + std::to_string(attempt.id) +
                      " is not held by worker " + std::to_string(worker_id_) + " any more: its step \"" + name +
                      "\" is not recorded",
                  "let the handler end: the worker that holds the task now runs the step");
}

std::optional<std::string> Steps::recorded(const Attempt& attempt, const std::string& name,
                                           const std::stop_token& stop) {
  auto rows = ask(
      [&] {
        return sql::RecordedStep{
            .name = name, .task_id = attempt.id, .attempt = attempt.number, .worker_id = worker_id_};
      },
      stop);
  require_held(!rows.empty(), attempt, name);
  return std::move(rows.front().result);
}

void Steps::record(const Attempt& attempt, const std::string& name, const std::string& result_json, TimePoint began_at,
                   const std::stop_token& stop) {
  const auto rows = ask(
      [&] {
        const auto ago = std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - began_at);
        return sql::RecordStep{.task_id = attempt.id,
                               .attempt = attempt.number,
                               .worker_id = worker_id_,
                               .name = name,
                               .began_us_ago = ago.count(),
                               .result = result_json};
      },
      stop);
  require_held(!rows.empty(), attempt, name);
}

}  // namespace dogged::runtime
