// Tasks as lines of a table.
#include "cli/task_table.hpp"

#include "cli/task_rows.hpp"

namespace dogged::cli {

using lifecycle::Status;

namespace {

/// The time that matters of a task in its status.
std::string when(const TaskView& task) {
  if (task.status == Status::pending) {
    const std::string due = relative(task.due_at(), task.now);
    if (!task.is_due()) return (task.next_retry_at ? "retry " : "due ") + due;
    return (task.next_retry_at ? "retry due " : "due ") + due + (task.is_queue_paused ? ", queue paused" : "");
  }
  if (task.status == Status::running) {
    return "since " + readable(task.now - task.claimed_at.value_or(task.now)) +
           (task.cancel_requested_at ? ", to be cancelled" : "");
  }
  return task.finished_at ? relative(*task.finished_at, task.now) : "";
}

}  // namespace

Color color_of_status(Status status) {
  switch (status) {
    case Status::succeeded:
      return Color::green;
    case Status::failed:
    case Status::discarded:
      return Color::red;
    case Status::running:
      return Color::blue;
    case Status::pending:
      return Color::cyan;
    case Status::cancelled:
    case Status::expired:
      return Color::yellow;
  }
  return Color::plain;
}

const std::vector<Column> task_columns{
    {"ID", Align::right},       {"STATUS"}, {"NAME", Align::left, true},  {"QUEUE", Align::left, true},
    {"ATTEMPTS", Align::right}, {"WHEN"},   {"ERROR", Align::left, true}, {"ENQUEUED"}};

Record record_of(const TaskView& task, Zone zone) {
  const bool shows_error = task.status != Status::succeeded && task.error_code;
  return {{{std::to_string(task.id)},
           {std::string{lifecycle::to_text(task.status)}, color_of_status(task.status)},
           {task.name},
           {task.queue},
           {std::to_string(task.attempt)},
           {when(task)},
           {shows_error ? *task.error_code : "", Color::red},
           {date_and_clock_text(task.enqueued_at, zone)}},
          to_json(task)};
}

}  // namespace dogged::cli
