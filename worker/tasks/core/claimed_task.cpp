// See claimed_task.hpp.
#include "tasks/core/claimed_task.hpp"

#include <ostream>

#include "tasks/definition.hpp"

namespace dogged::runtime {

TimePoint deadline_of(const ClaimedTask& task, TimePoint started_at) {
  const milliseconds timeout = task.definition->timeout;
  return timeout.count() > 0 ? started_at + timeout : never;
}

std::string_view to_text(Record record) noexcept {
  switch (record) {
    case Record::to_send:
      return "to send";
    case Record::perhaps_committed:
      return "perhaps committed";
    case Record::on_record:
      break;
  }
  return "on record";
}

std::ostream& operator<<(std::ostream& out, Record record) { return out << to_text(record); }

std::ostream& operator<<(std::ostream& out, const Attempt& attempt) {
  return out << "attempt " << attempt.number << " of task " << attempt.id;
}

std::ostream& operator<<(std::ostream& out, const ClaimedTask& task) { return out << Attempt{task.id, task.attempt}; }

std::ostream& operator<<(std::ostream& out, const Report& report) {
  return out << Attempt{report.id, report.attempt} << ": " << lifecycle::to_text(report.transition.outcome);
}

}  // namespace dogged::runtime
