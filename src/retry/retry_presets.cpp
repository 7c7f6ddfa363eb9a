// The presets for usual operations, with the reason for each one's figures.
#include <algorithm>

#include <dogged/error.hpp>
#include <dogged/retry_config.hpp>

#include "text/message.hpp"

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
          "database_write", 5, milliseconds{100}, seconds{30}, true,
          "3 s in all outlast a deadlock, a serialization failure and a lost connection; what a longer outage leaves "
          "unwritten has no other copy, so it is kept."),
      preset(
          "database_read", 3, milliseconds{50}, seconds{10}, false,
          "Somebody waits for the answer, and a third of a second is what one waits; who still wants it asks again."),
      preset(
          "pubsub_publish", 5, milliseconds{50}, seconds{5}, true,
          "1.5 s outlast a service that sheds load; a message that nobody received has no other copy, so it is kept."),
      preset("cache_get", 3, milliseconds{50}, seconds{5}, false,
             "The source answers as well: a third of a second for a connection that was closed, and then no more."),
      preset("cache_set", 3, milliseconds{50}, seconds{5}, false,
             "An entry that is not written costs one miss, and the next reader writes it."),
      preset("broker_publish", 5, milliseconds{100}, seconds{30}, true,
             "3 s outlast a lost connection and the election of a leader; a message that was not taken is kept."),
      preset(
          "http_request", 3, milliseconds{200}, seconds{10}, false,
          "1.4 s outlast a connection that was reset and a server that is overloaded for a moment; the caller has the "
          "error. A 429 or 503 with Retry-After says its own delay."),
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
