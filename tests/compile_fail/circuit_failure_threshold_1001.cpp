// expect: circuit_settings_failure_threshold_is_not_between_1_and_1000
// given: 1001
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .circuit = "api", .circuit_settings = {.failure_threshold = 1001});
