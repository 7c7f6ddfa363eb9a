// expect: circuit_settings_have_a_recovery_timeout_that_is_not_between_1ms_and_24h
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.circuit = "payments-api", .circuit_settings = {.recovery_timeout = 0ms}};
static_assert(dogged::detail::accept_options(options));
