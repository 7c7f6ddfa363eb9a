// The durable steps of handlers (Context::step), in the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include <dogged/context.hpp>

#include "step/core/known_steps.hpp"
#include "step/handler_session.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe: one handler's step is read or written at a time. Each call waits while the database is away, until
/// `stop` is requested. A call throws LeaseLost if the worker does not hold the attempt any more, else the error of the
/// database.
class Steps {
 public:
  Steps(std::shared_ptr<HandlerSession> session, std::int64_t worker_id)
      : session_(std::move(session)), worker_id_(worker_id) {}

  /// The result that is on record, as JSON text. `known` is of this attempt. Also a first attempt asks: a failover that
  /// loses the end of an attempt lets the task begin again under the same number.
  [[nodiscard]] std::optional<std::string> recorded(const Attempt& attempt, const std::string& name, KnownSteps& known,
                                                    const std::stop_token& stop);
  /// The step began at `began_at`, and has ended now with `result_json`.
  void record(const Attempt& attempt, const std::string& name, const std::string& result_json, TimePoint began_at,
              const std::stop_token& stop);
  /// Begins or continues the wait `name`. The handler of the attempt began at `began_at`. `own_trace` is the value of
  /// AttemptTrace::own(). Gives the payload of the event as JSON text, and nothing for a time that is over. Throws
  /// Suspended if the attempt has ended, and Stopped if the handler is to stop.
  [[nodiscard]] std::optional<std::string> wait(const Attempt& attempt, const std::string& name, detail::WaitFor what,
                                                milliseconds time, TimePoint began_at,
                                                const std::optional<std::string>& own_trace,
                                                const std::stop_token& stop);
  /// The checkpoint that an earlier attempt has saved, as JSON text.
  [[nodiscard]] std::optional<std::string> last_checkpoint(const Attempt& attempt, const std::string& name,
                                                           const std::stop_token& stop);
  void save_checkpoint(const Attempt& attempt, const std::string& name, const std::string& value_json,
                       const std::stop_token& stop);

 private:
  [[nodiscard]] std::set<std::string> names_on_record(const Attempt& attempt, const std::string& name,
                                                      const std::stop_token& stop);
  [[nodiscard]] std::optional<std::string> result_on_record(const Attempt& attempt, const std::string& name,
                                                            const std::stop_token& stop);
  /// False if the worker does not hold the attempt any more.
  [[nodiscard]] bool write_record(db::Connection& connection, const Attempt& attempt, const std::string& name,
                                  const std::string& result_json, TimePoint began_at) const;
  [[noreturn]] void throw_lost(const Attempt& attempt, const std::string& name) const;

  const std::shared_ptr<HandlerSession> session_;
  const std::int64_t worker_id_;
};

}  // namespace dogged::runtime
