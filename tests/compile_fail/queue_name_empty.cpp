// expect: queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .queue = "");
