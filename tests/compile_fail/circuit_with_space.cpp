// expect: circuit_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.circuit = "payments api"};
static_assert(dogged::detail::accept_options(options));
