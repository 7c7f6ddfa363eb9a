// What Client and enqueue_in have in common: the statement that enqueues, and errors that say more than PostgreSQL's.
#pragma once

#include <vector>

#include <dogged/client.hpp>

#include "db/connection.hpp"

namespace dogged {

struct EnqueueStatement {
  db::Statement statement;
  db::Params params;
};

/// Gives a row `id` for each of `tasks`, of which there is one at least. Throws InvalidInput for what PostgreSQL could
/// only refuse with a less helpful message.
[[nodiscard]] EnqueueStatement enqueue_statement(const std::vector<NewTask>& tasks);

/// After PostgreSQL has refused `tasks`: throws an error that is more helpful than its own, if there is one.
void explain_refused(const std::vector<NewTask>& tasks);

}  // namespace dogged
