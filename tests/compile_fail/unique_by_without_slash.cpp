// expect: a.unique.task.is.by.up.to.16
#include <dogged/task.hpp>

constexpr dogged::Task<int> task{"reindex", {.unique = dogged::Unique{.by = {"user"}}}};
