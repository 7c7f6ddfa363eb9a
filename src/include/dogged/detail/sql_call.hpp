// Our statements as text and parameters, for the caller's connection. <dogged/transaction.hpp> runs them, so that no
// other header and no part of the library's compiled interface needs libpqxx.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/task.hpp>
#include <dogged/unique.hpp>

namespace dogged {

struct NewTask;

namespace detail {

struct SqlCall {
  std::string text;
  std::vector<std::optional<std::string>> params;  ///< $1, $2, … as text; nothing is null
};

/// Whether the tasks are enqueued by the functions for unique tasks.
[[nodiscard]] bool any_is_unique(std::span<const NewTask> tasks) noexcept;
/// The answer of the statement for unique tasks. Throws SchemaMismatch if it is not of this form, or of as many tasks.
[[nodiscard]] std::vector<Enqueued> enqueued_from(std::string_view answer, std::size_t tasks);

/// Enqueues `tasks`; gives their ids as rows of a `first` and a `last` one, or the answer for enqueued_from. Throws
/// InvalidInput for tasks that Client::enqueue_many refuses without asking the database, and for a name that no schema
/// can have.
[[nodiscard]] SqlCall enqueue_call(std::span<const NewTask> tasks, const std::string& schema);

/// Make the queues that the keys of `tasks` name, each once; to be run before enqueue_call.
[[nodiscard]] std::vector<SqlCall> prepare_calls(std::span<const NewTask> tasks, const std::string& schema);

/// Ends an attempt as succeeded; an empty `result_json` is no result. Throws TaskError with INVALID_RESULT for a result
/// that is too long.
[[nodiscard]] SqlCall completion_call(const Context::Completion& completion, const std::string& result_json);

/// A step that is recorded in the handler's own transaction.
struct StepInTransaction {
  TaskId task_id = 0;
  int attempt = 0;
  std::int64_t worker_id = 0;
  std::string name;
  std::string result_json;
  std::chrono::microseconds began_ago{0};
};
[[nodiscard]] SqlCall step_call(const StepInTransaction& step, const std::string& schema);

/// Throws dogged's own error for the server's answer to one of these statements, if there is one. The error is
/// InvalidInput, LeaseLost or SchemaMismatch, and for a step TaskError. Otherwise the function returns, and the caller
/// passes on libpqxx's exception. `tasks`: the tasks of the refused call.
void explain_refusal(const std::string& server_text, const std::string& sqlstate, std::span<const NewTask> tasks);

}  // namespace detail
}  // namespace dogged
