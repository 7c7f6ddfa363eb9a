// Why giving a task back changed nothing. Pure.
#pragma once

#include <iosfwd>
#include <string_view>

#include "lease/core/holder.hpp"

namespace dogged::runtime {

enum class ReleaseVerdict {
  locked,      ///< another session has locked the task's row: the claimer tries again later
  given_back,  ///< an earlier try gave the task back, and its answer was lost
  fenced,      ///< the worker does not hold the task any more
};

/// The claimer has tried to give the task back from its attempt `attempt`, and asked for the holder after that.
[[nodiscard]] ReleaseVerdict release_verdict(const Holder& holder, int attempt) noexcept;

[[nodiscard]] std::string_view to_text(ReleaseVerdict verdict) noexcept;
std::ostream& operator<<(std::ostream& out, ReleaseVerdict verdict);

}  // namespace dogged::runtime
