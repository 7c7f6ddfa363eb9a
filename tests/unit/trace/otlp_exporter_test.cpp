// The thread that exports spans.
#include "trace/otlp_exporter.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include "support/catch.hpp"

using namespace dogged;

namespace {

std::set<std::string> threads() {
  std::set<std::string> all;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    all.insert(thread.path().filename());
  }
  return all;
}

bool blocks(const std::string& thread, int signal) {
  std::ifstream status{"/proc/self/task/" + thread + "/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return ((std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) & 1) != 0;
  }
  return false;
}

}  // namespace

TEST_CASE("the thread that exports spans gets no SIGPIPE from a collector that hangs up") {
  sigset_t none;  // whatever the parent of this process blocks
  sigemptyset(&none);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &none, nullptr) == 0);
  const std::set<std::string> before = threads();
  const auto log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  const runtime::OtlpExporter exporter{{.url = "http://127.0.0.1:1/v1/traces", .shown_url = "http://127.0.0.1:1"},
                                       "app-1",
                                       std::make_shared<runtime::Tally>(),
                                       log};
  std::set<std::string> its_own = threads();
  for (const std::string& thread : before) its_own.erase(thread);
  REQUIRE(its_own.size() == 1);
  const std::string thread = *its_own.begin();
  // A thread that is being made blocks all signals. Then it blocks this one, before it sends anything.
  while (blocks(thread, SIGUSR1)) std::this_thread::yield();
  for (int looks = 0; looks < 10'000 && !blocks(thread, SIGPIPE); ++looks) std::this_thread::yield();
  CHECK(blocks(thread, SIGPIPE));
}
