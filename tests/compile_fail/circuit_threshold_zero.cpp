// expect: circuit_settings_success_threshold_is_not_between_1_and_1000
// given: 0
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .circuit = "payments-api", .circuit_settings = {.success_threshold = 0});
