// Lines of a file descriptor, in whichever pieces they arrive. The first line of the input is the size of the pieces.
#include "cli/io/line_reader.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.hpp"

namespace {

/// A socket that gives each piece to one read, and then the end.
class Pieces {
 public:
  Pieces(std::string_view text, std::size_t size) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) fail();
    descriptor_ = ends[0];
    for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
      if (send(ends[1], text.data(), std::min(size, text.size()), MSG_DONTWAIT) < 0) fail();
    }
    close(ends[1]);
  }
  ~Pieces() { close(descriptor_); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category(), "a pair of sockets"); }

  int descriptor_ = -1;
};

}  // namespace

FUZZ_TARGET(line_reader, input) {
  constexpr std::size_t most_pieces = 100;  // more may not fit into the socket
  Lines lines{input};
  const auto wanted = static_cast<std::size_t>(lines.number(1, 65536));
  const std::string_view text = lines.rest().substr(0, 65536);
  const Pieces pieces{text, std::max(wanted, text.size() / most_pieces + 1)};

  dogged::cli::LineReader reader{pieces.descriptor()};
  Lines expected{text};
  std::string line;
  while (!expected.at_end()) {
    require(reader.next(line), "lines come until the end");
    require(line == expected.text(), "lines come as they were written", line);
  }
  require(!reader.next(line) && !reader.next(line), "after the last line there is none", line);
}
