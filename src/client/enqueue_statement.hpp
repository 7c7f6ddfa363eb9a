// Shared by Client and enqueue_in: the statement that enqueues, and errors that say more than PostgreSQL's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <dogged/client.hpp>

#include "client/new_tasks.hpp"
#include "db/statement.hpp"

namespace dogged {

/// How far ahead a task may fall due or expire.
constexpr milliseconds longest_ahead = std::chrono::hours{24} * 3650;

/// The idempotency key of a call that may be repeated: the producer, a UUID, and the number of the call. Without one,
/// both are null.
struct CallKey {
  std::optional<std::string> producer = {};
  std::optional<std::int64_t> call = {};
};

/// Whether the task goes to the queue of its key. That queue is created if it does not exist.
[[nodiscard]] bool makes_queue(const NewTask& task);

/// Gives the ids of `tasks` as rows of `first` and `last`. Records the call if it has a `key`. Throws
/// InvalidInput for mistakes that PostgreSQL would refuse with a less helpful message.
[[nodiscard]] db::BoundStatement enqueue_statement(const NewTasks& tasks, const CallKey& key = {});

/// After PostgreSQL has refused `tasks`: throws a more helpful error, if there is one.
void explain_refused(std::span<const NewTask> tasks);

}  // namespace dogged
