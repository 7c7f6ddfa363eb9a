// expect: a.queue.is.1.to.128.of
// shown: web hooks
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{"deliver", {.queue = "web hooks"}};
