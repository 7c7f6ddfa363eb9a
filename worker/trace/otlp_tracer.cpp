// See otlp_tracer.hpp.
#include "trace/otlp_tracer.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "retry/random_bits.hpp"

namespace dogged::runtime {
namespace {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

/// An id of random bytes, which is not all zero.
template <class Id>
Id random_id() {
  static_assert(sizeof(Id) % sizeof(std::uint64_t) == 0);
  Id id{};
  for (std::size_t i = 0; i < id.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t bits = detail::random_bits();
    std::memcpy(id.data() + i, &bits, sizeof bits);
  }
  if (std::all_of(id.begin(), id.end(), [](std::uint8_t byte) { return byte == 0; })) id.back() = 1;
  return id;
}

class OtlpSpan final : public AttemptSpan {
 public:
  explicit OtlpSpan(std::shared_ptr<SpanQueue> queue) : queue_(std::move(queue)) {}

  /// To be filled before the attempt begins, in its place: a Span has some 400 bytes.
  [[nodiscard]] Span& span() noexcept { return span_; }
  [[nodiscard]] TraceContext context() const override { return span_.context; }

  void ended(const AttemptEnd& end) noexcept override {
    if (!span_.context.sampled) return;
    try {
      span_.outcome = end.outcome;
      span_.error_code = end.error_code;
      span_.error_message = end.error_message.substr(0, most_bytes_of_message);
      span_.retry_in = end.retry_in;
      span_.ended_ns = span_.began_ns + duration_cast<nanoseconds>(end.running_for).count();
      queue_->push(std::move(span_), SteadyClock::now());
    } catch (const std::bad_alloc&) {  // the attempt counts all the same
    }
  }

 private:
  Span span_;
  const std::shared_ptr<SpanQueue> queue_;
};

class OtlpSendSpan final : public SendSpan {
 public:
  OtlpSendSpan(Span span, std::shared_ptr<SpanQueue> queue) : span_(std::move(span)), queue_(std::move(queue)) {}

  [[nodiscard]] TraceContext context() const override { return span_.context; }

  void ended(const SendEnd& end) noexcept override {
    if (!span_.context.sampled) return;
    try {
      const TimePoint now = SteadyClock::now();
      span_.task_id = end.first_id;
      span_.error_code = end.error_code;
      span_.error_message = end.error_message.substr(0, most_bytes_of_message);
      span_.ended_ns = span_.began_ns + duration_cast<nanoseconds>(now - began_at_).count();
      queue_->push(std::move(span_), now);
    } catch (const std::bad_alloc&) {  // the tasks are enqueued all the same
    }
  }

 private:
  Span span_;
  const std::shared_ptr<SpanQueue> queue_;
  const TimePoint began_at_ = SteadyClock::now();
};

}  // namespace

std::unique_ptr<AttemptSpan> OtlpTracer::attempt_begins(const AttemptBegin& begin) {
  const bool is_child = begin.producer && begin.attempt == 1;
  auto made = std::make_unique<OtlpSpan>(queue_);
  Span& span = made->span();
  span.context.trace_id = is_child ? begin.producer->trace_id : random_id<TraceContext::TraceId>();
  span.context.span_id = random_id<TraceContext::SpanId>();
  span.context.sampled = sampler_.samples(span.context.trace_id, begin.producer);
  if (is_child) {
    span.context.tracestate = begin.producer->tracestate;
    span.parent = begin.producer->span_id;
  } else {
    span.link = begin.producer;
  }
  if (span.context.sampled) {
    span.task_name = begin.task_name;
    span.queue = begin.queue;
    span.task_id = begin.task_id;
    span.attempt = begin.attempt;
    span.retry_count = begin.retry_count;
    span.began_ns = duration_cast<nanoseconds>(begin.at.time_since_epoch()).count();
  }
  return made;
}

/// A name that is too long for a task or a queue is refused by the database, and cut here.
std::unique_ptr<SendSpan> OtlpTracer::send_begins(const SendBegin& begin) {
  Span span;
  span.kind = Span::Kind::send;
  span.context.trace_id = begin.parent ? begin.parent->trace_id : random_id<TraceContext::TraceId>();
  span.context.span_id = random_id<TraceContext::SpanId>();
  span.context.sampled = sampler_.samples(span.context.trace_id, begin.parent);
  if (begin.parent) {
    span.context.tracestate = begin.parent->tracestate;
    span.parent = begin.parent->span_id;
  }
  if (span.context.sampled) {
    span.task_name = begin.task_name.substr(0, limits::name_bytes);
    span.queue = begin.queue.substr(0, limits::name_bytes);
    span.tasks = begin.count;
    span.began_ns = duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  return std::make_unique<OtlpSendSpan>(std::move(span), queue_);
}

}  // namespace dogged::runtime
