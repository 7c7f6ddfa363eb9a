// The worker's --queues.
#include <algorithm>

#include <dogged/detail/names.hpp>

#include "fuzz.hpp"
#include "main/queues_text.hpp"

using dogged::runtime::queues_from_text;

FUZZ_TARGET(queues, input) {
  try {
    const auto queues = queues_from_text(input);
    const auto commas = std::count(input.begin(), input.end(), ',');
    require(std::ssize(queues) == commas + 1, "each entry is a queue");
    std::string written;
    for (const auto& [name, concurrency] : queues) {
      require(dogged::detail::is_valid_name(name), "a queue's name is valid", name);
      require(concurrency >= 1 && concurrency <= 1000, "a concurrency is 1 to 1000");
      written += (written.empty() ? "" : ",") + name + ":" + std::to_string(concurrency);
    }
    require(queues_from_text(written) == queues, "queues that are written read back", written);
  } catch (const dogged::InvalidInput& error) {
    require_sound_message(error);
  }
}
