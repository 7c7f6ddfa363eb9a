// The part that producers and the worker share: the key of the task, its args and its result.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <dogged/task.hpp>

namespace webhooks {

/// One webhook to deliver: `body` is POSTed as JSON to `url` (http or https). A member that is added later has its
/// default in tasks that were enqueued before. A task without `url` fails with INVALID_URL.
struct Delivery {
  std::string url;
  nlohmann::json body;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Delivery, url, body)

/// The receiver's answer to a delivery that it took.
struct Receipt {
  int status = 0;                ///< 200 to 299
  std::int64_t duration_ms = 0;  ///< of the whole exchange, connecting included
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Receipt, status, duration_ms)

inline constexpr dogged::Task<Delivery, Receipt> deliver_webhook{"webhook.deliver", {.queue = "webhooks"}};

}  // namespace webhooks
