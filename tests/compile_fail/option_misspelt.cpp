// expect: tiemout
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .tiemout = 5s);
