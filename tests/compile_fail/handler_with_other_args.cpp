// expect: dogged: the handler must be callable as handler.dogged::Context&, const Args&.
#include <dogged/worker.hpp>

#include <string>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const std::string&) {}

TASK_REGISTER(handle, count);
