// expect: a.name.is.1.to.128.of
// shown: deliver webhook
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{"deliver webhook"};
