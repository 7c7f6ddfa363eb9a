// expect: circuit_settings_recovery_timeout_is_not_between_1ms_and_24h
// given: 0ms
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .circuit = "payments-api", .circuit_settings = {.recovery_timeout = 0ms});
