// The trace that a task belongs to, as W3C Trace Context writes it: https://www.w3.org/TR/trace-context/
//
//   client.enqueue(send_mail, mail, {.trace_context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
//   request.headers["traceparent"] = ctx.trace()->traceparent();   // in a handler: its calls are children of its span
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dogged {

namespace limits {
/// Of EnqueueOptions::trace_context.
inline constexpr std::size_t trace_context_bytes = 512;
}  // namespace limits

/// A span, as its children and its links name it. A value.
struct TraceContext {
  using TraceId = std::array<std::uint8_t, 16>;
  using SpanId = std::array<std::uint8_t, 8>;

  TraceId trace_id{};  ///< not all zero
  SpanId span_id{};    ///< not all zero
  bool sampled = false;
  std::string tracestate = {};  ///< what tracing systems add to it: `vendor=value,other=value`; mostly empty

  /// Reads a `traceparent` header, alone or followed by a space and a `tracestate`. A newer version than 00 is read as
  /// W3C asks: by its first four fields. A `tracestate` that is malformed is left out. Nothing if the traceparent is
  /// malformed: another length, upper case, version ff, or an id that is all zero.
  [[nodiscard]] static std::optional<TraceContext> from_text(std::string_view text);

  /// For EnqueueOptions::trace_context: the traceparent, and behind a space the tracestate if there is one. Members of
  /// the tracestate that do not fit into limits::trace_context_bytes are left out, the last ones first. A tracestate
  /// with other characters than those of printable ASCII is left out.
  [[nodiscard]] std::string to_text() const;
  /// The header of that name: 55 characters, version 00.
  [[nodiscard]] std::string traceparent() const;
  [[nodiscard]] std::string trace_id_text() const;  ///< 32 lower-case hexadecimal digits
  [[nodiscard]] std::string span_id_text() const;   ///< 16 of them

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

}  // namespace dogged
