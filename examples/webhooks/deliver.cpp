// From an attempt to a POST, and from what became of it to a receipt or a TaskError.
#include "deliver.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include <spdlog/spdlog.h>

#include <dogged/retry_after.hpp>

#include "http_post.hpp"

namespace webhooks {
namespace {

using namespace std::chrono_literals;

// Left of the attempt's time to report what happened: RESPONSE_TIMEOUT tells more than dogged's own TIMEOUT.
constexpr auto time_to_report = 200ms;

std::chrono::milliseconds time_for_post(const dogged::Context& ctx) {
  if (ctx.deadline() == dogged::Context::Clock::time_point::max()) return PostRequest{}.timeout;
  const auto left = ctx.deadline() - ctx.now() - time_to_report;
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), 1ms);
}

dogged::TaskError failure(const PostResult& result) {
  dogged::TaskError error{result.error_code, result.error_message};
  error.details({{"status", result.status},
                 {"body", result.body},
                 {"body_truncated", result.body_truncated},
                 {"duration_ms", result.duration.count()}});
  if (result.retry_after) {
    const auto wait =
        dogged::parse_retry_after(*result.retry_after, result.date.value_or(""), std::chrono::system_clock::now());
    if (wait) error.retry_after(*wait);
  }
  return error;
}

}  // namespace

Receipt deliver(dogged::Context& ctx, const Delivery& delivery) {
  const PostResult result = post_json({.url = delivery.url,
                                       .json = delivery.body.dump(),
                                       .idempotency_key = "dogged-" + std::to_string(ctx.task_id()),
                                       .timeout = time_for_post(ctx)},
                                      ctx.stop_token());
  if (!result.error_code.empty()) throw failure(result);
  ctx.log().info("delivered: {} in {} ms", result.status, result.duration.count());
  return {.status = result.status, .duration_ms = result.duration.count()};
}

}  // namespace webhooks
