// The presets for usual operations, with the reason for each one's figures.
#include <algorithm>

#include <dogged/retry_config.hpp>

#include "retry/message.hpp"

namespace dogged {
namespace {

using std::chrono::seconds;

RetryPreset preset(std::string_view name, int retries, milliseconds first_delay, milliseconds max_delay,
                   bool dead_letter, std::string_view reason) {
  return {.name = name,
          .config = {.max_attempts = retries + 1,
                     .initial_delay = first_delay,
                     .max_delay = max_delay,
                     .jitter = Jitter::absolute(first_delay / 2),
                     .dead_letter_enabled = dead_letter},
          .reason = reason};
}

std::vector<RetryPreset> make_presets() {
  return {
      preset(
          "database_write", 5, milliseconds{100}, seconds{5}, true,
          "3 s in all outlast a deadlock, a serialization failure and a lost connection; what a longer outage leaves "
          "unwritten has no other copy, so it is kept."),
      preset("database_read", 3, milliseconds{50}, seconds{1}, false,
             "Somebody waits for the answer, and half a second is what one waits; who still wants it asks again."),
      preset("pubsub_publish", 5, milliseconds{100}, seconds{10}, true,
             "3 s outlast a service that sheds load; a message that nobody received has no other copy, so it is kept."),
      preset("cache_get", 1, milliseconds{10}, milliseconds{50}, false,
             "The source answers as well: one retry for a connection that was closed, and then no more time is lost."),
      preset("cache_set", 2, milliseconds{10}, milliseconds{100}, false,
             "An entry that is not written costs one miss, and the next reader writes it."),
      preset("broker_publish", 8, milliseconds{200}, seconds{30}, true,
             "51 s outlast a broker's restart and the election of a leader; a message that was not taken is kept."),
      preset("http_request", 4, milliseconds{500}, seconds{30}, true,
             "7.5 s outlast a deployment behind a load balancer, and leave an overloaded server room to recover; a 429 "
             "or 503 with Retry-After says its own delay."),
  };
}

Words preset_names() {
  Words names;
  for (const RetryPreset& preset : retry_presets()) names.push_back(preset.name);
  return names;
}

}  // namespace

const std::vector<RetryPreset>& retry_presets() {
  static const std::vector<RetryPreset> presets = make_presets();
  return presets;
}

const RetryPreset& retry_preset(std::string_view name) {
  for (const RetryPreset& preset : retry_presets()) {
    if (preset.name == name) return preset;
  }
  throw InvalidPolicy("preset", in_quotes(name) + " is not a preset" + suggestion(name, preset_names()) + "; write " +
                                    alternatives(preset_names()));
}

}  // namespace dogged
