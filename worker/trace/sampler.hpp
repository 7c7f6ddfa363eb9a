// Which attempts are traced: OTEL_TRACES_SAMPLER. Pure.
#pragma once

#include <optional>

#include <dogged/trace_context.hpp>

namespace dogged::runtime {

struct Sampler {
  /// Whether the producer's decision counts, if there is a producer. The decision counts for all attempts: a task is
  /// traced as a whole or not at all.
  bool follows_producer = true;
  double ratio = 1;  ///< of the other traces, by their ids; 0 to 1

  [[nodiscard]] bool samples(const TraceContext::TraceId& id,
                             const std::optional<TraceContext>& producer) const noexcept;
};

}  // namespace dogged::runtime
