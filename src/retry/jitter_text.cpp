// Jitter to text and back.
#include "retry/jitter_text.hpp"

#include "text/duration.hpp"
#include "text/number_text.hpp"

namespace dogged {

std::string jitter_to_text(const Jitter& jitter) {
  switch (jitter.kind()) {
    case Jitter::Kind::none:
      break;
    case Jitter::Kind::full:
      return "full";
    case Jitter::Kind::absolute:
      return duration_to_text(jitter.amount());
    case Jitter::Kind::proportional:
      return percentage_to_text(jitter.proportion());
  }
  return "none";
}

std::optional<Jitter> jitter_from_text(std::string_view text) {
  if (text == "none") return Jitter::none();
  if (text == "full") return Jitter::full();
  if (const auto proportion = percentage_from_text(text)) return Jitter::proportional(*proportion);
  try {
    return Jitter::absolute(duration_from_text(text, limits::max_delay));
  } catch (const DurationOutOfRange&) {
    throw;
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

}  // namespace dogged
