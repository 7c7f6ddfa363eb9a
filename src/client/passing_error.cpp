// See passing_error.hpp.
#include "client/passing_error.hpp"

#include <string_view>

#include <dogged/classification.hpp>
#include <dogged/error.hpp>

#include "db/errors.hpp"

namespace dogged {

bool is_passing(const std::exception& error) {
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) return true;
  const auto* from_server = dynamic_cast<const DatabaseError*>(&error);
  if (from_server == nullptr) return false;
  constexpr std::string_view query_canceled = "57014";  // mostly statement_timeout; a cancelled call is no mistake
  // Its class is that of passing troubles. A caller waits for room as EnqueueOptions::wait_for_room says, and not
  // longer.
  if (from_server->sqlstate() == db::queue_full) return false;
  return from_server->sqlstate() == query_canceled || is_retryable(classify_sqlstate(from_server->sqlstate()).category);
}

}  // namespace dogged
