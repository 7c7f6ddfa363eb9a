// The works that the database refuses for a while, and the progress of handlers (write_progress.sql). See database.hpp.
#include <algorithm>

#include "database.hpp"

namespace dogged::sim {

void Database::refuse(Work work, Duration time) {
  TimePoint& until = refused_until_.at(static_cast<std::size_t>(work));
  until = std::max(until, scheduler_.now() + time);
}

void Database::declare_schedule(const std::optional<ScheduleSettings>& settings) {
  if (!settings || now_.declared == settings) return;
  now_.declared = settings;
  set_schedule(*settings, settings->every);
}

/// Fenced: the values of an attempt that another one has followed change nothing.
void Database::write_progress(const Progress& said) {
  for (const auto& [attempt, value] : said) {
    const auto& [id, number] = attempt;
    const auto task = now_.tasks.find(id);
    if (task == now_.tasks.end() || task->second.attempt != number) continue;
    now_.progress[id] = {number, value};
  }
}

}  // namespace dogged::sim
