// expect: max_losses_is_not_between_1_and_100
// given: 0
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .max_losses = 0);
