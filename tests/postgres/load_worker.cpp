// The worker process of load_test.cpp: fails as often, and with such a code, as the task's args say.
#include <string>

#include <dogged/worker.hpp>

struct Plan {
  int failures = 0;  ///< how many attempts fail
  std::string code;  ///< with this
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, failures, code)

namespace {

using namespace std::chrono_literals;

constexpr dogged::Task<Plan> load{"load"};

void fail_as_planned(dogged::Context& context, const Plan& plan) {
  if (context.retry_count() < plan.failures) throw dogged::TaskError{plan.code, "as planned"};
}

}  // namespace

TASK_REGISTER(fail_as_planned, load, .queue = "load", .retry = dogged::Exponential{.base = 4ms, .max_retries = 3},
              .auto_retry_for = {"LISTED"});

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
