// Locks that Clang checks: a member is touched only with its mutex held, or the code does not compile
// (-Wthread-safety, https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). Other compilers see plain locks.
//
// Clang looks at each function by itself. A lambda is a function: wait in a loop, not with a predicate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define DOGGED_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define DOGGED_THREAD_SAFETY(attribute)
#endif

/// A member that is touched only while `mutex` is held.
#define DOGGED_GUARDED_BY(mutex) DOGGED_THREAD_SAFETY(guarded_by(mutex))
/// A function that is called while `mutex` is held.
#define DOGGED_REQUIRES(mutex) DOGGED_THREAD_SAFETY(requires_capability(mutex))

namespace dogged::detail {

class DOGGED_THREAD_SAFETY(capability("mutex")) Mutex {
 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a mutex to the end of the scope, except from unlock() to lock().
class DOGGED_THREAD_SAFETY(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) DOGGED_THREAD_SAFETY(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~Lock() DOGGED_THREAD_SAFETY(release_capability()) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void unlock() DOGGED_THREAD_SAFETY(release_capability()) { lock_.unlock(); }
  void lock() DOGGED_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

/// A condition variable. Each wait lets the lock go meanwhile, and may end for no reason.
class Condition {
 public:
  void wait(Lock& lock) { changed_.wait(lock.lock_); }
  /// False if `until` has come. steady_clock::time_point::max(): waits for ever.
  bool wait_until(Lock& lock, std::chrono::steady_clock::time_point until) {
    if (until != std::chrono::steady_clock::time_point::max()) {
      return changed_.wait_until(lock.lock_, until) == std::cv_status::no_timeout;
    }
    wait(lock);
    return true;
  }
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

/// Held by many readers, or by one writer.
class DOGGED_THREAD_SAFETY(capability("mutex")) SharedMutex {
 private:
  friend class ReadLock;
  friend class WriteLock;
  std::shared_mutex mutex_;
};

class DOGGED_THREAD_SAFETY(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) DOGGED_THREAD_SAFETY(acquire_shared_capability(mutex)) : lock_(mutex.mutex_) {}
  ~ReadLock() DOGGED_THREAD_SAFETY(release_capability()) {}
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class DOGGED_THREAD_SAFETY(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) DOGGED_THREAD_SAFETY(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~WriteLock() DOGGED_THREAD_SAFETY(release_capability()) {}
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace dogged::detail
