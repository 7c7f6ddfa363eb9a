// expect: name_is_not_1_to_64_of_letters_digits_dot_underscore_colon_slash_dash
// given: a policy
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .retry = dogged::Custom{.name = "a policy", .max_retries = 5});
