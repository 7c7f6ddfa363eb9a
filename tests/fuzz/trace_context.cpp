// A trace context, which any producer writes.
#include <algorithm>

#include <dogged/trace_context.hpp>

#include "fuzz.hpp"

using dogged::TraceContext;

FUZZ_TARGET(trace_context, input) {
  const auto context = TraceContext::from_text(input);
  if (!context) return;
  const std::string text = context->to_text();
  require(text.size() <= dogged::limits::trace_context_bytes, "a context fits into a task", text);
  require(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }), "it is printable", text);
  const auto again = TraceContext::from_text(text);
  require(again.has_value(), "what is written can be read", text);
  require(again->to_text() == text, "what is read is written as it was", text);
  require(again->traceparent() == context->traceparent(), "the ids and the flag stay", text);
  require(input.substr(2, 51) == std::string_view{text}.substr(2, 51), "the ids are the input's", text);
}
