// expect: a.name.is.1.to.128.of
// shown: ""
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{""};
