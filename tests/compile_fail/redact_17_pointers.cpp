// expect: redact_has_more_than_16_json_pointers
#include <dogged/detail/registration.hpp>

constexpr dogged::TaskOptions options{.redact = {"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11",
                                                 "/12", "/13", "/14", "/15", "/16", "/17"}};
static_assert(dogged::detail::accept_options(options));
