// See reconnect_backoff.hpp.
#include "db/reconnect_backoff.hpp"

#include <algorithm>

#include <dogged/policy.hpp>

namespace dogged::db {
namespace {

constexpr int most_doublings = 11;  // 100 ms · 2^10 is more than the longest wait of any service, a minute

}  // namespace

milliseconds ReconnectBackoff::next() {
  failures_ = std::min(failures_ + 1, most_doublings);
  const Exponential policy{
      .base = std::min(milliseconds{100}, longest_), .max_retries = most_doublings, .max_delay = longest_};
  const double draw = std::uniform_real_distribution<double>{0.0, 1.0}(generator_);
  return next_delay(policy, failures_, draw)->delay;
}

}  // namespace dogged::db
