// expect: circuit_settings_are_given_without_circuit
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .circuit_settings = {.failure_threshold = 3});
