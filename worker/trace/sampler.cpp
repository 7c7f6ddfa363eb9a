// See sampler.hpp.
#include "trace/sampler.hpp"

#include <cstddef>
#include <cstdint>

namespace dogged::runtime {

bool Sampler::samples(const TraceContext::TraceId& id, const std::optional<TraceContext>& producer) const noexcept {
  if (follows_producer && producer) return producer->sampled;
  // Any tracer makes the last seven bytes of an id at random (W3C Trace Context, level 2).
  std::uint64_t random = 0;
  for (std::size_t i = 9; i < id.size(); ++i) random = random << 8U | id[i];
  constexpr double all = 72057594037927936.0;  // 2^56
  return static_cast<double>(random) < ratio * all;
}

}  // namespace dogged::runtime
