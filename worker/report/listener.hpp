// What the completer tells. worker/report does not know the listener, the claimer.
#pragma once

#include "base/time.hpp"

namespace dogged::runtime {

/// Called on the completer's thread.
class ReportListener {
 public:
  /// Reports were written, or the first ones can be: the worker may hold more tasks.
  virtual void note_room() = 0;
  /// Tasks run again at once.
  virtual void note_ready() = 0;
  /// A task runs again after `delay`.
  virtual void note_due(SteadyClock::duration delay) = 0;

 protected:
  ~ReportListener() = default;
};

}  // namespace dogged::runtime
