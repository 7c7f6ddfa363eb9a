// Tasks as people write them for `dogged enqueue`: checked as far as that is possible without the database.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <dogged/unique.hpp>

#include "cli/render/moment.hpp"
#include "text/message.hpp"

namespace dogged {
struct NewTask;
}

namespace dogged::cli {

/// For JSON that stands on the command line.
inline constexpr const char* json_in_a_shell = "in a shell, single quotes keep JSON whole: '{\"url\": \"http://…\"}'";

/// Throws InvalidInput, which names `what`, the place and the reason, and has the hint, unless `text` is one JSON
/// document. The text is enqueued as it is: parsed and written again, its numbers could lose digits.
void require_json(const std::string& what, std::string_view text, const std::string& hint = json_in_a_shell);

/// JSON pointers that tasks refer to (Unique::by), each once.
using PointerTexts = std::set<std::string, std::less<>>;

/// Reads `{"name": "webhook.deliver", "args": {…}, "queue": "webhooks", "in": "30s", "priority": -10, "trace_context":
/// "…", "expires_in": "1h", "tags": ["eu"]}`. Only the name is required. "at" and "expires_at" may stand for "in" and
/// "expires_in". `zone`: of times without a zone. `pointers` gets the texts of "unique_by", and must live as long as
/// the task. Throws InvalidInput, without the line's number.
[[nodiscard]] NewTask task_from_json_line(std::string_view line, PointerTexts& pointers, Zone zone = Zone::local);

/// Reads a time for EnqueueOptions::run_at and expires_at. Throws InvalidInput, also for years that the system's clock
/// does not reach.
[[nodiscard]] std::chrono::system_clock::time_point time_point_from_text(std::string_view text, Zone zone);

/// As far ahead as a task may be due: ten years.
inline constexpr std::chrono::milliseconds longest_duration = std::chrono::hours{87'600};

/// Reads a duration up to longest_duration. Throws InvalidInput.
[[nodiscard]] std::chrono::milliseconds duration_of(const std::string& text);

/// The texts of UniqueWhile and OnConflict.
inline const Words unique_whiles{"pending", "live", "kept"};
inline const Words on_conflicts{"keep",       "refuse",   "replace_args",  "merge_args",
                                "reschedule", "debounce", "debounce_merge"};
/// Throw InvalidInput for another text.
[[nodiscard]] UniqueWhile unique_while_from_text(const std::string& text);
[[nodiscard]] OnConflict on_conflict_from_text(const std::string& text);

/// Reads a priority from -32768 to 32767. Throws InvalidInput.
[[nodiscard]] int priority_from_number(std::int64_t number);
/// Throws InvalidInput unless it is 1 to 32767.
[[nodiscard]] int args_version_from_number(std::int64_t number);

}  // namespace dogged::cli
