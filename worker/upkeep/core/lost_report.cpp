// See lost_report.hpp.
#include "upkeep/core/lost_report.hpp"

#include <chrono>

#include "lifecycle/lifecycle.hpp"

namespace dogged::runtime {
namespace {

/// Nothing tells when the handler of a lost attempt began. The database takes the time of the claim.
constexpr std::chrono::hours longer_than_any_claim{24 * 3650};

lifecycle::Rules rules_of(const LostAttempt& lost) {
  lifecycle::Rules rules;
  if (lost.declared) {
    rules.retry_lost = lost.declared->retry_lost;
    rules.max_losses = lost.declared->max_losses;
    rules.dead_letter = lost.declared->dead_letter;
  }
  return rules;
}

}  // namespace

Report lost_report(const LostAttempt& lost, const std::string& message, TimePoint now) {
  const lifecycle::TaskState task{.attempt = lost.attempt,
                                  .retry_count = lost.retry_count,
                                  .losses = lost.losses,
                                  .cancel_requested = lost.cancel_requested,
                                  .expires_in = lost.expires_in};
  Report report;
  report.id = lost.id;
  report.name = lost.name;
  report.queue = lost.queue;
  report.attempt = lost.attempt;
  report.transition = lifecycle::after_attempt(task, rules_of(lost), {lifecycle::Outcome::lost}, 0.0).value();
  report.started_at = now - longer_than_any_claim;
  report.finished_at = now;
  report.error_message = message;
  report.trace = lost.trace;
  return report;
}

}  // namespace dogged::runtime
