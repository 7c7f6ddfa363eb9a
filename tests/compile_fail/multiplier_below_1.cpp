// expect: multiplier_is_not_between_1_and_100
// given: 0.5
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Exponential{.base = 1s, .multiplier = 0.5, .max_retries = 5});
