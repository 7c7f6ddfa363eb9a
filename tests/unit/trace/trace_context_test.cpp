// W3C Trace Context: what is read, what is written, and what is refused.
#include <string>

#include <dogged/trace_context.hpp>

#include "support/catch.hpp"
#include "support/property.hpp"

using dogged::TraceContext;

using namespace std::string_literals;

namespace {

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string span_id = "00f067aa0ba902b7";
const std::string parent = "00-" + trace_id + "-" + span_id + "-01";

bool is_refused(const std::string& text) { return !TraceContext::from_text(text).has_value(); }

/// The tracestate that is read behind a sound traceparent.
std::string state_of(const std::string& state) {
  return TraceContext::from_text(parent + " " + state).value().tracestate;
}

}  // namespace

TEST_CASE("a traceparent is read into its ids and its sampled flag, and written as it was") {
  const TraceContext context = TraceContext::from_text(parent).value();
  CHECK(context.trace_id_text() == trace_id);
  CHECK(context.span_id_text() == span_id);
  CHECK(context.sampled);
  CHECK(context.tracestate.empty());
  CHECK(context.traceparent() == parent);
  CHECK(context.to_text() == parent);
}

TEST_CASE("of a traceparent's flags only the sampled one counts, and the others are not passed on") {
  const auto with_flags = [](const std::string& flags) {
    return TraceContext::from_text("00-" + trace_id + "-" + span_id + "-" + flags).value();
  };
  CHECK_FALSE(with_flags("00").sampled);
  CHECK_FALSE(with_flags("fe").sampled);
  CHECK(with_flags("ff").sampled);
  CHECK(with_flags("ff").traceparent() == parent);
}

TEST_CASE("each malformed traceparent is refused") {
  CHECK(is_refused(""));
  CHECK(is_refused("trace-1"));
  CHECK(is_refused(parent.substr(0, 54)));
  CHECK(is_refused(parent + "0"));
  CHECK(is_refused(parent + "-00"));  // version 00 has no more fields
  CHECK(is_refused(" " + parent));
  CHECK(is_refused("ff-" + trace_id + "-" + span_id + "-01"));
  CHECK(is_refused("0g-" + trace_id + "-" + span_id + "-01"));
  CHECK(is_refused("00-" + std::string(32, '0') + "-" + span_id + "-01"));
  CHECK(is_refused("00-" + trace_id + "-" + std::string(16, '0') + "-01"));
  CHECK(is_refused("00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span_id + "-01"));
  CHECK(is_refused("00-" + trace_id + "-00F067AA0BA902B7-01"));
  CHECK(is_refused("00_" + trace_id + "-" + span_id + "-01"));
  CHECK(is_refused("00-" + trace_id + "_" + span_id + "-01"));
  CHECK(is_refused("00-" + trace_id + "-" + span_id + "_01"));
  CHECK(is_refused("00-" + trace_id + "-" + span_id + "-0G"));
  CHECK(is_refused(trace_id + "-" + span_id + "-01"));
}

TEST_CASE("a traceparent of a newer version is read by its first four fields, and written as version 00") {
  CHECK(TraceContext::from_text("01-" + trace_id + "-" + span_id + "-01").value().traceparent() == parent);
  CHECK(TraceContext::from_text("fe-" + trace_id + "-" + span_id + "-01-more").value().traceparent() == parent);
  CHECK(is_refused("01-" + trace_id + "-" + span_id + "-01.more"));
}

TEST_CASE("a tracestate goes with its traceparent, without spaces and empty members") {
  CHECK(state_of("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7") == "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
  CHECK(state_of(" a=1 ,\t, b@vendor=x y ") == "a=1,b@vendor=x y");
  CHECK(TraceContext::from_text(parent + " a=1").value().to_text() == parent + " a=1");
}

TEST_CASE("a malformed tracestate is left out, and its traceparent is kept") {
  for (const char* state : {"a", "=1", "a=", "A=1", "a=1=2", "a=\x7f", "caf\xC3\xA9=1", "a=1;b=2=3"}) {
    CHECK(state_of(state).empty());
  }
  std::string members = "a=1";
  for (int i = 1; i < 32; ++i) members += ",a=1";
  CHECK(state_of(members) == members);
  CHECK(state_of(members + ",a=1").empty());
  CHECK(state_of("a=" + std::string(257, 'x')).empty());
}

TEST_CASE("members of a tracestate that do not fit into 512 bytes are left out, the last ones first") {
  const std::string first = "a=" + std::string(250, '1');
  const std::string second = "b=" + std::string(201, '2');  // 252 + 1 + 203 = 456 = 512 - 55 - 1
  TraceContext context = TraceContext::from_text(parent).value();
  context.tracestate = first + "," + second;
  CHECK(context.to_text() == parent + " " + first + "," + second);
  CHECK(context.to_text().size() == dogged::limits::trace_context_bytes);
  context.tracestate += "2";
  CHECK(context.to_text() == parent + " " + first);
  context.tracestate = std::string(600, 'x');
  CHECK(context.to_text() == parent);
}

TEST_CASE("a tracestate that a tracer gives with a line break, a NUL or another byte beyond ASCII is left out") {
  TraceContext context = TraceContext::from_text(parent).value();
  for (const std::string& state : {"a=1\nb=2"s, "a=1\0"s, "a=\u00fc"s}) {
    context.tracestate = state;
    CHECK(context.to_text() == parent);
  }
}

TEST_CASE("property: a context that is written is read as the same") {
  CHECK(dogged::test::holds([] {
    TraceContext context;
    for (auto& byte : context.trace_id) byte = dogged::test::any_byte();
    for (auto& byte : context.span_id) byte = dogged::test::any_byte();
    context.trace_id.back() |= 1;  // not all zero
    context.span_id.front() |= 1;
    context.sampled = dogged::test::any_bool();
    RC_ASSERT(TraceContext::from_text(context.to_text()) == context);
  }));
}
