// expect: (could not convert|no viable conversion).*string_view
// shown: .queue = 5
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .queue = 5);
