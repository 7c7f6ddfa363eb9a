// The worker's --queues.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dogged::runtime {

/// `webhooks:10,default:5`. Throws InvalidInput: an empty or bad name, a concurrency out of 1 to 1000, a queue twice.
[[nodiscard]] std::map<std::string, int> queues_from_text(std::string_view text);

}  // namespace dogged::runtime
