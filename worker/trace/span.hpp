// An attempt that has ended, or a call that has enqueued tasks, as it is exported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <dogged/attempt_outcome.hpp>
#include <dogged/delay.hpp>
#include <dogged/task_id.hpp>
#include <dogged/trace_context.hpp>

namespace dogged::runtime {

/// Of an error's message. A worker stores up to 64 KiB of it, and many spans may wait.
inline constexpr std::size_t most_bytes_of_message = 1024;

/// A member for each field and attribute of the exported span.
struct Span {
  enum class Kind {
    process,  ///< an attempt
    send,     ///< a call of a producer: the names of its task and queue are those of the first, and not checked yet
  };
  Kind kind = Kind::process;
  TraceContext context;
  std::optional<TraceContext::SpanId> parent;  ///< of the same trace
  std::optional<TraceContext> link;            ///< the producer's span, of a retry
  std::string task_name;
  std::string queue;      ///< empty if the producer does not name it
  TaskId task_id = 0;     ///< 0: nothing was enqueued
  std::size_t tasks = 1;  ///< of a call
  int attempt = 1;
  int retry_count = 0;  ///< before it
  AttemptOutcome outcome = AttemptOutcome::succeeded;
  std::string error_code;     ///< empty if it succeeded
  std::string error_message;  ///< the same; cut to most_bytes_of_message, perhaps within a character
  std::optional<milliseconds> retry_in;
  std::int64_t began_ns = 0;  ///< since 1970
  std::int64_t ended_ns = 0;
};

}  // namespace dogged::runtime
