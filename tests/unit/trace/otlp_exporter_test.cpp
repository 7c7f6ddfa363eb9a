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

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "support/catch.hpp"
#include "support/eventually.hpp"

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

/// Also while it waits for a lock.
bool sleeps(const std::string& thread) {
  std::ifstream status{"/proc/self/task/" + thread + "/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:")) return line.find('S', 6) != std::string::npos;
  }
  return false;
}

/// An exporter with a collector that is down, and the id of the exporter's thread.
struct Exporting {
  Exporting() {
    std::set<std::string> its_own = threads();
    for (const std::string& other : before) its_own.erase(other);
    REQUIRE(its_own.size() == 1);
    thread = *its_own.begin();
  }

  [[nodiscard]] std::size_t logged() const { return lines->last_formatted().size(); }

  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  std::set<std::string> before = threads();
  runtime::OtlpExporter exporter{
      {.url = "http://127.0.0.1:1/v1/traces", .shown_url = "http://127.0.0.1:1", .most_in_batch = 1},
      "app-1",
      std::make_shared<runtime::Tally>(),
      std::make_shared<spdlog::logger>("test", lines)};
  std::string thread;
};

}  // namespace

TEST_CASE("the thread that exports spans gets no SIGPIPE from a collector that hangs up") {
  sigset_t none;  // whatever the parent of this process blocks
  sigemptyset(&none);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &none, nullptr) == 0);
  const Exporting exporting;
  // A thread that is being made blocks all signals. Then it blocks this one, before it sends anything.
  while (blocks(exporting.thread, SIGUSR1)) std::this_thread::yield();
  for (int looks = 0; looks < 10'000 && !blocks(exporting.thread, SIGPIPE); ++looks) std::this_thread::yield();
  CHECK(blocks(exporting.thread, SIGPIPE));
}

TEST_CASE("the thread that exports spans goes after the other threads of its process") {
  const Exporting exporting;
  const auto thread = static_cast<id_t>(std::stoul(exporting.thread));
  const int of_others = getpriority(PRIO_PROCESS, 0);
  if (of_others == 19) return;  // no thread can go later
  CHECK(test::eventually([&] { return getpriority(PRIO_PROCESS, thread) > of_others; }));
}

TEST_CASE("a span wakes the thread that exports it") {
  const Exporting exporting;
  const std::size_t logged = exporting.logged();
  REQUIRE(test::eventually([&] { return blocks(exporting.thread, SIGPIPE) && sleeps(exporting.thread); }));
  exporting.exporter.tracer()->attempt_begins({.attempt = 1})->ended({});
  CHECK(test::eventually([&] { return exporting.logged() > logged; }));  // that the collector is down
}
