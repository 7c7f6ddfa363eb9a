// The handlers' own log: which attempts ran, and when. All workers of a run append to one file, and the checker
// compares it with the database.
//
//   start <task> <attempt> <pid> <nanoseconds of CLOCK_MONOTONIC>
//   end   <task> <attempt> <pid> <nanoseconds of CLOCK_MONOTONIC> <succeeded, or the error code, or STOPPED>
//   step  <task> <attempt> <pid> <nanoseconds of CLOCK_MONOTONIC> <the step's name> <what it gave>
//
// Each line is one write() with O_APPEND. So lines of several processes do not mix, and a process's lines are there
// however it dies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <dogged/context.hpp>

namespace dogged::faults {

inline constexpr std::string_view succeeded = "succeeded";
inline constexpr std::string_view stopped = "STOPPED";  ///< the stop token was heeded

/// Written by handlers. Thread-safe.
class HandlerLog {
 public:
  /// Throws std::system_error.
  explicit HandlerLog(const std::filesystem::path& file);
  ~HandlerLog();
  HandlerLog(const HandlerLog&) = delete;
  HandlerLog& operator=(const HandlerLog&) = delete;

  void start(const Context& context) const;
  void end(const Context& context, std::string_view how) const;
  void step(const Context& context, std::string_view name, int gave) const;

 private:
  void write(const std::string& line) const;

  int fd_;
};

/// A step that a handler has passed, and what the step gave it.
struct PassedStep {
  std::string name = {};
  int gave = 0;
};

/// One start of a handler, and its end if it came to one.
struct Execution {
  TaskId task = 0;
  int attempt = 0;
  pid_t pid = 0;
  std::int64_t started_ns = 0;
  std::optional<std::int64_t> ended_ns = {};
  std::string how = {};  ///< empty without an end
  std::vector<PassedStep> steps = {};
};

/// In the order of their starts. Empty where there is no file. Throws InvalidInput for a line that is not one.
[[nodiscard]] std::vector<Execution> read_handler_log(const std::filesystem::path& file);

}  // namespace dogged::faults
