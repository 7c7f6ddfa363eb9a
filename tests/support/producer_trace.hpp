// The trace that a producer is in, in tests of traces.
#pragma once

#include <string>

namespace dogged::test {

inline const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
inline const std::string producer = "00-" + trace_id + "-00f067aa0ba902b7-01";  ///< its traceparent

}  // namespace dogged::test
