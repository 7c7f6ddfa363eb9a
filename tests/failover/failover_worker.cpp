// The worker process of these tests. The worker notes each execution in the file $DOGGED_TEST_RUNS. The first line is
// "TASK ATTEMPT began", the last is "TASK ATTEMPT ended" or "TASK ATTEMPT stopped".
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <dogged/worker.hpp>

struct Step {
  int n = 0;          ///< the producer's number
  int failures = 0;   ///< how many attempts fail
  std::string until;  ///< if not empty: runs until this file is there
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Step, n, failures, until)

namespace {

using namespace std::chrono_literals;

constexpr dogged::Task<Step> step{"step"};

/// One write to a file opened for appending: lines of several threads and processes do not mix.
void note(const dogged::Context& context, const std::string& what) {
  static const int file = ::open(std::getenv("DOGGED_TEST_RUNS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line =
      std::to_string(context.task_id()) + " " + std::to_string(context.attempt()) + " " + what + "\n";
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("DOGGED_TEST_RUNS cannot be written");
  }
}

void run_step(dogged::Context& context, const Step& args) {
  note(context, "began");
  while (!args.until.empty() && !std::filesystem::exists(args.until)) {
    if (context.stop_token().stop_requested()) {
      note(context, "stopped");
      throw dogged::TaskError{"STOPPED", "asked to stop"};
    }
    std::this_thread::sleep_for(2ms);
  }
  note(context, "ended");
  if (context.retry_count() < args.failures) throw dogged::TaskError{"AGAIN", "as planned"};
}

}  // namespace

TASK_REGISTER(run_step, step, .queue = "steps", .retry = dogged::Exponential{.base = 20ms, .max_retries = 3},
              .auto_retry_for = {"AGAIN"});

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
