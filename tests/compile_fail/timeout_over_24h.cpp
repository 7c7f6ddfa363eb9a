// expect: timeout_is_not_between_1ms_and_24h
// given: 25h
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .timeout = 25h);
