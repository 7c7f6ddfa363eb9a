// expect: redact_has_a_text_that_is_no_json_pointer_of_at_most_256_bytes_beginning_with_a_slash
#include <dogged/detail/registration.hpp>

constexpr dogged::TaskOptions options{.redact = {"/a~b"}};
static_assert(dogged::detail::accept_options(options));
