// A program that was started with a closed stdin, stdout or stderr.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace dogged {

/// Opens /dev/null, by `flags`, for each of the descriptors 0 to 2 that is closed. The next descriptor to be opened
/// would be the socket to PostgreSQL, and get what the program prints. Before any other thread is started.
inline void open_standard_descriptors(int flags) {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", flags);  // the lowest free one: this
  }
}

}  // namespace dogged
