// expect: accepted
#include <dogged/detail/mutex.hpp>

struct Counted {
  mutable dogged::detail::Mutex mutex;
  dogged::detail::Condition changed;
  int tasks DOGGED_GUARDED_BY(mutex) = 0;
};

int wait_for_one(Counted& counted) {
  dogged::detail::Lock lock{counted.mutex};
  while (counted.tasks == 0) counted.changed.wait(lock);
  lock.unlock();
  lock.lock();
  return counted.tasks;
}
