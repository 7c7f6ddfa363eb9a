// expect: auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes
// given: HTTP-503
#include <dogged/code_sets.hpp>
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .auto_retry_for = dogged::codes::http_retryable + dogged::ErrorCodes{"HTTP-503"});
