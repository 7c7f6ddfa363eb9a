// Input of a command, from a file or from stdin. A stream of the standard library reads a directory as an empty file,
// and goes on reading after a signal. Here Ctrl-C ends the wait for a line.
#pragma once

#include <string>
#include <utility>

#include <unistd.h>

namespace dogged::cli {

class LineReader {
 public:
  /// The descriptor stays the caller's. `name` stands in errors.
  explicit LineReader(int descriptor, std::string name = "stdin") : descriptor_(descriptor), name_(std::move(name)) {}

  /// The next line without its newline, the last one also where it has none. False at the end, and when a
  /// signal handler ran while it waited. Throws InvalidInput where reading fails.
  bool next(std::string& line);

 private:
  bool take_line(std::string& line);

  int descriptor_;
  std::string name_;
  std::string buffer_;
  std::size_t taken_ = 0;  ///< of buffer_
};

/// A file open for reading, or stdin where the path is "-".
class InputFile {
 public:
  /// Throws InvalidInput where it cannot be opened.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] LineReader lines() const { return LineReader{descriptor_, name_}; }
  /// All of it. Throws InvalidInput where reading fails.
  [[nodiscard]] std::string text() const;

 private:
  int descriptor_ = STDIN_FILENO;
  std::string name_ = "stdin";
};

}  // namespace dogged::cli
