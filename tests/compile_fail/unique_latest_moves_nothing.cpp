// expect: latest.needs.an.on.conflict.that.moves.the.run
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{"reindex", {.unique = dogged::Unique{.latest = dogged::milliseconds{1000}}}};
