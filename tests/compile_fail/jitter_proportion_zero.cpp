// expect: jitter_proportion_is_not_above_0_and_up_to_1
// given: 0
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Fixed{.intervals = {60s}, .jitter = dogged::Jitter::proportional(0.0)});
