// expect: circuit_settings_are_given_without_circuit
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.circuit_settings = {.failure_threshold = 3}};
static_assert(dogged::detail::accept_options(options));
