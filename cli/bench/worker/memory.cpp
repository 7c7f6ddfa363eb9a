// See memory.hpp.
#include "cli/bench/worker/memory.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dogged/error.hpp>

namespace dogged::cli::bench {

// All zero when it is made, which is a state that every member can begin in. The count has a cache line of its own:
// every handler writes it.
struct Memory::Content {
  std::atomic<std::int64_t> maker;  // its process id
  alignas(64) std::atomic<std::uint64_t> handled;
  alignas(64) std::atomic<std::int64_t> begun_ns[1];  // as many as there are slots
};

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it is shared by processes");

[[noreturn]] void fail(const char* doing) { throw std::system_error(errno, std::generic_category(), doing); }

int make_file(std::size_t bytes) {
  const int fd = ::memfd_create("dogged bench", MFD_CLOEXEC);
  if (fd < 0) fail("memfd_create");
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail("ftruncate");
  return fd;
}

}  // namespace

Memory::Memory(std::size_t slots)
    : Memory(make_file(sizeof(Content) + slots * sizeof(std::int64_t)),
             sizeof(Content) + slots * sizeof(std::int64_t)) {
  content_->maker = ::getpid();
}

Memory::Memory(int fd, std::size_t bytes)
    : fd_(fd), bytes_(bytes), slots_((bytes - sizeof(Content)) / sizeof(std::int64_t)), content_(nullptr) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) fail("mmap");
  content_ = static_cast<Content*>(address);
}

Memory Memory::of_parent() {
  const char* const number = std::getenv(memory_variable);
  struct stat status {};
  if (number == nullptr || ::fstat(std::atoi(number), &status) != 0) {
    throw Error("this is a part of `dogged bench`, which starts it", "run `dogged bench --help`");
  }
  return Memory{std::atoi(number), static_cast<std::size_t>(status.st_size)};
}

Memory::~Memory() {
  if (content_ == nullptr) return;
  ::munmap(content_, bytes_);
  ::close(fd_);
}

Memory::Memory(Memory&& other) noexcept
    : fd_(other.fd_), bytes_(other.bytes_), slots_(other.slots_), content_(std::exchange(other.content_, nullptr)) {}

bool Memory::is_orphaned() const noexcept { return content_->maker != ::getppid(); }

std::uint64_t Memory::handled() const noexcept { return content_->handled.load(std::memory_order_relaxed); }

void Memory::note_handled() noexcept { content_->handled.fetch_add(1, std::memory_order_relaxed); }

std::int64_t Memory::begun_ns(std::size_t slot) const noexcept {
  return slot < slots_ ? content_->begun_ns[slot].load(std::memory_order_relaxed) : 0;
}

void Memory::note_begun(std::size_t slot) noexcept {
  if (slot >= slots_) return;
  std::int64_t not_begun = 0;
  content_->begun_ns[slot].compare_exchange_strong(not_begun, now_ns(), std::memory_order_relaxed);
}

std::int64_t Memory::now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace dogged::cli::bench
