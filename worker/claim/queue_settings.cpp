// See queue_settings.hpp.
#include "claim/queue_settings.hpp"

#include "db/connection.hpp"
#include "sql/claim.hpp"

namespace dogged::runtime {

std::map<std::string, QueueSettings, std::less<>> read_queue_settings(db::Connection& connection,
                                                                      const std::vector<std::string>& names) {
  std::map<std::string, QueueSettings, std::less<>> all;
  for (const sql::QueueSettings::Row& queue : connection.run(sql::QueueSettings{.names = names})) {
    QueueSettings& settings = all[queue.name];
    settings.is_paused = queue.is_paused;
    if (queue.resumes_in_ms && settings.is_paused) settings.resumes_in = milliseconds{*queue.resumes_in_ms};
    if (queue.concurrency) settings.concurrency = static_cast<std::size_t>(*queue.concurrency);
    if (queue.retry_budget) {
      settings.retry_budget =
          RetryBudgetSettings{.share = *queue.retry_budget, .min_retries_per_second = queue.min_retries_per_second};
    }
  }
  return all;
}

}  // namespace dogged::runtime
