// expect: circuit_settings_have_a_threshold_that_is_not_between_1_and_1000
#include <dogged/detail/registration.hpp>

using namespace std::chrono_literals;

constexpr dogged::TaskOptions options{.circuit = "payments-api", .circuit_settings = {.success_threshold = 0}};
static_assert(dogged::detail::accept_options(options));
