// See release_verdict.hpp.
#include "claim/core/release_verdict.hpp"

#include <ostream>

namespace dogged::runtime {

ReleaseVerdict release_verdict(const Holder& holder, int attempt) noexcept {
  if (holder.is_mine) return ReleaseVerdict::locked;
  // A task that is given back has not begun the attempt: release.sql takes the number back.
  const bool is_given_back = holder.status == lifecycle::Status::pending && holder.task_attempt == attempt - 1;
  return is_given_back ? ReleaseVerdict::given_back : ReleaseVerdict::fenced;
}

std::string_view to_text(ReleaseVerdict verdict) noexcept {
  switch (verdict) {
    case ReleaseVerdict::locked:
      return "locked";
    case ReleaseVerdict::given_back:
      return "given back";
    case ReleaseVerdict::fenced:
      break;
  }
  return "fenced";
}

std::ostream& operator<<(std::ostream& out, ReleaseVerdict verdict) { return out << to_text(verdict); }

}  // namespace dogged::runtime
