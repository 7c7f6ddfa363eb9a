// The timeline of a task with any history, even an impossible one. Each line of the input is one field, in the order of
// reading. An empty line is a field that is not set. Times are milliseconds.
#include "cli/render/timeline.hpp"

#include <sstream>

#include "drawing.hpp"
#include "fuzz.hpp"

using namespace dogged;
using namespace dogged::cli;
using std::chrono::milliseconds;

namespace {

constexpr std::int64_t century_ms = 3'155'760'000'000;
constexpr std::size_t most_attempts = 200;
constexpr std::int64_t last_possible_attempt = 999'999;

class HistoryReader {
 public:
  explicit HistoryReader(fuzz::Lines lines) : lines_(lines) {}

  TaskHistory read() {
    TaskHistory history;
    history.task = task();
    history.is_served = lines_.flag();
    history.definition = definition();
    read_pause(history.task);
    while (!lines_.at_end() && history.attempts.size() < most_attempts && last_attempt_ < last_possible_attempt)
      history.attempts.push_back(attempt());
    return history;
  }

 private:
  int number() { return static_cast<int>(lines_.number(0, 2'147'483'647)); }

  std::optional<std::string> maybe_text() {
    std::string text = lines_.text();
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
  }
  std::optional<std::int64_t> maybe_ms() {
    const auto text = maybe_text();
    return text ? std::optional{fuzz::Lines{*text}.number(-century_ms, century_ms)} : std::nullopt;
  }
  std::optional<Time> maybe_time() {
    const auto ms = maybe_ms();
    return ms ? std::optional{noon + milliseconds{*ms}} : std::nullopt;
  }
  void read_pause(TaskView& task) {
    task.is_queue_paused = lines_.flag();
    if (task.is_queue_paused) task.queue_paused_until = maybe_time();
  }
  Time time() { return maybe_time().value_or(noon); }

  TaskView task() {
    TaskView task;
    task.id = lines_.number(1, INT64_MAX);
    task.status = lifecycle::status_from_text(lines_.text()).value_or(lifecycle::Status::running);
    task.name = lines_.text();
    task.queue = lines_.text();
    task.priority = static_cast<int>(lines_.number(-32768, 32767));
    task.args = lines_.text();
    task.enqueued_at = time();
    task.run_at = time();
    task.next_retry_at = maybe_time();
    task.attempt = static_cast<int>(lines_.number(0, last_possible_attempt));
    task.retry_count = number();
    task.losses = number();
    task.worker = maybe_text();
    task.claimed_at = maybe_time();
    task.finished_at = maybe_time();
    task.result = maybe_text();
    task.error_code = maybe_text();
    task.error_message = maybe_text();
    task.trace_context = maybe_text();
    task.now = time();
    task.cancel_requested_at = maybe_time();
    if (auto message = maybe_text()) {
      task.progress = ProgressView{.attempt = static_cast<int>(lines_.number(1, last_possible_attempt)),
                                   .fraction = static_cast<double>(lines_.number(0, 1'000'000)) / 1e6,
                                   .message = *std::move(message),
                                   .reported_at = time()};
    }
    return task;
  }

  std::optional<DefinitionView> definition() {
    const auto policy = maybe_text();
    if (!policy) return std::nullopt;
    DefinitionView definition;
    try {
      definition.policy = policy_from_text(*policy);
    } catch (const InvalidPolicy&) {
      definition.policy = default_retry_policy;
    }
    std::istringstream codes{lines_.text()};
    for (std::string code; codes >> code;) definition.auto_retry_for.push_back(code);
    definition.retry_lost = lines_.flag();
    definition.max_losses = number();
    definition.max_snoozes = number();
    return definition;
  }

  AttemptView attempt() {
    AttemptView attempt;
    attempt.attempt = last_attempt_ = static_cast<int>(lines_.number(last_attempt_ + 1, last_possible_attempt));
    attempt.outcome = lifecycle::outcome_from_text(lines_.text()).value_or(lifecycle::Outcome::failed);
    attempt.worker = lines_.text();
    attempt.claimed_at = attempt.started_at = time();
    attempt.finished_at = time();
    attempt.error_code = maybe_text();
    attempt.will_retry = lines_.flag();
    attempt.next_retry_at = maybe_time();
    attempt.policy = maybe_text();
    attempt.backoff_ms = maybe_ms();
    attempt.delay_ms = maybe_ms();
    attempt.retry_after_ms = maybe_ms();
    return attempt;
  }

  const Time noon = time_from_iso8601("2026-11-21T12:00:00Z");
  fuzz::Lines lines_;
  int last_attempt_ = 0;
};

}  // namespace

FUZZ_TARGET(timeline, input) {
  constexpr std::size_t narrowest = 60;
  Lines lines{input};
  Style style{.width = static_cast<std::size_t>(lines.number(1, 200)), .zone = Zone::utc};
  style.unicode = lines.flag();
  const TaskHistory history = HistoryReader{lines}.read();

  const std::string drawn = render_timeline(history, style);
  require_drawn_within(drawn, std::max(style.width, narrowest));
  style.color = true;
  require(without_colors(render_timeline(history, style)) == without_colors(drawn), "colours change no text", drawn);
}
