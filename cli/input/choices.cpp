// Checks of options.
#include "cli/input/choices.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include <dogged/error.hpp>

#include "text/duration.hpp"

namespace dogged::cli {
namespace {

constexpr const char* choices_name = "choices:";

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stopped == end ? std::optional{number} : std::nullopt;
}

/// An empty name leaves the help without a second mention of the type.
CLI::Validator validator(std::function<std::string(std::string&)> check) {
  return CLI::Validator{std::move(check), ""};
}

}  // namespace

CLI::Validator is_task_id() {
  return validator([](std::string& text) {
    const auto number = whole_number(text);
    if (number && *number > 0) return std::string{};
    return in_quotes(text) +
           " is not the id of a task; ids are whole numbers from 1, as `dogged tasks list` shows them";
  });
}

CLI::Validator is_one_of(Words words, const std::string& noun) {
  // CLI11 keeps no list of choices, but names of checks: these say which words they let pass.
  std::string name{choices_name};
  for (const auto& word : words) name += " " + std::string{word};
  return validator([words = std::move(words), noun](std::string& text) {
           if (std::find(words.begin(), words.end(), text) != words.end()) return std::string{};
           return in_quotes(text) + " is not " + noun + suggestion(text, words) + "; write " + alternatives(words);
         })
      .name(name);
}

std::vector<std::string> choices_of(CLI::Option& option) {
  std::vector<std::string> words;
  try {
    for (int i = 0;; ++i) {
      std::istringstream name{option.get_validator(i)->get_name()};
      std::string word;
      if (!(name >> word) || word != choices_name) continue;
      while (name >> word) words.push_back(word);
    }
  } catch (const CLI::OptionNotFound&) {  // there is no check with that number
  }
  return words;
}

CLI::Validator is_status() {
  return is_one_of({"pending", "running", "succeeded", "failed", "discarded", "cancelled", "expired"}, "a status");
}

CLI::Validator is_outcome() {
  return is_one_of({"succeeded", "failed", "timed_out", "cancelled", "lost", "interrupted", "snoozed"}, "an outcome");
}

CLI::Validator is_limit() {
  return validator([](std::string& text) {
    const auto number = whole_number(text);
    if (number && *number >= 1 && *number <= 1'000'000) return std::string{};
    return in_quotes(text) + " is not a limit; write a whole number from 1 to 1000000";
  });
}

CLI::Validator is_not_empty() {
  return validator([](std::string& text) {
    return text.empty() ? std::string{"it is empty; give a value, or leave the option out"} : std::string{};
  });
}

CLI::Validator is_duration(milliseconds most) {
  return validator([most](std::string& text) {
    try {
      if (duration_from_text(text, most) <= most) return std::string{};
      return in_quotes(text) + " is too long; write a duration up to " + duration_to_text(most);
    } catch (const DurationOutOfRange& error) {
      return error.message();
    } catch (const Error&) {
      const bool has_unit = !whole_number(text);
      return in_quotes(text) + (has_unit ? " is not a duration" : " is not a duration: it has no unit") +
             "; write whole milliseconds with the units d, h, m, s and ms, as in 250ms, 30s, 1h30m or 7d";
    }
  });
}

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; }

std::optional<std::int64_t> given(std::int64_t number) { return number == 0 ? std::nullopt : std::optional{number}; }

}  // namespace dogged::cli
