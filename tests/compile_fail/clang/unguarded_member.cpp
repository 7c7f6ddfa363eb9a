// expect: reading variable 'tasks' requires holding mutex 'counted.mutex'
#include <dogged/detail/mutex.hpp>

struct Counted {
  dogged::detail::Mutex mutex;
  int tasks DOGGED_GUARDED_BY(mutex) = 0;
};

int count(const Counted& counted) { return counted.tasks; }
