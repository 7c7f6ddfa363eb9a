// expect: dogged: the handler's return type must be the result type of its dogged::Task
#include <dogged/worker.hpp>

constexpr dogged::Task<int, std::string> describe{"describe"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, describe);
