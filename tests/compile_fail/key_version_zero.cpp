// expect: a.version.of.args.is.1.to.32767
// shown: 0
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{"deliver", {.version = 0}};
