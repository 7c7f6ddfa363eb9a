// expect: fixed_needs_intervals_or_interval_with_max_retries
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Fixed{.max_delay = 1h});
