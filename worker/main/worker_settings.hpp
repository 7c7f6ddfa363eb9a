// The ranges of WorkerOptions and of the command line, and the runtime settings that they make.
#pragma once

#include <string>

#include <dogged/worker.hpp>

#include "runtime/worker.hpp"

namespace dogged::runtime {

struct DurationRange {
  milliseconds least;
  milliseconds most;
};

namespace ranges {
inline constexpr DurationRange heartbeat{milliseconds{10}, std::chrono::minutes{20}};
inline constexpr DurationRange lease{milliseconds{30}, std::chrono::hours{1}};
inline constexpr DurationRange grace{milliseconds{0}, std::chrono::hours{24}};  ///< also of the stop grace
inline constexpr DurationRange poll_interval{milliseconds{10}, std::chrono::minutes{10}};
}  // namespace ranges

/// `it must be 10ms to 20m`.
[[nodiscard]] std::string to_text(const DurationRange& range);

/// Throw InvalidInput, which calls the value `name`: an option of the command line, or a member of WorkerOptions.
void require_in(const std::string& name, milliseconds value, const DurationRange& range);
void require_worker_name(const std::string& name, const std::string& value);
void require_thread_limit(const std::string& name, int value);

/// Throws InvalidInput for a value out of its range. Makes a name if there is none, a different one each time.
[[nodiscard]] WorkerSettings settings_of(const WorkerOptions& options);

/// Throws InvalidInput and InvalidPolicy, as the constructor of dogged::Worker. Logs which settings of retries differ
/// from TASK_REGISTER's.
[[nodiscard]] Definitions definitions_of(const WorkerOptions& options, const Tasks& tasks,
                                         const std::shared_ptr<spdlog::logger>& log);

}  // namespace dogged::runtime
