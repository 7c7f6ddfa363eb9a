// expect: designator order for field .*CircuitBreakerSettings::failure_threshold|field .success_threshold. will be
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .circuit = "api", .circuit_settings = {.success_threshold = 1, .failure_threshold = 3});
