// expect: designator order for field .*TaskOptions::queue|field .timeout. will be
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

inline void add(dogged::Tasks& tasks) { tasks.add(handle, count, {.timeout = 5s, .queue = "counts"}); }
