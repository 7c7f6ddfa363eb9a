// expect: designator order for field .*queue|field .version. will be
#include <dogged/task.hpp>

constexpr dogged::Task<int> count{"count", {.version = 2, .queue = "counts"}};
