// See settings.hpp.
#include "runtime/settings.hpp"

#include <dogged/error.hpp>

#include "text/duration.hpp"

namespace dogged::runtime {

void require_sound(const WorkerSettings& settings) {
  const auto positive = [](const char* name, milliseconds value) {
    if (value <= milliseconds{0})
      throw InvalidInput(std::string{name} + " is " + duration_to_text(value) + "; it must be more than 0");
  };
  positive("the heartbeat", settings.heartbeat);
  positive("the lease", settings.lease);
  positive("the poll interval", settings.poll_interval);
  if (settings.lease < 3 * settings.heartbeat) {
    throw InvalidInput("the lease is " + duration_to_text(settings.lease) + " and the heartbeat " +
                           duration_to_text(settings.heartbeat) + "; a lease must last at least three heartbeats (" +
                           duration_to_text(3 * settings.heartbeat) + "), so that one that comes late does not lose it",
                       "make --lease longer or --heartbeat shorter");
  }
}

}  // namespace dogged::runtime
