// expect: multiplier_is_not_between_1_and_100
// given: 101
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Exponential{.base = 1s, .multiplier = 101, .max_retries = 5});
