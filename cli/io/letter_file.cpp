// The file that dead letters are exported to.
#include "cli/io/letter_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "cli/failure.hpp"

namespace dogged::cli {

LetterFile::LetterFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    throw InvalidInput("- is no file to export to",
                       "dogged dead export writes to stdout unless --file is given; ./- is a file of that name");
  }
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor_ >= 0) return;
  const int error = errno;
  throw InvalidInput("the file " + path_ + " cannot be made: " + std::generic_category().message(error),
                     error == EEXIST ? "give the name of a new file: none is written over" : "");
}

LetterFile::~LetterFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (is_empty_ || !is_finished_) unlink(path_.c_str());
}

void LetterFile::fail(const std::string& doing) const {
  throw Failure(ExitCode::not_done,
                "the file " + path_ + " could not be " + doing + ": " + std::generic_category().message(errno),
                "nothing was deleted");
}

void LetterFile::write(const std::string& lines) {
  std::size_t written = 0;
  while (written < lines.size()) {
    const ssize_t count = ::write(descriptor_, lines.data() + written, lines.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("written");
    written += static_cast<std::size_t>(count);
    is_empty_ = false;
  }
}

void LetterFile::finish() {
  if (fsync(descriptor_) != 0) fail("synced");
  const std::string directory = std::filesystem::absolute(path_).parent_path().string();
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0) {
    static_cast<void>(fsync(parent));  // some file systems have no such thing
    close(parent);
  }
  is_finished_ = true;
}

}  // namespace dogged::cli
