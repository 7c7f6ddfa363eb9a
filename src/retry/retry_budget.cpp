// The retry budget: a ring of counts, each of a tenth of the window. A slot is emptied when its place is needed again.
#include <algorithm>
#include <cmath>
#include <string>

#include <dogged/error.hpp>
#include <dogged/retry_budget.hpp>

#include "text/duration.hpp"
#include "text/number_text.hpp"

namespace dogged {
namespace {

using std::chrono::nanoseconds;

constexpr milliseconds min_window = std::chrono::seconds{1};
constexpr milliseconds max_window = std::chrono::hours{1};
constexpr double max_rate = 1e6;
constexpr double rounding = 1e-9;  // 0.29 of 100 is 28.999999999999996

[[noreturn]] void refuse_budget(const std::string& field, const std::string& value, const std::string& limit) {
  throw InvalidInput(field + " is " + value + "; it must be " + limit);
}

double in_seconds(milliseconds duration) { return std::chrono::duration<double>(duration).count(); }

/// The number of retries allowed in a window even with few executions.
double reserve(const RetryBudgetSettings& settings) {
  return settings.min_retries_per_second * in_seconds(settings.window);
}

}  // namespace

void require_valid(const RetryBudgetSettings& settings) {
  // Written so that NaN is refused.
  if (!(settings.share > 0 && settings.share <= 1)) {
    refuse_budget("share", number_to_text(settings.share), "over 0 and up to 1: 0.2 is one retry in five executions");
  }
  if (settings.window < min_window || settings.window > max_window) {
    refuse_budget("window", duration_to_text(settings.window), "1s to 1h");
  }
  const double rate = settings.min_retries_per_second;
  if (!(reserve(settings) >= 1 - rounding && rate <= max_rate)) {
    refuse_budget("min_retries_per_second", number_to_text(rate),
                  number_to_text(1 / in_seconds(settings.window)) +
                      " to 1000000: at least one retry in the window of " + duration_to_text(settings.window));
  }
}

RetryBudget::RetryBudget(const RetryBudgetSettings& settings)
    : settings_(settings), slot_length_(nanoseconds{settings.window} / slots_of_window) {
  require_valid(settings_);
}

std::int64_t RetryBudget::slot_number(time_point now) const {
  const nanoseconds since_epoch = now.time_since_epoch();
  const std::int64_t started = since_epoch / slot_length_;
  const bool is_rounded_up = since_epoch % slot_length_ < nanoseconds{0};
  return std::max(latest_, is_rounded_up ? started - 1 : started);
}

RetryBudget::Slot& RetryBudget::slot_of(std::int64_t number) {
  latest_ = number;
  const std::int64_t place = (number % slot_count + slot_count) % slot_count;
  Slot& slot = slots_[static_cast<std::size_t>(place)];
  if (slot.number != number) slot = {.number = number, .counts = {}};
  return slot;
}

RetryBudget::Counts RetryBudget::counts_at(std::int64_t number) const {
  Counts sum;
  for (const Slot& slot : slots_) {
    if (slot.number < number - slots_of_window) continue;
    sum.executions += slot.counts.executions;
    sum.retries += slot.counts.retries;
  }
  return sum;
}

bool RetryBudget::has_room(const Counts& counts) const {
  const double shared = settings_.share * static_cast<double>(counts.executions);
  return static_cast<double>(counts.retries + 1) <= std::max(shared, reserve(settings_)) + rounding;
}

void RetryBudget::note_execution(time_point now) {
  const detail::Lock lock{mutex_};
  ++slot_of(slot_number(now)).counts.executions;
}

bool RetryBudget::try_retry(time_point now) {
  const detail::Lock lock{mutex_};
  const std::int64_t number = slot_number(now);
  if (!has_room(counts_at(number))) return false;
  ++slot_of(number).counts.retries;
  return true;
}

milliseconds RetryBudget::until_room(time_point now) const {
  const detail::Lock lock{mutex_};
  std::int64_t number = slot_number(now);
  if (has_room(counts_at(number))) return milliseconds{0};
  // With every slot past there is room: a window holds at least one retry.
  do ++number;
  while (!has_room(counts_at(number)));
  return std::chrono::ceil<milliseconds>(number * slot_length_ - now.time_since_epoch());
}

RetryBudget::Counts RetryBudget::counts(time_point now) const {
  const detail::Lock lock{mutex_};
  return counts_at(slot_number(now));
}

}  // namespace dogged
