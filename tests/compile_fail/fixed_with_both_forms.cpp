// expect: fixed_takes_either_intervals_or_interval_with_max_retries_not_both
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Fixed{.intervals = {60s, 300s}, .interval = 60s, .max_retries = 2});
