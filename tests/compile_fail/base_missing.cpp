// expect: base_is_not_between_1ms_and_24h
// given: 0ms
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Exponential{.max_retries = 5});
