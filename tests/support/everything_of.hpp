// Everything on record about a task, for tests that a refused call changes nothing.
#pragma once

#include <string>

#include "support/test_database.hpp"

namespace dogged::test {

/// The task's row, wherever it is, and its attempts, as JSON.
inline std::string everything_of(TestDatabase& database, TaskId id) {
  return database.value(
      "select jsonb_build_array((select jsonb_agg(t) from dogged.tasks t where id = $1::bigint), "
      "(select jsonb_agg(a) from dogged.task_attempts a where task_id = $1::bigint))::text as value",
      db::Params{}.add(id));
}

}  // namespace dogged::test
