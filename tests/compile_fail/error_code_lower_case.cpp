// expect: auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes
// given: http_503
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .auto_retry_for = {"HTTP_429", "http_503"});
