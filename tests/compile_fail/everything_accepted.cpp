// expect: accepted
// The control: every policy, jitter and option in one file, each at a limit where it has one. If this does
// not compile, the refusals beside it prove nothing.
#include <map>
#include <string>
#include <vector>

#include <dogged/worker.hpp>

using namespace std::chrono_literals;

struct Delivery {
  std::string url;
  nlohmann::json body;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Delivery, url, body)

struct Receipt {
  int status;
};
inline void to_json(nlohmann::json& json, const Receipt& receipt) { json = receipt.status; }

constexpr dogged::Task<Delivery, Receipt> deliver{"webhook.deliver"};
constexpr dogged::Task<int> by_default{"default"};
constexpr dogged::Task<std::vector<int>, std::string> by_list{"fixed/intervals"};
constexpr dogged::Task<nlohmann::json, nlohmann::json> by_interval{"fixed:interval"};
constexpr dogged::Task<std::map<std::string, double>, bool> by_line{"Linear-2_x"};
constexpr dogged::Task<bool> by_function{"custom"};
constexpr dogged::Task<std::string> never{"9"};

void handle_flag(dogged::Context&, bool) {}
Receipt handle_delivery(dogged::Context&, const Delivery&) { return {200}; }
void handle_number(dogged::Context&, int) {}
std::string handle_list(dogged::Context&, const std::vector<int>&) { return {}; }
nlohmann::json handle_json(dogged::Context&, const nlohmann::json& json) { return json; }
bool handle_map(dogged::Context&, const std::map<std::string, double>&) { return true; }

TASK_REGISTER(handle_delivery, deliver, .queue = "webhooks",
              .retry = dogged::Exponential{.base = 1ms,
                                           .multiplier = 100,
                                           .max_retries = 20,
                                           .max_delay = 24h,
                                           .jitter = dogged::Jitter::absolute(24h)},
              .auto_retry_for = {"HTTP_429", "HTTP_503", "CONNECT_TIMEOUT"}, .timeout = 24h, .retry_lost = false,
              .max_losses = 100, .max_snoozes = 1'000'000, .dead_letter = false, .circuit = "payments-api",
              .circuit_settings = {.failure_threshold = 1000, .recovery_timeout = 24h, .success_threshold = 1},
              .redact = {"", "/", "/token", "/a~1b/~0c/0", "/5", "/6", "/7", "/8", "/9", "/10", "/11", "/12", "/13",
                         "/14", "/15", "/16"});
TASK_REGISTER(handle_number, by_default);
TASK_REGISTER(handle_list, by_list,
              .retry = dogged::Fixed{.intervals = {60s, 300s, 24h}, .jitter = dogged::Jitter::proportional(1)},
              .auto_retry_for = {"*"});
TASK_REGISTER(handle_json, by_interval,
              .retry = dogged::Fixed{
                  .interval = 60s, .max_retries = 5, .max_delay = 1ms, .jitter = dogged::Jitter::none()});
TASK_REGISTER(handle_map, by_line,
              .retry = dogged::Linear{
                  .initial = 24h, .increment = 0s, .max_retries = 1, .jitter = dogged::Jitter::full()});
TASK_REGISTER(handle_flag, by_function,
              .retry = dogged::Custom{.name = "A-Z.a_z:0/9-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                      .max_retries = 20});
TASK_REGISTER([](dogged::Context&, const std::string&) {}, never, .retry = dogged::NoRetry{});
