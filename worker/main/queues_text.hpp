// The worker's --queues.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dogged::runtime {

/// `webhooks:10,default:5`. Throws InvalidInput for an empty or bad name, a concurrency out of 1 to 1000, or a queue
/// that is named twice.
[[nodiscard]] std::map<std::string, int> queues_from_text(std::string_view text);

}  // namespace dogged::runtime
