// Lines of a file descriptor. A stream of the standard library would go on reading after a signal; here
// Ctrl-C ends the wait for a line.
#pragma once

#include <string>

#include <unistd.h>

namespace dogged::cli {

/// A file open for reading, or stdin where the path is "-".
class InputFile {
 public:
  /// Throws InvalidInput where it cannot be opened.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = STDIN_FILENO;
};

class LineReader {
 public:
  /// The descriptor stays the caller's.
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  /// The next line without its newline, the last one also where it has none. False at the end, and when a
  /// signal handler ran while it waited. Throws std::system_error where reading fails.
  bool next(std::string& line);

 private:
  bool take_line(std::string& line);

  int descriptor_;
  std::string buffer_;
  std::size_t taken_ = 0;  ///< of buffer_
};

}  // namespace dogged::cli
