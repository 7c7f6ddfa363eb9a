// A peer that hangs up must not end the program.
#pragma once

#include <csignal>

namespace dogged::http {

/// For a thread of dogged's own that writes to sockets: it and the threads that it starts do not get SIGPIPE. The
/// process's action stays as it is, because the process may be a program that embeds the worker. OpenSSL writes
/// without MSG_NOSIGNAL.
inline void block_sigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace dogged::http
