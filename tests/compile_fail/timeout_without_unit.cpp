// expect: (could not convert|no viable conversion).*milliseconds
// shown: .timeout = 5
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .timeout = 5);
