// expect: dogged: TASK_REGISTER takes a handler, then the dogged::Task that it handles
#include <dogged/worker.hpp>

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, "count");
