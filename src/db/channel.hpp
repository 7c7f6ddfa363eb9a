// The channels on which functions of the schema notify. A channel's name in PostgreSQL is `dogged.` and the text below.
#pragma once

#include <string>
#include <string_view>

namespace dogged::db {

enum class Channel {
  wake,       ///< tasks of a queue are ready
  queues,     ///< settings of queues were changed
  circuits,   ///< circuits were changed
  cancel,     ///< the cancellation of a task that runs was requested
  workers,    ///< a worker has registered
  schedules,  ///< schedules were changed
  waiting,    ///< a client waits for the end of a task
  ended,      ///< a task has ended for which a client waits
};

[[nodiscard]] constexpr std::string_view to_text(Channel channel) noexcept {
  switch (channel) {
    case Channel::wake:
      return "wake";
    case Channel::queues:
      return "queues";
    case Channel::circuits:
      return "circuits";
    case Channel::cancel:
      return "cancel";
    case Channel::workers:
      return "workers";
    case Channel::schedules:
      return "schedules";
    case Channel::waiting:
      return "waiting";
    case Channel::ended:
      break;
  }
  return "ended";
}

/// A notification that arrived.
struct Notification {
  Channel channel = Channel::wake;
  std::string payload;
};

}  // namespace dogged::db
