// Exports spans to a collector, on a thread of its own: OTLP over HTTP, as JSON.
// A collector that is down or slow costs spans, which are counted, and never holds up a task.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "base/core/outage.hpp"
#include "base/service.hpp"
#include "base/tally.hpp"
#include "trace/core/export_plan.hpp"
#include "trace/otlp_json.hpp"
#include "trace/otlp_post.hpp"
#include "trace/otlp_settings.hpp"
#include "trace/otlp_tracer.hpp"
#include "trace/span_queue.hpp"

namespace dogged::runtime {

/// A member for each part on the way of a span, and for what the exporter's thread keeps of the request under way.
class OtlpExporter {
 public:
  /// `worker` is the worker's name; empty: there is none. Throws Error if libcurl cannot be initialised.
  OtlpExporter(OtlpSettings settings, const std::string& worker, std::shared_ptr<Tally> tally,
               std::shared_ptr<spdlog::logger> log);
  ~OtlpExporter() { stop(); }

  /// May be used after the exporter has ended: its spans are dropped then.
  [[nodiscard]] const std::shared_ptr<Tracer>& tracer() const noexcept { return tracer_; }

  /// Sends what waits, for 3 s at most and one try for each request, and ends the thread. The exporter drops the
  /// remaining spans. A second call does nothing.
  void stop();

 private:
  void run();
  [[nodiscard]] ExportPlan::Action next_action();
  void carry_out(const ExportPlan::Action& action);
  [[nodiscard]] bool is_over() const noexcept { return SteadyClock::now() >= gives_up_at_.load(); }
  void send();
  void settle(const OtlpPost::Answer& answer);
  void tell_of(const OtlpPost::Answer& answer, ExportPlan::Verdict verdict);
  void drop_rest();
  void note_defect(const std::exception_ptr& error) noexcept;

  const OtlpSettings settings_;
  const std::shared_ptr<Tally> tally_;
  const std::shared_ptr<spdlog::logger> log_;
  OtlpJson json_;
  OtlpPost post_;
  ExportPlan plan_;
  std::vector<Span> batch_;  // under way
  std::string request_;      // with them
  Outage outage_;            // of the collector
  std::atomic<TimePoint> gives_up_at_{never};
  std::shared_ptr<SpanQueue> queue_;
  std::shared_ptr<Tracer> tracer_;
  Service service_{
      {.on_defect = [this](const std::exception_ptr& error) { note_defect(error); }, .wake = queue_->wake()}};
};

}  // namespace dogged::runtime
