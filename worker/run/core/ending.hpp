// The functions here make the report of an attempt from the end of its handler. Pure: attempt.cpp runs the handler, and
// describes how it ended.
#pragma once

#include <cstddef>
#include <string>

#include <dogged/context.hpp>
#include <dogged/error.hpp>

#include "base/time.hpp"
#include "lifecycle/lifecycle.hpp"
#include "run/attempt_settings.hpp"
#include "tasks/core/claimed_task.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// How the handler ended, before anything is decided.
struct HandlerEnd {
  lifecycle::Ending ending = {};
  std::string error_details_json = {};
  std::string result_json = {};
  std::size_t result_bytes = 0;  ///< of result_json, as PostgreSQL writes it (bytes_as_jsonb)
  bool is_on_record = false;     ///< of a snoozed one: Context::sleep or wait_event has recorded it
};

[[nodiscard]] HandlerEnd failed_with(const ErrorCode& code, std::string message, std::string details_json = {});

/// The facts beside the end of a handler that decide its report.
struct Circumstances {
  /// Why the stop token was set. A failure after that is no failure of the task.
  StopReason stop_reason = StopReason::none;
  /// The handler has called complete_in. A handler that returns then, or that must call it, has failed: if its
  /// transaction has been committed, the database knows better (Record::perhaps_committed).
  bool completion_begun = false;
  AttemptLimits limits = {};  ///< of the result and the message
};

/// `declaration` decides, and the report refers to it: it is in force for the task when the attempt ends. `draw` is
/// uniform in [0, 1), for the jitter.
[[nodiscard]] Report report_of(const ClaimedTask& task, const Declaration& declaration, TimePoint started_at,
                               TimePoint finished_at, HandlerEnd end, const Circumstances& circumstances, double draw);

/// The report of an attempt whose handler has ignored its stop token; `reason` is why it was stopped.
[[nodiscard]] Report report_without_handler(const ClaimedTask& task, const Declaration& declaration, StopReason reason,
                                            TimePoint started_at, TimePoint now, double draw);

/// The report of an attempt whose handler has not begun, because the task was cancelled while it waited for a thread.
[[nodiscard]] Report report_not_begun(const ClaimedTask& task, const Declaration& declaration, TimePoint now);

}  // namespace dogged::runtime
