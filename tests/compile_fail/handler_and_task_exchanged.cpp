// expect: dogged: TASK_REGISTER takes a handler, then the dogged::Task that it handles
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(count, handle);
