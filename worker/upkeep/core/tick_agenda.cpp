// See tick_agenda.hpp.
#include "upkeep/core/tick_agenda.hpp"

#include <algorithm>

namespace dogged::runtime {

void TickAgenda::on_due(std::optional<milliseconds> due_in, bool comes_first, TimePoint now) noexcept {
  comes_first_ = comes_first;
  if (!due_in) {
    asks_at_ = never;
    return;
  }
  asks_at_ = now + std::max(*due_in, milliseconds{0}) + (comes_first_ ? milliseconds{0} : settings_.others_later);
}

void TickAgenda::on_fired(int schedules, std::optional<milliseconds> due_in, TimePoint now) noexcept {
  const bool is_due = due_in && *due_in <= milliseconds{0};
  if (is_due) {
    asks_at_ = schedules > 0 ? now : now + settings_.again_while_locked;
  } else {
    on_due(due_in, comes_first_, now);
  }
}

}  // namespace dogged::runtime
