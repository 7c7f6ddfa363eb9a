// The stories that the receiver can play: what each URL path answers, first and later. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace webhooks {

enum class RetryAfterForm { seconds, date };

/// A delivery is answered badly `failures` times, and with 200 from then on.
struct Story {
  static constexpr int always = -1;

  int failures = 0;                               ///< `fail`: 0 to 1000, or `always`
  int status = 200;                               ///< `status` of a bad answer: 200 to 599
  std::optional<std::chrono::seconds> wait = {};  ///< `retry_after`, its Retry-After: 0 to 86400
  RetryAfterForm form = RetryAfterForm::seconds;  ///< `form` of that: seconds or date
  std::chrono::milliseconds delay{0};             ///< `seconds` before a bad answer: 0 to 60, fractions too
  bool reset = false;                             ///< a bad answer is none: the connection is reset
  std::size_t body_bytes = 0;                     ///< `bytes` of filler in a bad answer: 0 to 1048576

  [[nodiscard]] bool is_bad(int attempt) const noexcept { return failures == always || attempt <= failures; }
};

/// A query parameter that cannot be read. `what()` names it, its value, and what could stand there.
class BadStory : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The value of a query parameter; nothing if the query does not have it.
using QueryParameter = std::function<std::optional<std::string>(const std::string& name)>;

/// The story of a URL path, with what the query changes of it; nothing where there is no such path. Throws
/// BadStory.
///
///   /ok         200
///   /flaky      503 twice
///   /throttled  429 once, with Retry-After: 2
///   /slow       once an answer only after 3 seconds
///   /reset      once a connection that is reset
///   /gone       404 always
///   /down       503 always
[[nodiscard]] std::optional<Story> find_story(std::string_view path, const QueryParameter& query);

/// `/ok, /flaky, …`
[[nodiscard]] std::string story_paths();

}  // namespace webhooks
