// README: the program of "A worker".
#include "post.hpp"

// worker.cpp
#include <dogged/worker.hpp>

#include "delivery.hpp"
using namespace std::chrono_literals;

Receipt deliver(dogged::Context& ctx, const Delivery& delivery) {
  const int status = post(delivery.url, delivery.body, ctx.deadline());  // your HTTP client
  if (status == 429) throw dogged::TaskError{"HTTP_429", "too many requests"}.retry_after(30s);
  if (status >= 300) throw dogged::TaskError{"HTTP_" + std::to_string(status), "not delivered"};
  return {status};
}

TASK_REGISTER(deliver, deliver_webhook, .retry = dogged::Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h},
              .auto_retry_for = {"HTTP_429", "HTTP_503", "CONNECT_TIMEOUT"}, .timeout = 10s);

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
