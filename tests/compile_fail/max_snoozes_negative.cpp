// expect: max_snoozes_is_not_between_0_and_1000000
// given: -1
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .max_snoozes = -1);
