// Tasks as lines of a table.
#include "cli/commands/task_table.hpp"

#include "cli/io/task_rows.hpp"
#include "cli/render/progress_bar.hpp"

namespace dogged::cli {

using lifecycle::Status;

namespace {

/// The event at the due time of a pending task.
std::string_view what_is_due(const TaskView& task) {
  if (!task.next_retry_at) return "due ";
  if (task.is_due()) return "retry due ";
  if (!task.wait) return "retry ";
  switch (task.wait->kind) {
    case WaitKind::sleep:
      return "wakes ";
    case WaitKind::event:
      return "event, or ";
    case WaitKind::snooze:
      return "snooze ends ";
  }
  return "";
}

/// The time that matters of a task in its status.
Cell when(const TaskView& task, Zone zone) {
  if (task.status == Status::pending) {
    Cell cell = time_cell(task.due_at(), task.now, zone);
    const std::string what{what_is_due(task)};
    const std::string why_it_waits = task.is_due() && task.is_queue_paused ? ", paused" : "";
    for (std::string* text : {&cell.text, &cell.in_full}) *text = what + *text + why_it_waits;
    return cell;
  }
  if (task.status == Status::running) {
    const Time since = task.claimed_at.value_or(task.now);
    std::string what_follows;
    if (task.progress && task.progress->attempt == task.attempt && task.progress->fraction) {
      what_follows += ", " + percent_text(*task.progress->fraction);
    }
    if (task.cancel_requested_at) what_follows += ", to be cancelled";
    return {"for " + short_duration(task.now - since) + what_follows, Color::plain,
            "since " + date_and_clock_text(since, zone) + what_follows};
  }
  return task.finished_at ? time_cell(*task.finished_at, task.now, zone) : Cell{""};
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

const std::vector<Column> task_columns{{.title = "ID", .align = Align::right},
                                       {.title = "STATUS"},
                                       {.title = "NAME", .least = 16, .cut = Cut::middle},
                                       {.title = "QUEUE", .rank = 2, .least = 16, .cut = Cut::middle},
                                       {.title = "ATTEMPTS", .align = Align::right, .rank = 1},
                                       {.title = "WHEN"},
                                       {.title = "ERROR", .least = 24},
                                       {.title = "ENQUEUED", .rank = 3}};

Record record_of(const TaskView& task, Zone zone) {
  const bool shows_error = task.status != Status::succeeded && task.error_code;
  return {{{std::to_string(task.id)},
           {std::string{lifecycle::to_text(task.status)}, color_of_status(task.status)},
           {task.name},
           {task.queue},
           {std::to_string(task.attempt)},
           when(task, zone),
           {shows_error ? *task.error_code : "", Color::red},
           time_cell(task.enqueued_at, task.now, zone)},
          to_json(task)};
}

}  // namespace dogged::cli
