// See otlp_exporter.hpp.
#include "trace/otlp_exporter.hpp"

#include <algorithm>
#include <utility>

#include <sys/resource.h>

#include <dogged/retry_options.hpp>

#include "client/log_event.hpp"
#include "db/errors.hpp"
#include "http/block_sigpipe.hpp"
#include "text/counted.hpp"
#include "text/escaped.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds longest_flush{3'000};  // at the end

/// Where the processors are busy, the worker's other threads go first, and the exporter drops more spans. Drains of two
/// processors with a span of each attempt then kept 0.94 of their rate, and 0.89 without.
void yield_to_other_threads() noexcept {
  constexpr int nicer = 5;
  (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + nicer);  // on Linux, of the calling thread
}

constexpr std::size_t most_bytes_of_reason = 200;

std::string reason_of(const OtlpPost::Answer& answer) {
  return answer.status == 0 ? answer.error : "it answers " + std::to_string(answer.status);
}

/// The text of a collector's answer, behind a colon.
std::string words_of(const OtlpPost::Answer& answer) {
  const std::string words = db::one_line(answer.body.substr(0, most_bytes_of_reason));
  return words.empty() ? "" : ": " + escaped(words);
}

std::string_view consequence_of(ExportPlan::Verdict verdict) {
  switch (verdict) {
    case ExportPlan::Verdict::try_again:
      return "spans that it does not take in time are dropped";
    case ExportPlan::Verdict::taken:
      return "these spans are dropped";
    case ExportPlan::Verdict::refused:
    case ExportPlan::Verdict::failed:
      break;
  }
  return "the spans of the request are dropped";
}

}  // namespace

OtlpExporter::OtlpExporter(OtlpSettings settings, const std::string& worker, std::shared_ptr<Tally> tally,
                           std::shared_ptr<spdlog::logger> log)
    : settings_(std::move(settings)),
      tally_(std::move(tally)),
      log_(std::move(log)),
      json_(settings_.resource, worker),
      post_(settings_),
      plan_({.most_in_batch = settings_.most_in_batch, .schedule_delay = settings_.schedule_delay}),
      queue_(std::make_shared<SpanQueue>(settings_.most_queued, settings_.most_in_batch, tally_)),
      tracer_(std::make_shared<OtlpTracer>(settings_.sampler, queue_)) {
  log_->log(event("traces_exported"), spdlog::level::info, "traces: spans go to {}", settings_.shown_url);
  service_.start([this] { run(); });
}

void OtlpExporter::stop() {
  if (service_.is_stopping()) return;
  gives_up_at_ = SteadyClock::now() + longest_flush;
  service_.stop();
}

void OtlpExporter::run() {
  http::block_sigpipe();
  yield_to_other_threads();
  // There is no session that could recover: a collector that fails is an answer, and each error ends the exporter.
  const auto on_failure = [](const std::exception&) { throw; };
  service_.run_plan([this] { return next_action(); }, [this](const ExportPlan::Action& action) { carry_out(action); },
                    on_failure);
  drop_rest();
}

ExportPlan::Action OtlpExporter::next_action() {
  if (service_.is_stopping()) plan_.on_stopping(gives_up_at_);
  const ExportPlan::Queued queued = queue_->look();
  return plan_.next(queued, SteadyClock::now());
}

void OtlpExporter::carry_out(const ExportPlan::Action& action) {
  switch (action.step) {
    case ExportPlan::Step::wait:
      (void)service_.wait_until(action.until);
      return;
    case ExportPlan::Step::take:
      batch_ = queue_->take();
      json_.write_request(batch_, request_);
      return send();
    case ExportPlan::Step::send_again:
      return send();
    case ExportPlan::Step::end:
      return;
  }
}

void OtlpExporter::send() {
  const auto left = std::chrono::ceil<milliseconds>(
      std::min(gives_up_at_.load() - SteadyClock::now(), SteadyClock::duration{settings_.timeout}));
  settle(post_.send(request_, left, [this] { return is_over(); }));
}

void OtlpExporter::settle(const OtlpPost::Answer& answer) {
  const ExportPlan::Verdict verdict =
      plan_.on_answer({.status = answer.status, .retry_after = answer.retry_after}, SteadyClock::now(), random_draw());
  tell_of(answer, verdict);
  TraceCounts& counts = tally_->traces;
  switch (verdict) {
    case ExportPlan::Verdict::try_again:
      return;
    case ExportPlan::Verdict::taken: {
      const std::size_t rejected = std::min<std::size_t>(rejected_in(answer.body).count, batch_.size());
      counts.refused += rejected;
      counts.exported += batch_.size() - rejected;
      break;
    }
    case ExportPlan::Verdict::refused:
      counts.refused += batch_.size();
      break;
    case ExportPlan::Verdict::failed:
      counts.failed += batch_.size();
      break;
  }
  batch_.clear();
}

/// Each status or error once until the collector takes spans again, because an answer may have another id in its words
/// each time.
void OtlpExporter::tell_of(const OtlpPost::Answer& answer, ExportPlan::Verdict verdict) {
  std::string trouble;
  std::string words;
  if (verdict == ExportPlan::Verdict::taken) {
    const RejectedSpans rejected = rejected_in(answer.body);
    if (rejected.count > 0) trouble = "it refuses some spans: " + rejected.why;
  } else {
    trouble = reason_of(answer);
    words = words_of(answer);
  }
  if (trouble.empty()) {
    if (!outage_.on_success()) return;
    log_->log(event("collector_recovered"), spdlog::level::info, "traces: {} takes spans again", settings_.shown_url);
  } else if (outage_.on_failure(trouble) != Outage::Tell::nothing) {
    log_->log(event("collector_failed"), spdlog::level::warn, "traces: {}: {}{}; tasks go on, and {}",
              settings_.shown_url, trouble, words, consequence_of(verdict));
  }
}

void OtlpExporter::drop_rest() {
  TraceCounts& counts = tally_->traces;
  counts.shutdown += batch_.size();
  batch_.clear();
  queue_->close();
  const std::uint64_t dropped = counts.queue_full + counts.refused + counts.failed + counts.shutdown;
  if (dropped > 0)
    log_->log(event("spans_dropped"), spdlog::level::warn, "traces: {} exported, {} dropped",
              counted(counts.exported.load(), "span"), dropped);
}

/// The tasks of the worker do not depend on its spans.
void OtlpExporter::note_defect(const std::exception_ptr& error) noexcept {
  queue_->close();
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    log_->log(event("trace_export_failed"), spdlog::level::err, "traces: {}; no more spans are exported",
              thrown.what());
  } catch (...) {
    log_->log(event("trace_export_failed"), spdlog::level::err, "traces: no more spans are exported");
  }
}

}  // namespace dogged::runtime
