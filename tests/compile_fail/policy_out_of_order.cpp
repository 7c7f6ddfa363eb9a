// expect: designator order for field .*Exponential::base|field .max_retries. will be
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Exponential{.max_retries = 5, .base = 30s});
