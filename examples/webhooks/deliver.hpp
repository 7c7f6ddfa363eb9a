// The handler of webhook.deliver. It is registered elsewhere, so that two workers and the tests share it.
#pragma once

#include <dogged/code_sets.hpp>
#include <dogged/task.hpp>

#include "delivery.hpp"

namespace webhooks {

/// The codes that another attempt may mend. Other codes end the task at once. Examples are a receiver that says 404 or
/// 401, a text that is no URL, and a certificate that is not trusted.
inline constexpr dogged::ErrorCodes worth_retrying = dogged::codes::http_retryable + dogged::codes::connect_transient +
                                                     dogged::ErrorCodes{"DELIVERY_ABORTED", "TIMEOUT"};

/// POSTs the delivery. Throws dogged::TaskError with a code of http_post.hpp, the receiver's Retry-After, and the
/// answer as details. All attempts of a task carry the same Idempotency-Key, `dogged-<task id>`.
Receipt deliver(dogged::Context& ctx, const Delivery& delivery);

}  // namespace webhooks
