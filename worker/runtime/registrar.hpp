// Registers the incarnations of a worker, as Registering decides.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/worker_row.hpp"

namespace dogged::runtime {

struct Common;

/// Checks the schema, registers the worker, and publishes its tasks and schedules. Reads the limits of attempts into
/// `common`. Nothing if the worker was told to stop before. Throws ConnectionError, DatabaseError, SchemaMismatch,
/// InvalidInput, or Defect. InvalidInput is for a name in use, a queue that does not exist, or a schedule that the
/// database refuses. With a previous lease the function does not throw the first two, but tries again.
[[nodiscard]] std::optional<Registration> register_first(Common& common);

/// Registers the incarnation after the one whose lease was `lost`. The function tries until it succeeds. Nothing if the
/// worker was told to stop before. Throws what register_first throws with a previous lease.
[[nodiscard]] std::optional<Registration> register_again(Common& common, std::int64_t lost);

}  // namespace dogged::runtime
