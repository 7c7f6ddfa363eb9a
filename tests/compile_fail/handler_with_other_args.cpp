// expect: dogged: the handler must be callable as handler.dogged::Context&, const Args&.
#include <string>

#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const std::string&) {}

TASK_REGISTER(handle, count);
