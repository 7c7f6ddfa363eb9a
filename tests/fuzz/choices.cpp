// Options of the command line that have to be a number, a word of a list, or a duration.
#include "cli/input/choices.hpp"

#include <string>

#include "fuzz.hpp"
#include "lifecycle/lifecycle.hpp"
#include "text/duration.hpp"

using namespace dogged;

namespace {

/// Whether the check accepts the text. If not, its message must be printable.
bool accepts(const CLI::Validator& check, std::string text) {
  const std::string complaint = check(text);
  fuzz::require(fuzz::is_printable_line(complaint), "a complaint is one printable line", complaint);
  fuzz::require(complaint.size() <= 1000, "a complaint is short, however long the input", complaint);
  return complaint.empty();
}

/// A whole number, as far as it is within 18 digits.
std::optional<std::int64_t> number_in(const std::string& text) {
  const std::string_view digits = std::string_view{text}.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return {};
  return std::stoll(text);
}

bool is_read(const std::string& text) {
  try {
    return duration_from_text(text) <= cli::longest_duration;
  } catch (const InvalidInput&) {
    return false;
  }
}

}  // namespace

FUZZ_TARGET(choices, input) {
  const std::string text{input};
  const auto number = number_in(text);
  if (text.size() <= 18) {  // longer ones may be too large
    require(accepts(cli::is_task_id(), text) == (number && *number >= 1), "an id is a whole number from 1", text);
    require(accepts(cli::is_limit(), text) == (number && *number >= 1 && *number <= 1'000'000),
            "a limit is 1 to 1000000", text);
  }
  (void)accepts(cli::is_task_id(), text);
  (void)accepts(cli::is_limit(), text);
  require(accepts(cli::is_status(), text) == lifecycle::status_from_text(text).has_value(), "statuses are known", text);
  require(accepts(cli::is_outcome(), text) == lifecycle::outcome_from_text(text).has_value(), "outcomes are known",
          text);
  require(accepts(cli::is_duration(), text) == is_read(text), "a duration is one that can be read, up to ten years",
          text);
}
