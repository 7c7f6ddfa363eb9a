// README: the task of "A worker".
#pragma once

// delivery.hpp, shared with producers
#include <dogged/task.hpp>

struct Delivery {
  std::string url;
  nlohmann::json body;
};  // tasks that wait read a member added later as its default
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Delivery, url, body)
struct Receipt {
  int status = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Receipt, status)

inline constexpr dogged::Task<Delivery, Receipt> deliver_webhook{"webhook.deliver", {.queue = "webhooks"}};
