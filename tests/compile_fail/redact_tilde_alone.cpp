// expect: redact_has_a_text_that_is_no_json_pointer_of_at_most_256_bytes_beginning_with_a_slash
// given: /a~b
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count, .redact = {"/a~b"});
