// How many tasks a worker holds ready beyond those that run.
#include "run/core/prefetch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using dogged::runtime::max_prefetch;
using dogged::runtime::prefetch;
using dogged::runtime::prefetch_window;
using std::chrono::nanoseconds;

namespace {

/// Counts the tasks that threads begin within the window if all threads have just begun one. Stops at the most.
std::size_t begun_within_window(std::size_t threads, nanoseconds average_run) {
  std::size_t begun = 0;
  for (nanoseconds now = average_run; now <= prefetch_window && begun < max_prefetch; now += average_run) {
    for (std::size_t thread = 0; thread < threads && begun < max_prefetch; ++thread) ++begun;
  }
  return begun;
}

/// Each microsecond up to beyond the window, and the times around those at which one more round fits.
std::vector<nanoseconds> average_runs() {
  std::vector<nanoseconds> runs;
  for (nanoseconds run = 1us; run <= prefetch_window + 2us; run += 1us) runs.push_back(run);
  for (std::int64_t rounds = 1; rounds <= 1100; ++rounds) {
    const nanoseconds longest = nanoseconds{prefetch_window} / rounds;
    for (const nanoseconds run : {longest - 1ns, longest, longest + 1ns}) runs.push_back(run);
  }
  for (nanoseconds run = 1ns; run <= 100ns; ++run) runs.push_back(run);
  return runs;
}

}  // namespace

TEST_CASE("a worker holds as many tasks ready as its threads begin within the window, and a thousand at most",
          "[one_thread]") {
  const std::vector<nanoseconds> runs = average_runs();
  for (const std::size_t threads : {1U, 2U, 3U, 4U, 5U, 7U, 10U, 16U, 64U, 333U, 999U, 1000U}) {
    for (const nanoseconds run : runs) {
      if (prefetch(threads, run) == begun_within_window(threads, run)) continue;
      FAIL(threads << " threads, " << run.count() << " ns: " << prefetch(threads, run));
    }
  }
}

TEST_CASE("a worker holds no task ready while the average is unknown, and without threads") {
  for (const std::size_t threads : {0U, 1U, 1000U}) {
    CHECK(prefetch(threads, 0ns) == 0);
    CHECK(prefetch(threads, -1ns) == 0);
    CHECK(prefetch(threads, nanoseconds::min()) == 0);
    CHECK(prefetch(threads, nanoseconds::max()) == 0);
  }
  CHECK(prefetch(0, 1ns) == 0);
}
