// `dogged tasks watch`: tasks as they change. On a terminal a table, drawn again and again; elsewhere a line for each
// change.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "cli/commands/commands.hpp"
#include "cli/commands/task_table.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/live_view.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/task_filter.hpp"
#include "cli/render/progress_bar.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

struct WatchOptions {
  TaskFilter filter;
  std::int64_t limit = 50;
  std::string interval;
};

bool has_changed(const TaskView& before, const TaskView& now) {
  const auto state = [](const TaskView& task) {
    return std::tuple{task.status,
                      task.attempt,
                      task.run_at,
                      task.next_retry_at,
                      task.worker_id,
                      task.retry_count,
                      task.cancel_requested_at};
  };
  // A handler that says the same again is no news.
  const auto progress = [](const TaskView& task) {
    return task.progress
               ? std::optional{std::tuple{task.progress->attempt, task.progress->fraction, task.progress->message}}
               : std::nullopt;
  };
  return state(before) != state(now) || progress(before) != progress(now);
}

/// `  40 %  12,000 of 30,000 rows`
std::string progress_of(const TaskView& task, const Style& style) {
  if (!task.progress || task.progress->attempt != task.attempt) return {};
  std::string text;
  if (task.progress->fraction) text += "  " + percent_text(*task.progress->fraction);
  if (!task.progress->message.empty()) text += "  " + harmless(task.progress->message, style.unicode);
  return text;
}

/// `14:02:11  42  webhook.deliver  pending -> running  attempt 1 by app-1`
std::string line_of(const TaskView* before, const TaskView& task, const Style& style) {
  const auto status = [&style](const TaskView& of) {
    return style.paint(color_of_status(of.status), lifecycle::to_text(of.status));
  };
  std::string line = clock_text(task.now, style.zone) + "  " + std::to_string(task.id) + "  " +
                     harmless(task.name, style.unicode) + "  ";
  if (before != nullptr && before->status != task.status) line += status(*before) + " -> ";
  line += status(task);
  if (task.attempt > 0) line += "  attempt " + std::to_string(task.attempt);
  if (task.worker && task.status == lifecycle::Status::running) line += " by " + harmless(*task.worker, style.unicode);
  if (task.error_code && task.status != lifecycle::Status::succeeded && task.status != lifecycle::Status::running) {
    line += "  " + style.paint(Color::red, harmless(*task.error_code, style.unicode));
  }
  if (task.status == lifecycle::Status::pending && task.due_at() > task.now) {
    line += task.next_retry_at ? "  retry " : "  due ";
    line += relative(task.due_at(), task.now);
  }
  if (task.status == lifecycle::Status::running) line += progress_of(task, style);
  if (task.cancel_requested_at && task.status == lifecycle::Status::running) line += "  to be cancelled";
  return line;
}

/// Prints the changes since the last look.
class Changes {
 public:
  Changes(const Invocation& invocation, TaskSearch& search) : invocation_(invocation), search_(search) {}

  void tell(std::int64_t limit) {
    std::map<std::int64_t, TaskView> now;
    TaskPage page = search_.page(limit, std::nullopt);
    for (TaskView& task : page.tasks) now.emplace(task.id, std::move(task));
    // The filter may not let a task pass any more, or newer ones have pushed it out: its end is told all the same.
    std::vector<std::int64_t> gone;
    for (const auto& [id, task] : seen_) {
      if (!task.finished_at && !now.contains(id)) gone.push_back(id);
    }
    if (!gone.empty()) {
      for (TaskView& task : search_.tasks(gone)) now.emplace(task.id, std::move(task));
    }
    for (const auto& [id, task] : now) tell(task);
    seen_ = std::move(now);
  }

 private:
  void tell(const TaskView& task) const {
    const auto before = seen_.find(task.id);
    if (before != seen_.end() && !has_changed(before->second, task)) return;
    if (invocation_.format == Format::ndjson) {
      std::cout << to_json(task) << "\n";
    } else {
      std::cout << line_of(before == seen_.end() ? nullptr : &before->second, task, invocation_.style()) << "\n";
    }
  }

  const Invocation& invocation_;
  TaskSearch& search_;
  std::map<std::int64_t, TaskView> seen_;
};

void draw(const Invocation& invocation, TaskSearch& search, std::int64_t limit) {
  const Style style = invocation.table_style();
  // Two lines are the title and the heads of the columns, and one stays free.
  const auto lines = static_cast<std::int64_t>(std::max<std::size_t>(terminal_height(), 4) - 3);
  const TaskPage page = search.page(std::min(limit, lines), std::nullopt);
  std::vector<std::vector<Cell>> rows;
  for (const TaskView& task : page.tasks) rows.push_back(record_of(task, style.zone).cells);
  std::string text = style.paint(Color::dim, "dogged tasks watch: Ctrl-C ends it") + "\n";
  text += rows.empty() ? "no such tasks\n" : render_table(task_columns, rows, style);
  show_picture(text);
}

ExitCode watch(const Invocation& invocation, const WatchOptions& options) {
  if (invocation.format == Format::json) {
    throw Failure(ExitCode::wrong_input, "one JSON document would never end", "-o ndjson gives a line for each change");
  }
  const auto interval = interval_from_text(options.interval);
  db::Connection connection = invocation.connect();
  TaskSearch search{connection, options.filter, invocation.style().zone};
  require_existing(connection, options.filter, search.page(1, std::nullopt));
  if (invocation.format == Format::table && is_terminal()) {
    repeat_until_interrupted(interval, [&] { draw(invocation, search, options.limit); });
  } else {
    Changes changes{invocation, search};
    repeat_until_interrupted(interval, [&] { changes.tell(options.limit); });
  }
  return ExitCode::ok;
}

}  // namespace

void add_tasks_watch(CLI::App& tasks, Invocation& invocation) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* command =
      add_command(tasks, invocation, "watch", "Show tasks as they change, until Ctrl-C",
                  "  dogged tasks watch --status pending,running --queue webhooks\n"
                  "  dogged tasks watch -o ndjson | jq -c '{id, status, error_code}'\n"
                  "\nOn a terminal the list is drawn again each second. Elsewhere there is a line for each task of the "
                  "list, and then\n"
                  "for each change of it, also after the filter does not let it pass any more. What lies between two "
                  "looks is not seen;\n"
                  "`dogged tasks show` tells all of it. Ctrl-C ends it with exit code 0.",
                  [&invocation, options] { return watch(invocation, *options); });
  add_filter_options(*command, options->filter);
  command->add_option("--limit", options->limit, "How many of the newest; 50 unless said")
      ->type_name("N")
      ->check(is_limit());
  command->add_option("--interval", options->interval, "From one look to the next; 1s unless said")
      ->type_name("DURATION")
      ->check(is_duration(longest_interval));
}

}  // namespace dogged::cli
