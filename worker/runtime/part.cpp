// See part.hpp.
#include "runtime/part.hpp"

#include <algorithm>
#include <chrono>

namespace dogged::runtime {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds usual_backoff = 5s;

/// The server gives a statement up first, so that its answer says so.
constexpr Patience patience(milliseconds statement_timeout, milliseconds longest_backoff = usual_backoff) {
  return {statement_timeout, statement_timeout + 5s, longest_backoff};
}

}  // namespace

std::string_view to_text(Part part) noexcept {
  switch (part) {
    case Part::start:
      return "start";
    case Part::registration:
      return "registration";
    case Part::shutdown:
      return "shutdown";
    case Part::handlers:
      return "handlers";
    case Part::completer:
      return "completer";
    case Part::claimer:
      return "claimer";
    case Part::upkeep:
      return "upkeep";
    case Part::chores:
      return "chores";
    case Part::lease:
      break;
  }
  return "lease";
}

Patience patience_of(Part part, milliseconds lease, milliseconds heartbeat) noexcept {
  const Patience usual = patience(std::clamp<milliseconds>(lease, 5s, 30s));
  switch (part) {
    case Part::start:
      return patience(120s);  // it may have to make partitions
    case Part::chores:
      return patience(120s, 60s);  // retention may have to fill partitions, and chores have time
    case Part::upkeep:
      return patience(30s);  // a look at all tasks that times out is repeated unchanged
    case Part::lease:
      // A third of the lease for the answer to a heartbeat leaves time for another connection.
      return {usual.statement_timeout, std::max<milliseconds>(lease / 3, 200ms), std::min(heartbeat, usual_backoff)};
    case Part::registration:
    case Part::shutdown:
    case Part::handlers:
    case Part::completer:
    case Part::claimer:
      break;
  }
  return usual;
}

}  // namespace dogged::runtime
