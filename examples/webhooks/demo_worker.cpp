// The same worker with a policy of seconds, so that one can watch a whole story. Retries come after 1 s, 2 s, 4 s and
// 8 s. A receiver that takes longer than two seconds is given up.
#include <chrono>

#include <dogged/worker.hpp>

#include "deliver.hpp"
#include "delivery.hpp"

using namespace std::chrono_literals;

TASK_REGISTER(webhooks::deliver, webhooks::deliver_webhook,
              .retry = dogged::Exponential{.base = 1s, .max_retries = 4, .max_delay = 8s},
              .auto_retry_for = webhooks::worth_retrying, .timeout = 2s);

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
