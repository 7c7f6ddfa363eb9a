// expect: intervals_has_more_than_20_entries
// given: 21
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Fixed{.intervals = {1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s,
                                                                  1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s}});
