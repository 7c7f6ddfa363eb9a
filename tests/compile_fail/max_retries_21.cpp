// expect: max_retries_is_not_between_1_and_20
// given: 21
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Linear{.initial = 1s, .max_retries = 21});
