// The file that dead letters are exported to: new, readable by its owner alone, and on the disk before anything is
// deleted. A file that was not finished, or to which nothing was written, is removed again.
#pragma once

#include <string>

namespace dogged::cli {

class LetterFile {
 public:
  /// Throws InvalidInput where there is a file of that name, or none can be made.
  explicit LetterFile(std::string path);
  ~LetterFile();
  LetterFile(const LetterFile&) = delete;
  LetterFile& operator=(const LetterFile&) = delete;

  /// Throws Failure where it cannot be written.
  void write(const std::string& lines);
  /// The file and its name are on the disk when this returns. Throws Failure.
  void finish();

 private:
  [[noreturn]] void fail(const std::string& doing) const;

  std::string path_;
  int descriptor_ = -1;
  bool is_empty_ = true;
  bool is_finished_ = false;
};

}  // namespace dogged::cli
