// The properties of every retry policy that was read, in any form.
#pragma once

#include <sstream>
#include <string>
#include <variant>

#include <dogged/policy.hpp>

#include "cli/render/delay_plot.hpp"
#include "cli/render/text.hpp"
#include "fuzz.hpp"

namespace fuzz {

inline void require_delays_within_limits(const dogged::RetryPolicy& policy) {
  using dogged::limits::max_delay;
  using dogged::limits::min_delay;
  const int retries = dogged::max_retries(policy);
  require(retries >= 0 && retries <= dogged::limits::max_retries, "a policy has 0 to 20 retries");
  for (int retry = 1; retry <= retries; ++retry) {
    for (const double draw : {0.0, 0.5, 0.999999}) {
      const auto delay = dogged::next_delay(policy, retry, draw);
      require(delay.has_value(), "each retry has a delay");
      require(delay->backoff >= min_delay && delay->backoff <= max_delay, "a backoff is 1 ms to 24 h");
      require(delay->delay >= min_delay && delay->delay <= max_delay, "a delay is 1 ms to 24 h");
    }
  }
  require(!dogged::next_delay(policy, retries + 1, 0.5), "after the last retry there is no delay");
}

inline void require_plot_fits(const dogged::RetryPolicy& policy) {
  const dogged::cli::Style style{.width = 60, .unicode = true, .color = false, .zone = dogged::cli::Zone::utc};
  std::istringstream plot{dogged::cli::render_delays(policy, style)};
  for (std::string line; std::getline(plot, line);) {
    require(is_printable_line(line), "the plot is printable", line);
    require(dogged::cli::display_width(line) <= style.width, "the plot fits in the terminal", line);
  }
}

inline void require_sound(const dogged::RetryPolicy& policy) {
  dogged::require_valid(policy);
  const std::string text = dogged::policy_to_text(policy);
  require(is_printable_line(text), "a policy's text is one line", text);
  require(dogged::policy_from_text(text) == policy, "a policy's text reads back", text);
  const std::string json = dogged::policy_to_json(policy);
  require(dogged::policy_from_json(json) == policy, "a policy's JSON reads back", json);
  if (!std::holds_alternative<dogged::Custom>(policy)) require_delays_within_limits(policy);
  require_plot_fits(policy);
}

}  // namespace fuzz
