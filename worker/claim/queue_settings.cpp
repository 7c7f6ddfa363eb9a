// See queue_settings.hpp.
#include "claim/queue_settings.hpp"

#include "sql/claim.hpp"

namespace dogged::runtime {

std::map<std::string, QueueSettings, std::less<>> read_queue_settings(db::Connection& connection,
                                                                      const std::vector<std::string>& names) {
  std::map<std::string, QueueSettings, std::less<>> all;
  for (const db::Row& row : connection.run(sql::queue_settings, db::Params{}.add(names))) {
    QueueSettings& settings = all[std::string{row.text("name")}];
    settings.is_paused = row.boolean("is_paused");
    if (const auto ms = row.maybe_number("resumes_in_ms"); ms && settings.is_paused) {
      settings.resumes_in = milliseconds{*ms};
    }
    if (const auto most = row.maybe_number("concurrency")) settings.concurrency = static_cast<std::size_t>(*most);
    if (!row.is_null("retry_budget")) {
      settings.retry_budget = RetryBudgetSettings{.share = row.real("retry_budget"),
                                                  .min_retries_per_second = row.real("min_retries_per_second")};
    }
  }
  return all;
}

}  // namespace dogged::runtime
