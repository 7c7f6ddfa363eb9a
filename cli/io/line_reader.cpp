// Lines of a file descriptor.
#include "cli/io/line_reader.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <dogged/error.hpp>

namespace dogged::cli {

InputFile::InputFile(const std::string& path) {
  if (path == "-") return;
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw InvalidInput("the file " + path + " cannot be read: " + std::generic_category().message(errno));
  }
}

InputFile::~InputFile() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

bool LineReader::take_line(std::string& line) {
  const auto newline = buffer_.find('\n', taken_);
  if (newline == std::string::npos) return false;
  line.assign(buffer_, taken_, newline - taken_);
  taken_ = newline + 1;
  return true;
}

bool LineReader::next(std::string& line) {
  std::array<char, 65536> chunk{};
  while (!take_line(line)) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    const ssize_t count = ::read(descriptor_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) return false;
    if (count < 0) throw std::system_error(errno, std::generic_category(), "reading lines");
    if (count == 0) {
      line = std::exchange(buffer_, {});
      return !line.empty();
    }
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace dogged::cli
