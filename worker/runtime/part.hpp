// The parts of a worker that talk to PostgreSQL, and how long each of them waits. Pure.
#pragma once

#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

enum class Part { start, registration, shutdown, handlers, completer, claimer, upkeep, chores, lease };

/// As logs, `application_name` and the message of a Defect name the part.
[[nodiscard]] std::string_view to_text(Part part) noexcept;

struct Patience {
  milliseconds statement_timeout;  ///< the server gives up a statement then
  milliseconds answer_within;      ///< the worker gives up the connection then
  milliseconds longest_backoff;    ///< the longest wait between two tries

  friend bool operator==(const Patience&, const Patience&) = default;
};

/// `lease`, `heartbeat`: the worker's settings.
[[nodiscard]] Patience patience_of(Part part, milliseconds lease, milliseconds heartbeat) noexcept;

}  // namespace dogged::runtime
