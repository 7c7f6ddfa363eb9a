// See told.hpp.
#include "claim/core/told.hpp"

#include <ostream>

namespace dogged::runtime {

std::ostream& operator<<(std::ostream& out, const Told& told) {
  out << "told:";
  if (told.has_ready) out << " tasks are ready,";
  if (told.has_rescued) out << " tasks were rescued,";
  if (told.due_at != never) out << " a retry is due at " << told.due_at.time_since_epoch().count() << ',';
  if (told.server_is_back) out << " the server is back,";
  return told.has_expired ? out << " tasks have expired," : out;
}

}  // namespace dogged::runtime
