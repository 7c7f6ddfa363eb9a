// The producer of these tests. `failover_producer URL PAUSE_MS` enqueues one task after another until SIGTERM. After
// each call the producer prints a line: "acknowledged N ID", or "in doubt N: REASON" if the connection was lost.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include <dogged/client.hpp>

namespace {

volatile std::sig_atomic_t stop_requested = 0;

std::string args_of(int n) {
  return R"({"n":)" + std::to_string(n) + R"(,"failures":)" + std::to_string(n % 10 == 0 ? 1 : 0) + "}";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: failover_producer URL PAUSE_MS");
  const std::chrono::milliseconds pause{std::atoi(argv[2])};
  std::signal(SIGTERM, [](int) { stop_requested = 1; });
  dogged::Client client{argv[1]};
  for (int n = 1; stop_requested == 0; ++n) {
    try {
      const dogged::TaskId id = client.enqueue({"step", args_of(n), {}});
      std::cout << "acknowledged " << n << " " << id << std::endl;
    } catch (const dogged::ConnectionError& error) {
      std::cout << "in doubt " << n << ": " << error.message() << std::endl;
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    std::this_thread::sleep_for(pause);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << argv[0] << ": " << error.what() << "\n";
  return 1;
}
