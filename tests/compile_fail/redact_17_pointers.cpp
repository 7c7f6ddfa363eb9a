// expect: redact_has_more_than_16_json_pointers
// given: 17
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count,
              .redact = {"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11", "/12", "/13", "/14", "/15",
                         "/16", "/17"});
