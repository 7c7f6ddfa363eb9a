// expect: dogged: the handler's return type must be the result type of its dogged::Task
#include <string>

#include <dogged/worker.hpp>

constexpr dogged::Task<int, std::string> describe{"describe"};

int handle(dogged::Context&, const int& number) { return number; }

TASK_REGISTER(handle, describe);
