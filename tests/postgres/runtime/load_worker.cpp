// The worker process of load_test.cpp and of docs/decisions/0003-measure and 0021-measure. A handler fails as often,
// and with such a code, as the task's args say. Or it runs until SIGTERM, or says again and again how far it has come.
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

struct Reports {
  int seconds = 1;
  int calls_per_second = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Reports, seconds, calls_per_second)

namespace {

using namespace std::chrono_literals;

constexpr dogged::Task<Plan> load{"load"};
constexpr dogged::Task<nlohmann::json> until_stopped{"until_stopped"};
constexpr dogged::Task<Reports> reports{"reports"};

void fail_as_planned(dogged::Context& context, const Plan& plan) {
  if (context.retry_count() < plan.failures) throw dogged::TaskError{plan.code, "as planned"};
}

void run_until_stopped(dogged::Context& context, const nlohmann::json& /*args*/) {
  context.progress(0.4, "12,000 of 30,000 rows");
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock{mutex};
  never_notified.wait(lock, context.stop_token(), [] { return false; });
  throw std::runtime_error{"told to stop"};
}

void report(dogged::Context& context, const Reports& args) {
  const int rounds = args.seconds * 100;
  for (int round = 0; round < rounds && context.wait_for(10ms); ++round) {
    for (int call = 0; call < args.calls_per_second / 100; ++call) {
      context.progress(static_cast<double>(round) / rounds, "12,000 of 30,000 rows");
    }
  }
}

}  // namespace

TASK_REGISTER(fail_as_planned, load, .queue = "load", .retry = dogged::Exponential{.base = 4ms, .max_retries = 3},
              .auto_retry_for = {"LISTED"});
TASK_REGISTER(run_until_stopped, until_stopped, .queue = "load");
TASK_REGISTER(report, reports, .queue = "load");

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
