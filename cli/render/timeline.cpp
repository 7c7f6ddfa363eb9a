// The timeline of a task.
#include "cli/render/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <dogged/trace_context.hpp>

#include "cli/render/codes_text.hpp"
#include "cli/render/progress_bar.hpp"
#include "cli/render/story.hpp"
#include "cli/render/text.hpp"
#include "cli/render/track.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Outcome;
using lifecycle::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t detail_indent = 2;
constexpr std::size_t detail_key = 11;
constexpr std::size_t least_label = 16;
// Of a task with very many attempts the first and the last ones are drawn.
constexpr std::size_t most_attempts = 60;
constexpr std::size_t first_attempts = 10;
constexpr std::size_t most_steps = 20;  // of an attempt

struct Look {
  std::string_view mark;
  Color color;
};

Look look_of(Outcome outcome, const Style& style) {
  switch (outcome) {
    case Outcome::succeeded:
      return {style.pick("✓", "+"), Color::green};
    case Outcome::failed:
    case Outcome::timed_out:
      return {style.pick("✗", "x"), Color::red};
    case Outcome::cancelled:
      return {style.pick("⊘", "/"), Color::yellow};
    case Outcome::lost:
      return {"!", Color::magenta};
    case Outcome::interrupted:
      return {"~", Color::yellow};
    case Outcome::snoozed:
      return {"z", Color::cyan};
  }
  return {"?", Color::plain};
}

Color color_of(Status status) {
  switch (status) {
    case Status::pending:
      return Color::cyan;
    case Status::running:
      return Color::blue;
    case Status::succeeded:
      return Color::green;
    case Status::failed:
    case Status::discarded:
      return Color::red;
    case Status::cancelled:
    case Status::expired:
      return Color::yellow;
  }
  return Color::plain;
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

constexpr std::size_t most_lines_of_detail = 3;

class Timeline {
 public:
  Timeline(const TaskHistory& history, Style style, TimelineParts parts)
      : history_(history),
        task_(history.task),
        style_(widened(style)),
        parts_(parts),
        scale_(make_scale(columns_on_the_left())) {}

  std::string render() {
    add_title();
    add_details();
    if (has_track()) {
      add("");
      add_head();
      add_attempts();
      add_current();
      add_next();
      add_end();
    }
    return std::move(text_);
  }

 private:
  static Style widened(Style style) {
    style.width = std::max(style.width, narrowest_picture);
    return style;
  }

  // --- the parts of the left side
  // -----------------------------------------------------------------------------------

  [[nodiscard]] bool is_running() const { return task_.status == Status::running && task_.claimed_at; }
  /// After an attempt that was to be followed by another.
  [[nodiscard]] bool was_cancelled_waiting() const {
    return task_.status == Status::cancelled && task_.finished_at && !history_.attempts.empty() &&
           history_.attempts.back().will_retry;
  }
  [[nodiscard]] bool has_track() const { return !history_.attempts.empty() || is_running(); }

  [[nodiscard]] std::string code_or_outcome(const AttemptView& attempt) const {
    if (!attempt.error_code) return std::string{lifecycle::to_text(attempt.outcome)};
    return harmless(*attempt.error_code, style_.unicode);
  }

  [[nodiscard]] std::size_t columns_on_the_left() {
    const auto last = history_.attempts.empty() ? 1 : history_.attempts.back().attempt;
    number_width_ = std::max<std::size_t>(2, std::to_string(std::max(last, task_.attempt)).size());
    clock_width_ = span_end() - span_begin() < seconds{10} ? 12 : 8;
    ran_width_ = 7;
    std::size_t label = 9;
    for (const AttemptView& attempt : history_.attempts) {
      label = std::max(label, display_width(code_or_outcome(attempt)));
      ran_width_ = std::max(ran_width_, readable(attempt.finished_at - attempt.started_at).size());
    }
    if (is_running()) ran_width_ = std::max(ran_width_, readable(task_.now - *task_.claimed_at).size());
    // Wide enough for the lines between attempts, and never more than a part of the whole.
    label_width_ = std::clamp(label + 2, least_label, std::max(least_label, style_.width / 4));
    return number_width_ + clock_width_ + label_width_ + ran_width_ + 4 * column_gap;
  }

  [[nodiscard]] std::string clock(Time time) const {
    return clock_width_ > 8 ? clock_text_with_ms(time, style_.zone) : clock_text(time, style_.zone);
  }

  // --- the scale
  // ----------------------------------------------------------------------------------------------------

  [[nodiscard]] Time span_begin() const {
    Time begin = task_.run_at;
    if (!history_.attempts.empty()) begin = std::min(begin, history_.attempts.front().started_at);
    if (is_running()) begin = std::min(begin, *task_.claimed_at);
    return begin;
  }

  [[nodiscard]] Time span_end() const {
    Time end = task_.run_at;
    if (!history_.attempts.empty()) end = std::max(end, history_.attempts.back().finished_at);
    if (task_.status == Status::pending) end = std::max(end, std::max(task_.due_at(), task_.now));
    if (is_running()) end = std::max(end, task_.now);
    if (was_cancelled_waiting()) end = std::max(end, *task_.finished_at);
    return end;
  }

  [[nodiscard]] Scale make_scale(std::size_t left) const { return {span_begin(), span_end(), style_.width - left}; }

  [[nodiscard]] bool is_worth_a_line(microseconds wait) const {
    return wait >= seconds{1} && wait >= scale_.span() / static_cast<long>(scale_.columns());
  }

  /// From the clock to the track.
  [[nodiscard]] std::size_t width_between() const { return clock_width_ + label_width_ + ran_width_ + 2 * column_gap; }

  // --- lines
  // --------------------------------------------------------------------------------------------------------

  void add(const std::string& line) { (text_ += line) += "\n"; }

  void add_detail(std::string_view key, std::string_view value, Color color = Color::plain) {
    if (value.empty()) return;
    const std::size_t indent = detail_indent + detail_key;
    for (const std::string& line :
         wrapped(harmless(value, style_.unicode), style_.width - indent, style_.unicode, most_lines())) {
      add(std::string(detail_indent, ' ') + style_.paint(Color::dim, pad_right(key, detail_key)) +
          style_.paint(color, line));
      key = "";
    }
  }

  [[nodiscard]] std::size_t most_lines() const {
    return style_.uncut ? std::numeric_limits<std::size_t>::max() : most_lines_of_detail;
  }

  /// One line: documents are shortened, not wrapped. Whole ones can be copied.
  void add_document(std::string_view key, const std::string& document) {
    if (style_.uncut && !document.empty()) {
      add(std::string(detail_indent, ' ') + style_.paint(Color::dim, pad_right(key, detail_key)) +
          harmless(document, style_.unicode));
      return;
    }
    const std::size_t width = style_.width - detail_indent - detail_key;
    // Four bytes make one column at most, so that a megabyte is not looked through for one line.
    add_detail(
        key, shorten(harmless(std::string_view{document}.substr(0, 4 * width), style_.unicode), width, style_.unicode));
  }

  /// A line of the chart that is no attempt: `text` spans the columns from the clock to the track.
  void add_between(const std::string& text, Color color, const Track& track) {
    const std::size_t width = width_between();
    const std::string left = pad_right(shorten(text, width, style_.unicode), width);
    add_trimmed(std::string(number_width_ + column_gap, ' ') + style_.paint(color, left) + std::string(column_gap, ' '),
                track.text());
  }

  /// Sentences below a line of the chart.
  void add_note(std::string_view mark, const std::string& text, Color color) {
    const std::string indent(number_width_ + column_gap, ' ');
    const std::size_t width = style_.width - indent.size() - display_width(mark);
    std::string begin{mark};
    for (const std::string& line : wrapped(harmless(text, style_.unicode), width, style_.unicode, most_lines())) {
      add(indent + style_.paint(color, begin + line));
      begin = std::string(display_width(mark), ' ');
    }
  }

  void add_row(int number, Time start, Look look, const std::string& label, const std::string& ran,
               const Track& track) {
    add_day(start);
    const std::string labelled =
        pad_right(std::string{look.mark} + " " + shorten(label, label_width_ - 2, style_.unicode), label_width_);
    const std::string space(column_gap, ' ');
    add_trimmed(style_.paint(Color::bold, pad_left(std::to_string(number), number_width_)) + space + clock(start) +
                    space + style_.paint(look.color, labelled) + space + pad_left(ran, ran_width_) + space,
                track.text());
  }

  void add_trimmed(const std::string& left, const std::string& right) {
    const std::string line = left + right;
    add(right.empty() && !style_.color ? line.substr(0, line.find_last_not_of(' ') + 1) : line);
  }

  /// A line with the date, if the date differs from the line before.
  void add_day(Time time) {
    const std::string day = date_text(time, style_.zone);
    if (day != day_ && !day_.empty()) {
      add(std::string(number_width_ + column_gap, ' ') + style_.paint(Color::dim, day));
    }
    day_ = day;
  }

  void add_title();
  void add_details();
  void add_head();
  void add_attempts();
  void add_attempt(std::size_t index);
  void add_steps(int attempt);
  void add_pickup(Time due, Time start);
  void add_wait(const AttemptView& attempt, std::optional<Time> next_start);
  void add_current();
  void add_next();
  void add_end();

  [[nodiscard]] std::string standing() const;
  [[nodiscard]] std::string pending_text() const;
  [[nodiscard]] std::string what_comes_next() const;
  [[nodiscard]] std::string totals() const;
  [[nodiscard]] std::string cancelled_text() const;
  [[nodiscard]] std::string cancel_request_text() const;
  [[nodiscard]] std::string expiry_text() const;
  [[nodiscard]] std::string delay_text(const AttemptView& attempt) const;
  [[nodiscard]] std::string snoozes_text() const;
  [[nodiscard]] std::string progress_text() const;
  [[nodiscard]] std::string workers_text() const;
  [[nodiscard]] std::string trace_text() const;
  [[nodiscard]] std::string own_trace_id(const AttemptView& attempt) const;
  [[nodiscard]] std::string retried_codes() const;

  const TaskHistory& history_;
  const TaskView& task_;
  Style style_;
  TimelineParts parts_;
  std::size_t number_width_ = 0;
  std::size_t clock_width_ = 0;
  std::size_t label_width_ = 0;
  std::size_t ran_width_ = 0;
  Scale scale_;
  std::string text_;
  std::string day_;
};

// --- the title and the standing --------------------------------------------------------------------------------------

void Timeline::add_title() {
  const std::string id = "Task " + std::to_string(task_.id);
  add(style_.paint(Color::bold, id) + "  " +
      style_.paint(Color::bold,
                   shorten(harmless(task_.name, style_.unicode), style_.width - id.size() - 2, style_.unicode)));
  add_detail(lifecycle::to_text(task_.status), standing(), color_of(task_.status));
}

std::string Timeline::standing() const {
  switch (task_.status) {
    case Status::pending:
      return pending_text();
    case Status::running:
      return "attempt " + std::to_string(task_.attempt) +
             (task_.retry_count > 0 ? ", " + retry_text(history_, task_.retry_count) + "," : "") + " since " +
             readable(task_.now - task_.claimed_at.value_or(task_.now));
    case Status::cancelled:
      return cancelled_text();
    case Status::failed:
    case Status::discarded:
    case Status::succeeded:
      return totals();
    case Status::expired:
      return history_.attempts.empty() ? "before its first attempt" : "before it could run again, " + totals();
  }
  return {};
}

std::string Timeline::what_comes_next() const {
  if (waits_for_retry(history_)) return retry_text(history_, task_.retry_count);
  return history_.attempts.empty() ? "first attempt" : "next attempt";
}

std::string Timeline::pending_text() const {
  const Time due = task_.due_at();
  if (task_.is_due()) {
    return what_comes_next() + " was due " + readable(task_.now - due) + " ago: " + why_it_waits(history_, style_.zone);
  }
  const bool same_day = date_text(due, style_.zone) == date_text(task_.now, style_.zone);
  const bool outlasts_wait = task_.is_queue_paused && task_.queue_paused_until.value_or(Time::max()) > due;
  const std::string wait = wait_text(task_);
  return (wait.empty() ? "" : wait + "; ") + what_comes_next() + " " + relative(due, task_.now) +
         (task_.wait && task_.wait->kind == WaitKind::event ? " at the latest, at " : ", at ") +
         (same_day ? clock_text(due, style_.zone) : date_and_clock_text(due, style_.zone)) +
         (outlasts_wait ? "; " + pause_text(task_, style_.zone) : "");
}

std::string Timeline::totals() const {
  std::string text = "after " + counted(history_.attempts.size(), "attempt");
  if (history_.attempts.empty() || !task_.finished_at) return text;
  const microseconds whole = *task_.finished_at - std::min(task_.run_at, history_.attempts.front().started_at);
  text += ", " + readable(whole) + " from due to end, " + readable(time_running(history_)) + " of it running";
  return text;
}

std::string Timeline::cancelled_text() const {
  const std::string text = how_it_was_cancelled(history_) + ", ";
  if (!history_.attempts.empty() || !task_.finished_at) return text + totals();
  return text + readable(*task_.finished_at - task_.enqueued_at) + " after it was enqueued";
}

std::string Timeline::cancel_request_text() const {
  if (!task_.cancel_requested_at) return {};
  const std::string requested = "requested " + date_and_clock_text(*task_.cancel_requested_at, style_.zone);
  if (task_.status == Status::running) return requested + "; cancelled unless it succeeds";
  return task_.status == Status::succeeded ? requested + "; it succeeded all the same" : requested;
}

std::string Timeline::expiry_text() const {
  if (!task_.expires_at) return {};
  const std::string at = date_and_clock_text(*task_.expires_at, style_.zone);
  if (task_.finished_at) return at;
  return at + ", " + relative(*task_.expires_at, task_.now) +
         (task_.status == Status::running ? "; an attempt that runs is not cut short" : "");
}

std::string Timeline::snoozes_text() const {
  if (task_.snoozes == 0) return {};
  const std::string snoozes = std::to_string(task_.snoozes);
  return history_.definition ? snoozes + " of " + std::to_string(history_.definition->max_snoozes) : snoozes;
}

/// `████░░░░░░  40 %  12,000 of 30,000 rows, 2 s ago`
std::string Timeline::progress_text() const {
  if (!task_.progress) return {};
  constexpr std::size_t cells = 10;
  const ProgressView& progress = *task_.progress;
  std::string text;
  if (progress.fraction) {
    text = bar_text(*progress.fraction, cells, style_) + "  " + percent_text(*progress.fraction);
  }
  if (!progress.message.empty()) text += (text.empty() ? "" : "  ") + progress.message;
  text += ", " + relative(progress.reported_at, task_.now);
  if (progress.attempt != task_.attempt) text += ", by attempt " + std::to_string(progress.attempt);
  return text;
}

std::string Timeline::workers_text() const {
  std::vector<std::pair<std::string, std::vector<int>>> attempts_of;
  const auto add_one = [&attempts_of](const std::string& worker, int attempt) {
    const auto found =
        std::find_if(attempts_of.begin(), attempts_of.end(), [&](const auto& entry) { return entry.first == worker; });
    if (found == attempts_of.end()) {
      attempts_of.push_back({worker, {attempt}});
    } else {
      found->second.push_back(attempt);
    }
  };
  for (const AttemptView& attempt : history_.attempts) add_one(attempt.worker, attempt.attempt);
  if (is_running() && task_.worker) add_one(*task_.worker, task_.attempt);
  std::string text;
  for (const auto& [worker, attempts] : attempts_of) {
    if (!text.empty()) text += ", ";
    text += worker;
    if (attempts_of.size() == 1) break;
    std::string numbers;
    for (int attempt : attempts) numbers += (numbers.empty() ? "" : " ") + std::to_string(attempt);
    text += " (" + numbers + ")";
  }
  return text;
}

/// By the id a tracing backend finds the trace. Contexts of another kind are shown as they are.
std::string Timeline::trace_text() const {
  const std::string context = task_.trace_context.value_or("");
  const auto trace = TraceContext::from_text(context);
  return trace ? trace->trace_id_text() + ", of span " + trace->span_id_text() : context;
}

/// Of an attempt that its worker made the root of a trace; empty if it belongs to that of the task.
std::string Timeline::own_trace_id(const AttemptView& attempt) const {
  if (attempt.trace_context == task_.trace_context) return {};
  const auto trace = TraceContext::from_text(attempt.trace_context.value_or(""));
  return trace ? trace->trace_id_text() : std::string{};
}

std::string Timeline::retried_codes() const {
  if (!history_.definition) return {};
  const std::string codes = codes_text(history_.definition->auto_retry_for, style_.wide);
  return codes.empty() ? "none: no code is in auto_retry_for" : "of " + codes;
}

void Timeline::add_details() {
  add_detail("queue", task_.queue + (task_.priority == 0 ? "" : ", priority " + std::to_string(task_.priority)));
  std::string enqueued = date_and_clock_text(task_.enqueued_at, style_.zone);
  if (task_.run_at - task_.enqueued_at >= milliseconds{1}) {
    enqueued += ", to run " + readable(task_.run_at - task_.enqueued_at) + " later";
  }
  add_detail("enqueued", enqueued);
  add_detail("expires", expiry_text());
  const std::string policy = policy_of(history_);
  add_detail("policy", policy.empty() ? "not known: no worker has declared this task" : policy);
  add_detail("retries", retried_codes());
  add_detail("snoozes", snoozes_text());
  const bool is_stopping = history_.worker_state == "stopping";
  add_detail("worker", workers_text() + (is_stopping ? "; it is stopping, and may finish this attempt" : ""));
  add_detail("progress", progress_text());
  if (waits_for_rescue(history_)) {
    add_detail("lease", "ended " + relative(*history_.lease_until, task_.now) + ": another worker will rescue the task",
               Color::magenta);
  }
  add_detail("cancel", cancel_request_text(), Color::yellow);
  add_detail("tags", joined(task_.tags));
  if (task_.unique_key) add_detail("unique key", *task_.unique_key);
  add_detail("trace", trace_text());
  if (task_.args_version != 1) add_detail("version", std::to_string(task_.args_version) + " of the args");
  if (parts_ == TimelineParts::all) add_document("args", task_.args);
  if (task_.result) add_document("result", *task_.result);
  if (parts_ == TimelineParts::all && task_.status != Status::succeeded && task_.error_message) {
    add_detail("last error", task_.error_code.value_or("") + ": " + task_.error_message->substr(0, 4096));
  }
}

// --- the chart
// ------------------------------------------------------------------------------------------------------

void Timeline::add_head() {
  const std::string space(column_gap, ' ');
  const std::string left = pad_left("#", number_width_) + space + pad_right("started", clock_width_) + space +
                           pad_right("outcome", label_width_) + space + pad_left("ran", ran_width_) + space;
  add(style_.paint(Color::dim, left + scale_.axis(style_)));
  day_ = date_text(task_.enqueued_at, style_.zone);
}

void Timeline::add_attempts() {
  const std::size_t count = history_.attempts.size();
  const std::size_t left_out = count > most_attempts ? count - most_attempts : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (left_out > 0 && i == first_attempts) {
      add(std::string(number_width_ + column_gap, ' ') +
          style_.paint(Color::dim,
                       counted(left_out, "attempt") + " more: dogged attempts --task " + std::to_string(task_.id)));
      i += left_out;
    }
    add_attempt(i);
  }
}

void Timeline::add_attempt(std::size_t index) {
  const AttemptView& attempt = history_.attempts[index];
  if (index == 0) add_pickup(task_.run_at, attempt.started_at);
  const Look look = look_of(attempt.outcome, style_);
  add_row(attempt.attempt, attempt.started_at, look, code_or_outcome(attempt),
          readable(attempt.finished_at - attempt.started_at),
          Track{scale_, style_}.bar(attempt.started_at, attempt.finished_at, look.color));
  add_steps(attempt.attempt);
  const std::string why = why_it_was_cut_short(history_, attempt, style_.zone);
  if (!why.empty()) add_note("", why, Color::dim);
  if (const std::string id = own_trace_id(attempt); !id.empty()) add_note("", "trace " + id, Color::dim);
  if (index + 1 < history_.attempts.size()) {
    add_wait(attempt, history_.attempts[index + 1].started_at);
  } else if (is_running()) {
    add_wait(attempt, task_.claimed_at);
  } else if (was_cancelled_waiting()) {
    add_wait(attempt, task_.finished_at);
  }
}

/// The steps that the attempt has run.
void Timeline::add_steps(int attempt) {
  std::size_t count = 0;
  for (const StepView& step : history_.steps) {
    if (step.attempt != attempt || ++count > most_steps) continue;
    const std::string text = std::string{style_.pick("├ ", "- ")} + harmless(step.name, style_.unicode) + "  " +
                             readable(step.finished_at - step.started_at) + (step.counts ? "" : "  run again since");
    add_between(text, Color::dim,
                Track{scale_, style_}.bar(step.started_at, step.finished_at, step.counts ? Color::green : Color::dim));
  }
  if (count > most_steps) add_note("", counted(count - most_steps, "step") + " more", Color::dim);
}

/// The wait from the due time to the first start, if it is long enough to see: no worker was free.
void Timeline::add_pickup(Time due, Time start) {
  if (!is_worth_a_line(start - due)) return;
  add_between("waited " + readable(start - due) + " for a worker", Color::dim,
              Track{scale_, style_}.line(due, start, style_.pick("·", "."), Color::yellow));
}

/// How the task comes to its next attempt.
std::string_view words_for_wait(Outcome outcome) {
  if (outcome == Outcome::failed || outcome == Outcome::timed_out) return "will retry ";
  return outcome == Outcome::snoozed ? "snoozes for " : "runs again ";
}

/// `30 s → 31.2 s`: by the policy, and after jitter.
std::string Timeline::delay_text(const AttemptView& attempt) const {
  if (attempt.retry_after_ms)
    return readable(milliseconds{attempt.delay_ms.value_or(*attempt.retry_after_ms)}) + " (retry_after)";
  if (!attempt.delay_ms || *attempt.delay_ms == 0) return "at once";
  const std::string after = readable(milliseconds{*attempt.delay_ms});
  if (!attempt.backoff_ms || *attempt.backoff_ms == *attempt.delay_ms) return after;
  return readable(milliseconds{*attempt.backoff_ms}) + std::string{style_.pick(" → ", " -> ")} + after;
}

void Timeline::add_wait(const AttemptView& attempt, std::optional<Time> next_start) {
  if (!next_start) return;
  if (!attempt.will_retry) {  // and there is another
    add_between(std::string{style_.pick("↻ ", "> ")} + "dead letter, replayed", Color::dim,
                Track{scale_, style_}.line(attempt.finished_at, *next_start, style_.pick("┄", "-"), Color::dim));
    return;
  }
  const Time due = std::clamp(attempt.next_retry_at.value_or(attempt.finished_at), attempt.finished_at,
                              std::max(attempt.finished_at, *next_start));
  std::string text =
      std::string{style_.pick("↻ ", "> ")} + std::string{words_for_wait(attempt.outcome)} + delay_text(attempt);
  Track track{scale_, style_};
  track.line(attempt.finished_at, due, style_.pick("┄", "-"), Color::dim);
  if (is_worth_a_line(*next_start - due)) {
    const std::string late = ", " + readable(*next_start - due) + " late";
    if (display_width(text + late) <= width_between()) text += late;  // its dots are on the track in any case
    track.line(due, *next_start, style_.pick("·", "."), Color::yellow);
  }
  add_between(text, Color::dim, track);
}

void Timeline::add_current() {
  if (!is_running()) return;
  const Time claimed = *task_.claimed_at;
  if (history_.attempts.empty()) add_pickup(task_.run_at, claimed);
  add_row(task_.attempt, claimed, {style_.pick("●", "*"), Color::blue}, "running", readable(task_.now - claimed),
          Track{scale_, style_}.bar(claimed, task_.now, Color::blue));
  add_steps(task_.attempt);
}

/// The present wait: the elapsed part, the present moment, and the run that will end the wait.
void Timeline::add_next() {
  if (task_.status != Status::pending || history_.attempts.empty()) return;
  const AttemptView& last = history_.attempts.back();
  const Time due = std::max(task_.due_at(), last.finished_at);
  Track track{scale_, style_};
  track.line(last.finished_at, due, style_.pick("┄", "-"), Color::cyan);
  if (due > task_.now) {
    track.line(last.finished_at, task_.now, style_.pick("┄", "-"), Color::dim);
    track.mark(task_.now, style_.pick("│", ":"), Color::bold);
  } else {
    track.line(due, task_.now, style_.pick("·", "."), Color::yellow);
  }
  const std::string wait =
      !last.will_retry ? "dead letter, replayed" : std::string{words_for_wait(last.outcome)} + delay_text(last);
  add_between(std::string{style_.pick("↻ ", "> ")} + wait, Color::dim, track);

  add_day(due);
  const std::string when =
      clock(due) + "  " + what_comes_next() + (due > task_.now ? " " + relative(due, task_.now) : ", due");
  add_between(when, Color::cyan, Track{scale_, style_}.mark(due, style_.pick("◇", "o"), Color::cyan));
}

void Timeline::add_end() {
  if (has_failed(task_)) {
    add_note(style_.pick("■ ", "= "), "will not retry: " + why_it_failed(history_), Color::red);
  }
  if (was_cancelled_waiting()) {
    const Time end = *task_.finished_at;
    add_day(end);
    add_between(clock(end) + "  cancelled", Color::yellow,
                Track{scale_, style_}.mark(end, style_.pick("⊘", "/"), Color::yellow));
  }
}

}  // namespace

std::string render_timeline(const TaskHistory& history, const Style& style, TimelineParts parts) {
  return Timeline{history, style, parts}.render();
}

}  // namespace dogged::cli
