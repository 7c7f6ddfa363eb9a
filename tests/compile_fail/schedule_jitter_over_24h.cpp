// expect: jitter_is_not_between_0_and_24h
// given: 25h
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

TASK_SCHEDULE("report", "0 3 * * *", .jitter = 25h);
