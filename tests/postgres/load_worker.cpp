// The worker process of load_test.cpp and of docs/decisions/0003-measure. The handler fails as often, and with such a
// code, as the task's args say, or runs until SIGTERM.
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

#include <dogged/worker.hpp>

struct Plan {
  int failures = 0;  ///< how many attempts fail
  std::string code;  ///< with this
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Plan, failures, code)

namespace {

using namespace std::chrono_literals;

constexpr dogged::Task<Plan> load{"load"};
constexpr dogged::Task<nlohmann::json> until_stopped{"until_stopped"};

void fail_as_planned(dogged::Context& context, const Plan& plan) {
  if (context.retry_count() < plan.failures) throw dogged::TaskError{plan.code, "as planned"};
}

void run_until_stopped(dogged::Context& context, const nlohmann::json& /*args*/) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock{mutex};
  never_notified.wait(lock, context.stop_token(), [] { return false; });
  throw std::runtime_error{"told to stop"};
}

}  // namespace

TASK_REGISTER(fail_as_planned, load, .queue = "load", .retry = dogged::Exponential{.base = 4ms, .max_retries = 3},
              .auto_retry_for = {"LISTED"});
TASK_REGISTER(run_until_stopped, until_stopped, .queue = "load");

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
