// expect: max_retries_is_not_between_1_and_20
// given: 25
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Exponential{.base = 30s, .max_retries = 25}, .auto_retry_for = {"*"});
