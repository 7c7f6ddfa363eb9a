// expect: name_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash
// given: nightly report
#include <dogged/worker.hpp>

TASK_SCHEDULE("nightly report", "0 3 * * *", .task = "report");
