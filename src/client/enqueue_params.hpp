// What Client and enqueue_in have in common: the parameters of enqueue_many.sql, and errors that say more than
// PostgreSQL's.
#pragma once

#include <vector>

#include <dogged/client.hpp>

#include "db/connection.hpp"

namespace dogged {

/// The parameters of enqueue_many.sql. Throws InvalidInput for what PostgreSQL could only refuse with a less helpful
/// message.
[[nodiscard]] db::Params enqueue_params(const std::vector<NewTask>& tasks);

/// After PostgreSQL has refused `tasks`: throws an error that is more helpful than its own, if there is one.
void explain_refused(const std::vector<NewTask>& tasks);

}  // namespace dogged
