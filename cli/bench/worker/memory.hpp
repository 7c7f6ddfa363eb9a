// Memory that `dogged bench` and its worker processes share. A note of a run costs the handler no more than a write to
// memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dogged::cli::bench {

/// How the worker processes find it: the number of an open file.
inline constexpr const char* memory_variable = "DOGGED_BENCH_MEMORY_FD";

class Memory {
 public:
  /// With `slots` places for times. Throws std::system_error.
  explicit Memory(std::size_t slots);
  /// The memory that memory_variable names. Throws Error if there is none.
  static Memory of_parent();
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// Whether the process that made it is not this one's parent any more.
  [[nodiscard]] bool is_orphaned() const noexcept;
  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }

  /// How many handlers have been run.
  [[nodiscard]] std::uint64_t handled() const noexcept;
  void note_handled() noexcept;

  /// When the first attempt of the task with this slot began, by now_ns(); 0 where it has not.
  [[nodiscard]] std::int64_t begun_ns(std::size_t slot) const noexcept;
  void note_begun(std::size_t slot) noexcept;

  /// By the monotonic clock, which all processes of a machine share.
  [[nodiscard]] static std::int64_t now_ns() noexcept;

 private:
  Memory(int fd, std::size_t bytes);

  struct Content;
  int fd_;
  std::size_t bytes_;
  std::size_t slots_;
  Content* content_;
};

}  // namespace dogged::cli::bench
