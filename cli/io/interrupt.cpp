// Ctrl-C, SIGTERM and SIGHUP in commands that end in order.
#include "cli/io/interrupt.hpp"

#include <csignal>

#include <poll.h>

namespace dogged::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup lets a command outlive its terminal
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool was_interrupted() noexcept { return interrupted != 0; }

void pause(std::chrono::milliseconds duration) { (void)poll(nullptr, 0, static_cast<int>(duration.count())); }

}  // namespace dogged::cli
