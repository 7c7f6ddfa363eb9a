// webhook_receiver: the receiver as a program, which prints a line for each request until SIGTERM or SIGINT.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <signal.h>
#include <unistd.h>

#include "receiver.hpp"
#include "story.hpp"

namespace {

struct Address {
  std::string host;
  int port = 0;
};

/// `127.0.0.1:8080`, `[::1]:0`.
Address parse_address(const std::string& option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string::npos ? "" : std::string_view{text}.substr(colon + 1);
  Address address{text.substr(0, colon)};
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (address.host.empty() || parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() ||
      address.port < 0 || address.port > 65535) {
    throw std::invalid_argument{option + " \"" + text +
                                "\" is not ADDRESS:PORT with a port from 0 (any that is free) to 65535, such as "
                                "127.0.0.1:8080"};
  }
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

struct Options {
  std::string listen = "127.0.0.1:0";
  std::string listen_late;
  double outage_seconds = 5;
  std::string port_file;
  bool quiet = false;
};

void declare(CLI::App& app, Options& options) {
  app.description("Receives webhooks and misbehaves on a script.\n\nPOST to " + webhooks::story_paths() +
                  "; GET /stats counts what was received.");
  app.add_option("--listen", options.listen, "ADDRESS:PORT to serve; port 0: any that is free")->capture_default_str();
  app.add_option("--listen-late", options.listen_late, "ADDRESS:PORT that refuses connections at first");
  app.add_option("--outage", options.outage_seconds, "how many seconds --listen-late refuses them, 0 to 3600")
      ->capture_default_str();
  app.add_option("--port-file", options.port_file, "write the ports there, one a line, once they are taken");
  app.add_flag("--quiet", options.quiet, "no line for each request");
}

std::chrono::milliseconds parse_outage(double seconds) {
  if (!(seconds >= 0 && seconds <= 3600)) {  // written so that NaN is refused
    throw std::invalid_argument{"--outage " + std::to_string(seconds) + " is not from 0 to 3600 seconds"};
  }
  return std::chrono::milliseconds{std::lround(seconds * 1000)};
}

/// Under its name only when it is complete, so that a script may wait for the file.
void write_port_file(const std::string& path, const std::string& ports) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file{unfinished};
  file << ports << std::flush;
  if (!file) throw std::runtime_error{"cannot write --port-file " + path + ": is its directory there and writable?"};
  std::filesystem::rename(unfinished, path);
}

void print_request(const webhooks::ReceivedRequest& request) {
  static const bool colour = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const bool accepted = request.status == 200;
  const char* const begin = !colour ? "" : accepted ? "\033[32m" : "\033[31m";
  const std::string status = request.status == 0 ? "reset" : std::to_string(request.status);
  std::printf("%s%-5s%s  attempt %d  %-14s  POST %s\n", begin, status.c_str(), colour ? "\033[0m" : "", request.attempt,
              request.delivery.c_str(), request.target.c_str());
  std::fflush(stdout);
}

/// Blocked in this thread and in the threads that it starts, so that `wait_for_end` alone takes these signals.
sigset_t block_end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void run(const Options& options) {
  const Address address = parse_address("--listen", options.listen);
  const std::chrono::milliseconds outage = parse_outage(options.outage_seconds);
  const sigset_t end_signals = block_end_signals();
  webhooks::Receiver receiver{options.quiet ? webhooks::Receiver::Log{} : &print_request};

  const int port = receiver.listen(address.host, address.port);
  std::cout << "listening on " << address.host << ':' << port << std::endl;
  std::string ports = std::to_string(port) + '\n';
  if (!options.listen_late.empty()) {
    const Address late = parse_address("--listen-late", options.listen_late);
    const int late_port = receiver.listen_late(late.host, late.port, outage);
    std::cout << "refusing on " << late.host << ':' << late_port << " for " << options.outage_seconds << " s"
              << std::endl;
    ports += std::to_string(late_port) + '\n';
  }
  if (!options.port_file.empty()) write_port_file(options.port_file, ports);

  int signal = 0;
  sigwait(&end_signals, &signal);
  std::cout << receiver.stats() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app;
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
    run(options);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // 0: --help
  } catch (const std::invalid_argument& error) {
    std::cerr << "webhook_receiver: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "webhook_receiver: " << error.what() << '\n';
    return 1;
  }
}
