// The worker's own tracer: makes spans of attempts, and of calls that enqueue, for the exporter.
#pragma once

#include <memory>
#include <optional>

#include <dogged/tracer.hpp>

#include "trace/sampler.hpp"
#include "trace/span_queue.hpp"

namespace dogged::runtime {

class OtlpTracer final : public Tracer {
 public:
  OtlpTracer(const Sampler& sampler, std::shared_ptr<SpanQueue> queue) : sampler_(sampler), queue_(std::move(queue)) {}

  /// Outside of handlers it knows no spans; in them, Context::trace() goes with the tasks as it is.
  [[nodiscard]] std::optional<TraceContext> current() override { return std::nullopt; }
  [[nodiscard]] std::unique_ptr<AttemptSpan> attempt_begins(const AttemptBegin& begin) override;
  [[nodiscard]] std::unique_ptr<SendSpan> send_begins(const SendBegin& begin) override;

 private:
  const Sampler sampler_;
  const std::shared_ptr<SpanQueue> queue_;
};

}  // namespace dogged::runtime
