// The worker that delivers webhooks. Its policy is one for production. A failed delivery is tried again for a little
// more than a day. Retries come after 30 s, 90 s, 4.5 min, 13.5 min, 40 min, 2 h, and then every 6 h.
#include <chrono>

#include <dogged/worker.hpp>

#include "deliver.hpp"
#include "delivery.hpp"

using namespace std::chrono_literals;

TASK_REGISTER(webhooks::deliver, webhooks::deliver_webhook,
              .retry = dogged::Exponential{.base = 30s, .multiplier = 3, .max_retries = 10, .max_delay = 6h},
              .auto_retry_for = webhooks::worth_retrying, .timeout = 10s);

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
