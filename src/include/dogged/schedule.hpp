// Schedules: tasks that workers enqueue periodically. docs/schedules.md explains specs, overlap and catch-up.
//
//   TASK_REGISTER(make_report, report);                    // dogged::Task<Report> report{"report.make"}
//   TASK_SCHEDULE("nightly-report", "0 3 * * *", .task = "report.make", .time_zone = "Europe/Berlin",
//                 .args = R"({"kind": "full"})");
//
// <dogged/worker.hpp> has the macro. A worker declares its program's schedules when it starts; then any worker fires
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <dogged/detail/names.hpp>
#include <dogged/detail/refused.hpp>

namespace dogged {

/// How a tick behaves while the task of an earlier tick has not ended.
enum class Overlap {
  skip,          ///< nothing
  buffer_one,    ///< it waits for the end of that task; a second one is skipped
  buffer_all,    ///< it waits, and all run one after the other; 1,000 at most wait
  cancel_other,  ///< it cancels that task, and starts when its handler has stopped
  allow_all,     ///< it enqueues its task
};

/// The ticks to make up for, of those that no worker could fire in time.
struct CatchUp {
  /// Workers make up for ticks that are no older; 0 to 366 days. Unset: however old.
  std::optional<std::chrono::milliseconds> window = std::chrono::hours{1};
  /// Workers make up for so many of these ticks, the latest ones; 0 to 10,000. Unset: all.
  std::optional<int> limit = 1;
};

struct ScheduleOptions {
  /// The task to enqueue, which this program registers. Empty: the task of the schedule's name.
  std::string_view task = {};
  /// The IANA name of the time zone in which the spec is read.
  std::string_view time_zone = "UTC";
  /// The args of each task, as JSON.
  std::string_view args = "{}";
  /// Unset: the queue that the task declares.
  std::optional<std::string_view> queue = {};
  int priority = 0;  ///< -32768 to 32767; lower runs first
  /// Each tick is deferred by up to this long, and the same tick always by the same time; 0 to 24 h.
  std::chrono::milliseconds jitter{0};
  Overlap overlap = Overlap::skip;
  CatchUp catch_up = {};
  /// The spec may fire more often than every 10 s.
  bool allow_frequent = false;
  /// The name that the schedule had before. The schedule keeps its ticks, so that none fires a second time. Empty:
  /// none.
  std::string_view formerly = {};
};

namespace mistake {
/// The rules of TASK_SCHEDULE. The compiler's messages show the names, see detail/refused.hpp.
enum class Schedule {
  name_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
  task_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
  queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
  formerly_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
  spec_is_not_1_to_256_bytes,
  priority_is_not_between_minus_32768_and_32767,
  jitter_is_not_between_0_and_24h,
  catch_up_window_is_not_between_0_and_366_days,
  catch_up_limit_is_not_between_0_and_10000,
};
}  // namespace mistake

namespace detail {

/// As a program declares it. Texts must outlive the construction of the worker.
struct DeclaredSchedule {
  std::string_view name;
  std::string_view spec;
  ScheduleOptions options;

  [[nodiscard]] constexpr std::string_view task() const { return options.task.empty() ? name : options.task; }
};

/// A rule that a schedule breaks, and the value that it has.
struct ScheduleMistake {
  mistake::Schedule rule;
  std::variant<std::monostate, std::string_view, std::int64_t, std::chrono::milliseconds> value = {};
};

/// The first of its rules that the schedule breaks. Only the database knows whether its spec and time zone are sound.
constexpr std::optional<ScheduleMistake> find_schedule_mistake(const DeclaredSchedule& schedule) {
  using enum mistake::Schedule;
  const ScheduleOptions& options = schedule.options;
  constexpr std::chrono::milliseconds none{0};
  if (!is_valid_name(schedule.name)) {
    return ScheduleMistake{name_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash, schedule.name};
  }
  if (!is_valid_name(schedule.task())) {
    return ScheduleMistake{task_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash, options.task};
  }
  if (options.queue && !is_valid_name(*options.queue)) {
    return ScheduleMistake{queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash, *options.queue};
  }
  if (!options.formerly.empty() && !is_valid_name(options.formerly)) {
    return ScheduleMistake{formerly_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
                           options.formerly};
  }
  if (schedule.spec.empty() || schedule.spec.size() > 256) return ScheduleMistake{spec_is_not_1_to_256_bytes};
  if (options.priority < -32768 || options.priority > 32767) {
    return ScheduleMistake{priority_is_not_between_minus_32768_and_32767, std::int64_t{options.priority}};
  }
  if (options.jitter < none || options.jitter > std::chrono::hours{24}) {
    return ScheduleMistake{jitter_is_not_between_0_and_24h, options.jitter};
  }
  if (const auto window = options.catch_up.window;
      window && (*window < none || *window > std::chrono::hours{366 * 24})) {
    return ScheduleMistake{catch_up_window_is_not_between_0_and_366_days, *window};
  }
  if (const auto limit = options.catch_up.limit; limit && (*limit < 0 || *limit > 10'000)) {
    return ScheduleMistake{catch_up_limit_is_not_between_0_and_10000, std::int64_t{*limit}};
  }
  return std::nullopt;
}

/// Appends; never throws (out of memory before main is reported by registration_failed()).
void append_schedule(const DeclaredSchedule& schedule) noexcept;
/// Every schedule that this program has declared so far, in the order of static initialisation.
[[nodiscard]] const std::vector<DeclaredSchedule>& declared_schedules() noexcept;

struct ScheduleDeclaration {
  explicit ScheduleDeclaration(const DeclaredSchedule& schedule) noexcept { append_schedule(schedule); }
};

}  // namespace detail
}  // namespace dogged
