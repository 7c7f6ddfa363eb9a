// The drawing of `dogged tasks show`, and the words for where a task stands.
#include "cli/render/timeline.hpp"

#include <algorithm>
#include <sstream>

#include "cli/render/story.hpp"
#include "cli/render/text.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/styles.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::cli;
using dogged::test::contains;
using dogged::test::plain;
using lifecycle::Outcome;
using lifecycle::Status;

namespace {

const Time noon = time_from_iso8601("2026-11-21T12:00:00Z");
const Style wide{.width = 200, .unicode = true, .color = false, .zone = Zone::utc};

/// A task that was enqueued at noon, and what happened to it.
class Story {
 public:
  Story() {
    TaskView& task = history.task;
    task.id = 42;
    task.name = "webhook.deliver";
    task.queue = "webhooks";
    task.args = R"({"url": "http://127.0.0.1/"})";
    task.enqueued_at = task.run_at = task.now = noon;
    history.is_served = true;
    history.definition = DefinitionView{};
    history.definition->name = task.name;
    history.definition->policy = Exponential{.base = 30s, .max_retries = 5};
    history.definition->auto_retry_for = {"HTTP_503"};
  }

  AttemptView& attempt(Outcome outcome, microseconds start, microseconds ran, const char* code = nullptr) {
    AttemptView attempt;
    attempt.attempt = static_cast<int>(history.attempts.size()) + 1;
    attempt.outcome = outcome;
    attempt.worker = "app-1";
    attempt.claimed_at = attempt.started_at = noon + start;
    attempt.finished_at = attempt.started_at + ran;
    if (code != nullptr) attempt.error_code = code;
    history.task.attempt = attempt.attempt;
    history.attempts.push_back(attempt);
    return history.attempts.back();
  }

  Story& retried(microseconds start, microseconds ran, milliseconds backoff, milliseconds delay) {
    AttemptView& failed = attempt(Outcome::failed, start, ran, "HTTP_503");
    failed.will_retry = true;
    failed.backoff_ms = backoff.count();
    failed.delay_ms = delay.count();
    failed.next_retry_at = failed.finished_at + delay;
    history.task.next_retry_at = failed.next_retry_at;
    ++history.task.retry_count;
    return *this;
  }

  Story& running(microseconds since, microseconds now) {
    history.task.status = Status::running;
    ++history.task.attempt;
    history.task.claimed_at = noon + since;
    history.task.now = noon + now;
    return *this;
  }

  Story& ended(Status status) {
    history.task.status = status;
    history.task.next_retry_at.reset();
    history.task.finished_at = history.attempts.back().finished_at;
    return *this;
  }

  [[nodiscard]] std::string drawn(const Style& style = plain) const { return render_timeline(history, style); }

  TaskHistory history;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The first line that contains `part`; empty if there is none.
std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return {};
}

std::size_t column_of(const std::string& line, const std::string& glyph) {
  const auto at = line.find(glyph);
  return at == std::string::npos ? line.size() : display_width(line.substr(0, at));
}

std::size_t count(const std::string& line, const std::string& glyph) {
  std::size_t found = 0;
  for (auto at = line.find(glyph); at != std::string::npos; at = line.find(glyph, at + glyph.size())) ++found;
  return found;
}

}  // namespace

TEST_CASE("a waiting retry says its number, how long until then, and when") {
  Story story;
  story.retried(0s, 100ms, 30s, 31200ms).retried(31300ms, 5s, 60s, 84700ms);
  story.history.task.now = *story.history.task.next_retry_at - 41s;
  const std::string text = story.drawn();
  CHECK(contains(line_with(text, "pending"), "retry 2 of 5 in 41 s, at 12:02:01"));
  CHECK(contains(text, "will retry 30 s → 31.2 s"));
  CHECK(contains(text, "◇"));
}

TEST_CASE("a retry that is due says whether anybody would take it") {
  Story story;
  story.retried(0s, 100ms, 30s, 30s);
  story.history.task.now = noon + 60s;
  CHECK(contains(story.drawn(), "no worker has taken it yet"));
  story.history.is_served = false;
  CHECK(contains(story.drawn(), "no running worker serves it"));
}

TEST_CASE("a task that is due says that its queue is paused, until when, and how that is ended") {
  Story story;
  story.history.task.now = noon + 60s;
  story.history.task.is_queue_paused = true;
  CHECK(contains(line_with(render_timeline(story.history, wide), "pending"),
                 "its queue is paused until somebody resumes it (dogged queues resume webhooks)"));
  story.history.task.queue_paused_until = noon + 1h;
  CHECK(contains(line_with(render_timeline(story.history, wide), "pending"), "its queue is paused until 13:00:00"));
  story.history.task.queue_paused_until = noon + 24h;
  CHECK(contains(line_with(render_timeline(story.history, wide), "pending"),
                 "its queue is paused until 2026-11-22 12:00:00"));
}

TEST_CASE("a task that is not due says that its queue is paused if that outlasts its wait") {
  Story story;
  story.history.task.run_at = noon + 60s;
  story.history.task.is_queue_paused = true;
  story.history.task.queue_paused_until = noon + 90s;
  CHECK(contains(render_timeline(story.history, wide),
                 "first attempt in 1 m, at 12:01:00; its queue is paused until 12:01:30"));
  story.history.task.queue_paused_until = noon + 30s;
  CHECK_FALSE(contains(render_timeline(story.history, wide), "paused"));
}

TEST_CASE("waits and attempts are to one scale") {
  Story story;
  story.retried(0s, 10s, 10s, 10s).retried(20s, 20s, 20s, 20s);
  story.attempt(Outcome::succeeded, 60s, 40s);
  story.ended(Status::succeeded);
  std::vector<std::size_t> waits;
  std::vector<std::size_t> bars;
  for (const std::string& line : lines_of(story.drawn())) {
    if (count(line, "┄") > 0) waits.push_back(count(line, "┄"));
    if (count(line, "█") > 0) bars.push_back(count(line, "█"));
  }
  REQUIRE(waits.size() == 2);
  REQUIRE(bars.size() == 3);
  // 100 s in all; each end is rounded to a cell.
  const std::size_t columns =
      80 - column_of(lines_of(story.drawn()).back(), "█") + bars[0] + waits[0] + bars[1] + waits[1];
  const auto is_about = [columns](std::size_t cells, std::size_t seconds) {
    return cells * 100 + 100 >= seconds * columns && cells * 100 <= seconds * columns + 100;
  };
  CHECK(is_about(bars[0], 10));
  CHECK(is_about(waits[0], 10));
  CHECK(is_about(bars[1], 20));
  CHECK(is_about(waits[1], 20));
  CHECK(is_about(bars[2], 40));
}

TEST_CASE("each attempt's bar begins where the wait before it ends") {
  Story story;
  story.retried(0s, 10s, 30s, 30s);
  story.attempt(Outcome::succeeded, 40s, 20s);
  story.ended(Status::succeeded);
  const std::string text = story.drawn();
  const std::string wait = line_with(text, "will retry");
  const std::string second = line_with(text, "✓ succeeded");
  CHECK(column_of(second, "█") == column_of(wait, "┄") + count(wait, "┄"));
}

TEST_CASE("an attempt much shorter than a cell is a thin stroke") {
  Story story;
  story.retried(0s, 1ms, 30s, 30s);
  const std::string first = line_with(story.drawn(), "✗ HTTP_503");
  CHECK(count(first, "▏") == 1);
  CHECK(count(first, "█") == 0);
}

TEST_CASE("a dead letter says why it was not tried again") {
  Story story;
  SECTION("the code is not listed") {
    story.attempt(Outcome::failed, 0s, 1s, "HTTP_404");
    CHECK(why_it_failed(story.ended(Status::failed).history) == "HTTP_404 is not in auto_retry_for");
    CHECK(contains(story.drawn(), "will not retry: HTTP_404 is not in auto_retry_for"));
  }
  SECTION("the retries are spent") {
    story.history.task.retry_count = 5;
    story.attempt(Outcome::failed, 0s, 1s, "HTTP_503");
    CHECK(why_it_failed(story.ended(Status::failed).history) == "all 5 retries are spent");
  }
  SECTION("nothing is listed") {
    story.history.definition->auto_retry_for.clear();
    story.attempt(Outcome::failed, 0s, 1s, "HTTP_503");
    CHECK(why_it_failed(story.ended(Status::failed).history) == "HTTP_503 is not retried: auto_retry_for is empty");
  }
  SECTION("the code is never retried") {
    story.history.definition->auto_retry_for = {"*"};
    story.attempt(Outcome::failed, 0s, 1s, "INVALID_ARGS");
    CHECK(contains(why_it_failed(story.ended(Status::failed).history), "INVALID_ARGS is never retried"));
  }
  SECTION("it was lost too often") {
    story.attempt(Outcome::lost, 0s, 1s, "WORKER_LOST");
    story.history.task.losses = 3;
    CHECK(contains(why_it_failed(story.ended(Status::failed).history), "3 times; the limit (max_losses) is 3"));
  }
  SECTION("its definition is not known") {
    story.history.definition.reset();
    story.attempt(Outcome::failed, 0s, 1s, "HTTP_503");
    CHECK(contains(why_it_failed(story.ended(Status::failed).history), "no worker has declared this task"));
  }
}

TEST_CASE("a task that ended has its totals") {
  Story story;
  story.retried(0s, 10s, 30s, 30s);
  story.attempt(Outcome::succeeded, 40s, 20s);
  story.ended(Status::succeeded);
  CHECK(contains(story.drawn(), "after 2 attempts, 1 m from due to end, 30 s of it running"));
}

TEST_CASE("a running task has a bar up to now") {
  Story story;
  story.running(1s, 21s);
  const std::string text = story.drawn();
  CHECK(contains(line_with(text, "running"), "attempt 1 since 20 s"));
  CHECK(count(line_with(text, "●"), "█") > 30);
}

TEST_CASE("a running task that is to be cancelled says when that was requested") {
  Story story;
  story.running(1s, 21s);
  CHECK_FALSE(contains(story.drawn(), "cancel "));
  story.history.task.cancel_requested_at = noon + 5s;
  CHECK(contains(story.drawn(), "cancel     requested 2026-11-21 12:00:05; cancelled unless it succeeds"));
}

TEST_CASE("a task that expires says when, and one that has expired says what it did before") {
  Story story;
  CHECK_FALSE(contains(story.drawn(), "expires "));
  story.history.task.expires_at = noon + 2h;
  CHECK(contains(story.drawn(), "expires    2026-11-21 14:00:00, in 2 h"));
  story.running(1s, 21s);
  CHECK(contains(story.drawn(), "; an attempt that runs is not cut short"));

  Story late;
  late.history.task.status = Status::expired;
  late.history.task.expires_at = late.history.task.finished_at = noon + 50s;
  CHECK(contains(late.drawn(), "expired    before its first attempt"));
  CHECK(contains(late.drawn(), "expires    2026-11-21 12:00:50\n"));
  late.attempt(Outcome::failed, 0s, 10s, "HTTP_503");
  CHECK(contains(late.drawn(), "expired    before it could run again, after 1 attempt"));
}

TEST_CASE("a task that succeeded after it was to be cancelled says both") {
  Story story;
  story.attempt(Outcome::succeeded, 0s, 5s);
  story.history.task.cancel_requested_at = noon + 3s;
  CHECK(contains(story.ended(Status::succeeded).drawn(), "requested 2026-11-21 12:00:03; it succeeded all the same"));
}

TEST_CASE("a running task whose worker did not renew its lease says that it will be rescued") {
  Story story;
  story.running(1s, 60s);
  story.history.lease_until = noon + 61s;
  CHECK_FALSE(contains(story.drawn(), "rescue"));
  story.history.lease_until = noon + 48s;
  CHECK(contains(story.drawn(), "lease      ended 12 s ago: another worker will rescue the task"));
}

TEST_CASE("a running task whose worker is stopping says so") {
  Story story;
  story.running(1s, 60s);
  story.history.worker_state = "live";
  CHECK_FALSE(contains(story.drawn(), "stopping"));
  story.history.worker_state = "stopping";
  CHECK(contains(story.drawn(), "; it is stopping, and may finish this attempt"));
}

TEST_CASE("an attempt that its handler did not end says in one sentence why it ended") {
  Story story;
  SECTION("its worker was lost") {
    story.attempt(Outcome::lost, 0s, 30s, "WORKER_LOST").will_retry = true;
    CHECK(contains(story.drawn(), "    app-1 was lost: its lease ended\n"));
    story.history.attempts.back().lease_ended_at = noon + 30s;
    CHECK(contains(story.drawn(), "    app-1 was lost: its lease ended at 12:00:30\n"));
  }
  SECTION("it timed out") {
    story.attempt(Outcome::timed_out, 0s, 10s, "TIMEOUT");
    story.ended(Status::failed);
    CHECK(contains(story.drawn(), "    it did not end within its timeout\n"));
    story.history.definition->timeout_ms = 10'000;
    CHECK(contains(story.drawn(), "    it did not end within its timeout of 10 s\n"));
    story.history.definition->timeout_ms = 60'000;  // declared later: the attempt had another timeout
    CHECK(contains(story.drawn(), "    it did not end within its timeout\n"));
  }
  SECTION("it was cancelled") {
    story.attempt(Outcome::cancelled, 0s, 10s, "CANCELLED");
    story.ended(Status::cancelled).history.task.cancel_requested_at = noon + 9s;
    CHECK(contains(story.drawn(), "    it was asked to stop: the task was cancelled at 12:00:09\n"));
  }
  SECTION("its worker shut down") {
    story.attempt(Outcome::interrupted, 0s, 10s).will_retry = true;
    CHECK(contains(story.drawn(), "    app-1 shut down, or lost its lease, before it ended: no retry is spent\n"));
  }
  SECTION("its handler snoozed") {
    AttemptView& snoozed = story.attempt(Outcome::snoozed, 0s, 10s);
    snoozed.will_retry = true;
    snoozed.delay_ms = snoozed.backoff_ms = 600'000;
    snoozed.error_message = "the report is not ready";
    story.history.task.snoozes = 3;
    story.history.task.next_retry_at = noon + 10s + 10min;
    CHECK(contains(story.drawn(), "    the report is not ready\n"));
    CHECK(contains(line_with(story.drawn(), "z snoozed"), "10 s"));
    CHECK(contains(story.drawn(), "snoozes for 10 m"));
    CHECK(contains(story.drawn(), "snoozes    3 of 1000"));
    story.history.task.wait = WaitView{.kind = WaitKind::snooze, .until = noon + 10s + 10min};
    CHECK(contains(story.drawn(), "snoozes; next attempt in 10 m 10 s, at 12:10:10"));
  }
  SECTION("its handler sleeps, or waits for an event") {
    story.attempt(Outcome::snoozed, 0s, 10s).will_retry = true;
    story.history.task.next_retry_at = noon + 10min;
    WaitView& wait = story.history.task.wait.emplace();
    wait = {.kind = WaitKind::sleep, .name = "nap", .until = noon + 10min};
    CHECK(contains(story.drawn(), "sleeps (nap); next attempt in 10 m, at 12:10:00"));
    wait = {.kind = WaitKind::event, .name = "payment:42", .until = noon + 10min};
    CHECK(
        contains(story.drawn(wide), "waits for the event payment:42; next attempt in 10 m at the latest, at 12:10:00"));
  }
  SECTION("an attempt that its handler ended needs none") {
    const std::size_t lines = lines_of(story.retried(0s, 1s, 30s, 30s).drawn()).size();
    story.history.attempts.back().outcome = Outcome::timed_out;
    CHECK(lines_of(story.drawn()).size() == lines + 1);
  }
}

TEST_CASE("the progress says how much is done, what the handler said of it, and when") {
  Story story;
  story.history.task.attempt = 2;
  ProgressView& progress = story.history.task.progress.emplace(ProgressView{
      .attempt = 2, .fraction = 0.29, .message = "12,000 rows", .reported_at = story.history.task.now - 3s});
  CHECK(contains(line_with(story.drawn(), "progress "), "29 %  12,000 rows, 3 s ago"));
  progress.fraction.reset();
  progress.attempt = 1;
  CHECK(contains(line_with(story.drawn(), "progress "), "12,000 rows, 3 s ago, by attempt 1"));
  progress.message.clear();
  progress.fraction = 0.9999999;
  CHECK(contains(line_with(story.drawn(), "progress "), "99 %, 3 s ago"));
  progress.fraction = 1;
  CHECK(contains(line_with(story.drawn(), "progress "), "100 %, 3 s ago"));
}

TEST_CASE("steps stand below the attempt that ran them") {
  Story story;
  story.attempt(Outcome::failed, 0s, 10s, "HTTP_503").will_retry = true;
  story.attempt(Outcome::succeeded, 40s, 10s);
  story.ended(Status::succeeded);
  story.history.steps = {
      {.name = "download", .attempt = 1, .started_at = noon + 1s, .finished_at = noon + 5s},
      {.name = "parse", .attempt = 2, .counts = false, .started_at = noon + 41s, .finished_at = noon + 42s}};
  const std::string text = story.drawn();
  CHECK(contains(line_with(text, "download"), "4 s"));
  CHECK(contains(line_with(text, "parse"), "run again since"));
  CHECK(text.find("HTTP_503") < text.find("download"));
  CHECK(text.find("download") < text.find("will retry"));
}

TEST_CASE("a cancelled task says what it did when it was cancelled") {
  Story story;
  story.history.task.status = Status::cancelled;
  story.history.task.finished_at = noon + 50s;
  SECTION("nothing yet") {
    CHECK(contains(story.drawn(), "cancelled  before its first attempt, 50 s after it was enqueued"));
  }
  SECTION("it ran") {
    story.attempt(Outcome::cancelled, 0s, 50s, "CANCELLED");
    CHECK(contains(story.drawn(), "cancelled  while attempt 1 ran, after 1 attempt, 50 s from due to end"));
  }
  SECTION("it ran, and its worker was lost") {
    story.attempt(Outcome::lost, 0s, 50s, "WORKER_LOST");
    CHECK(contains(story.drawn(), "while attempt 1 ran, which was lost with its worker"));
  }
  SECTION("it waited for a retry: the wait is drawn up to there") {
    story.retried(0s, 10s, 60s, 60s);
    story.history.task.next_retry_at.reset();
    const std::string text = story.drawn();
    CHECK(contains(text, "cancelled  while it waited for retry 1 of 5, after 1 attempt, 50 s"));
    const std::string wait = line_with(text, "will retry 1 m");
    const std::string end = line_with(text, "12:00:50  cancelled");
    CHECK(count(end, "⊘") == 1);
    CHECK(column_of(wait, "┄") + count(wait, "┄") == column_of(end, "⊘") + 1);
  }
  SECTION("it waited to run again") {
    story.attempt(Outcome::interrupted, 0s, 10s).will_retry = true;
    CHECK(contains(story.drawn(), "while it waited for its next attempt"));
  }
}

TEST_CASE("a task that never ran has no chart") {
  Story story;
  story.history.task.run_at = noon + 1h;
  const std::string text = story.drawn();
  CHECK(contains(text, "first attempt in 1 h, at 13:00:00"));
  CHECK_FALSE(contains(text, "outcome"));
}

TEST_CASE("no line is wider than the terminal") {
  Story story;
  story.history.task.args = "{\"text\": \"" + std::string(5000, 'x') + "\"}";
  story.history.task.name = std::string(128, 'n');
  story.history.task.error_message = std::string(9000, 'm') + " " + std::string(300, 'w');
  story.history.definition->auto_retry_for = std::vector<std::string>(64, "A_LONG_ERROR_CODE_THAT_IS_LISTED");
  story.retried(3h, 100ms, 30s, 31200ms);
  story.retried(30h, 100ms, 24h, 24h).attempt(Outcome::failed, 60h, 90s, std::string(64, 'E').c_str());
  story.ended(Status::failed);
  for (std::size_t width : {60U, 80U, 100U, 120U, 200U}) {
    for (bool unicode : {true, false}) {
      for (const std::string& line : lines_of(story.drawn({.width = width, .unicode = unicode, .zone = Zone::utc}))) {
        INFO(line);
        CHECK(display_width(line) <= width);
      }
    }
  }
}

TEST_CASE("a run of many hours fits in the terminal while it goes on") {
  Story story;
  story.running(1s, 12h + 59min);
  for (const std::string& line : lines_of(story.drawn({.width = 60, .zone = Zone::utc}))) {
    INFO(line);
    CHECK(display_width(line) <= 60);
  }
}

TEST_CASE("with ASCII alone nothing else is drawn") {
  Story story;
  story.history.task.args = R"({"name": "Zoë"})";
  story.retried(0s, 100ms, 30s, 31200ms);
  story.history.task.now = noon + 5s;
  const std::string text = story.drawn({.width = 80, .unicode = false, .zone = Zone::utc});
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  CHECK(contains(text, "30 s -> 31.2 s"));
}

TEST_CASE("texts that a task carries cannot drive the terminal") {
  Story story;
  AttemptView& attempt = story.attempt(Outcome::failed, 0s, 1s, "HTTP_503");
  attempt.worker = "\033[2Jworker";
  story.ended(Status::failed);
  story.history.task.error_code = "HTTP_503";
  story.history.task.error_message = "line one\r\nline two \033]0;title\007 \xC2\x9B!";
  const std::string text = story.drawn();
  CHECK_FALSE(contains(text, "\033"));
  CHECK_FALSE(contains(text, "\007"));
  CHECK_FALSE(contains(text, "\r"));
  CHECK_FALSE(contains(text, "\xC2\x9B"));
}

TEST_CASE("colours are there only where they are wanted") {
  Story story;
  story.attempt(Outcome::failed, 0s, 1s, "HTTP_404");
  story.ended(Status::failed);
  CHECK_FALSE(contains(story.drawn(), "\033["));
  CHECK(contains(story.drawn({.width = 80, .unicode = true, .color = true, .zone = Zone::utc}), "\033[31m"));
}

TEST_CASE("of very many attempts the first and the last are drawn") {
  Story story;
  for (int i = 0; i < 500; ++i) story.attempt(Outcome::interrupted, i * 10s, 1s).will_retry = true;
  const std::string text = story.drawn();
  CHECK(contains(text, "440 attempts more: dogged attempts --task 42"));
  CHECK(contains(text, "\n500  "));
  CHECK(lines_of(text).size() < 200);
}

TEST_CASE("a new day is said once") {
  Story story;
  story.retried(11h, 1s, 2h, 2h);
  story.attempt(Outcome::succeeded, 13h, 1s);
  story.ended(Status::succeeded);
  CHECK(count(story.drawn(), "2026-11-22") == 1);
}

TEST_CASE("retry_after is named as what it is") {
  Story story;
  story.retried(0s, 1s, 10s, 10s);
  story.history.attempts.back().retry_after_ms = 10'000;
  CHECK(contains(story.drawn(), "will retry 10 s (retry_after)"));
}

TEST_CASE("an attempt that is the root of a trace shows its id, and one of the task's trace does not") {
  const std::string of_task = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const std::string of_retry = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  Story story;
  story.history.task.trace_context = of_task;
  story.retried(0s, 1s, 10s, 10s);
  story.history.attempts.back().trace_context = of_task;
  story.attempt(Outcome::succeeded, 11s, 1s).trace_context = of_retry;
  story.ended(Status::succeeded);
  const std::string text = story.drawn();
  CHECK(count(text, "4bf92f3577b34da6a3ce929d0e0e4736") == 1);
  const auto lines = lines_of(text);
  CHECK(contains(lines.at(lines.size() - 2), "12:00:11"));
  CHECK(lines.back().ends_with("  trace 0af7651916cd43dd8448eb211c80319c"));
}
