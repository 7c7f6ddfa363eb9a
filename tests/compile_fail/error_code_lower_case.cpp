// expect: auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.auto_retry_for = {"HTTP_429", "http_503"}};
static_assert(dogged::detail::accept_options(options));
