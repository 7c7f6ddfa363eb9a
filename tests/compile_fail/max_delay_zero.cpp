// expect: max_delay_is_not_between_1ms_and_24h
// given: 0ms
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Fixed{.intervals = {60s}, .max_delay = 0s});
