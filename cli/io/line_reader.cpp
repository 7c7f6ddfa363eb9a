// See line_reader.hpp.
#include "cli/io/line_reader.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <dogged/error.hpp>

namespace dogged::cli {
namespace {

[[noreturn]] void fail_to_read(const std::string& name, int error) {
  throw InvalidInput(name + " cannot be read: " + std::generic_category().message(error));
}

/// Appends the next bytes of the descriptor. False at the end, and if a signal handler ran meanwhile: then errno is
/// EINTR, else 0.
bool append(std::string& text, int descriptor, const std::string& name) {
  std::array<char, 65536> chunk{};
  errno = 0;
  const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
  if (count < 0 && errno != EINTR) fail_to_read(name, errno);
  if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

InputFile::InputFile(const std::string& path) {
  if (path == "-") return;
  name_ = "the file " + path;
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_to_read(name_, errno);
}

InputFile::~InputFile() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

std::string InputFile::text() const {
  std::string all;
  while (append(all, descriptor_, name_) || errno == EINTR) {
  }
  return all;
}

bool LineReader::take_line(std::string& line) {
  const auto newline = buffer_.find('\n', taken_);
  if (newline == std::string::npos) return false;
  line.assign(buffer_, taken_, newline - taken_);
  taken_ = newline + 1;
  return true;
}

bool LineReader::next(std::string& line) {
  while (!take_line(line)) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    if (append(buffer_, descriptor_, name_)) continue;
    if (errno == EINTR) return false;
    line = std::exchange(buffer_, {});
    return !line.empty();
  }
  return true;
}

}  // namespace dogged::cli
