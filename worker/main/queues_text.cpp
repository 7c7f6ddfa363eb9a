// See queues_text.hpp.
#include "main/queues_text.hpp"

#include <charconv>
#include <system_error>

#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>

#include "text/message.hpp"

namespace dogged::runtime {
namespace {

constexpr int max_concurrency = 1000;

}  // namespace

std::map<std::string, int> queues_from_text(std::string_view text) {
  const std::string form = "write name:concurrency, separated by commas, for example webhooks:10,default:5";
  std::map<std::string, int> queues;
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    const auto colon = entry.rfind(':');
    const std::string name{entry.substr(0, colon)};
    if (colon == std::string_view::npos || !detail::is_valid_name(name)) {
      throw InvalidInput("--queues: " + in_quotes(entry) + " is not a queue's name and its concurrency", form);
    }
    const std::string_view number = entry.substr(colon + 1);
    int concurrency = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), concurrency);
    const bool is_number = error == std::errc{} && end == number.data() + number.size();
    if (!is_number || concurrency < 1 || concurrency > max_concurrency) {
      // A database URL may stand here by mistake.
      const bool may_have_password = number.find('@') != std::string_view::npos;
      throw InvalidInput("--queues: the concurrency of " + name +
                             (may_have_password ? " is no number" : " is " + in_quotes(number)) +
                             "; it must be 1 to 1000",
                         form);
    }
    if (!queues.emplace(name, concurrency).second) throw InvalidInput("--queues names " + name + " twice", form);
    if (entry.size() == text.size()) return queues;
    text.remove_prefix(entry.size() + 1);
  }
}

}  // namespace dogged::runtime
