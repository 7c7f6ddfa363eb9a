// One table of stories, and the reading of what a query changes.
#include "story.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>

namespace webhooks {
namespace {

using namespace std::chrono_literals;

struct NamedStory {
  std::string_view path;
  Story story;
};

constexpr NamedStory stories[] = {
    {"/ok", {}},
    {"/flaky", {.failures = 2, .status = 503}},
    {"/throttled", {.failures = 1, .status = 429, .wait = 2s}},
    {"/slow", {.failures = 1, .delay = 3s}},
    {"/reset", {.failures = 1, .reset = true}},
    {"/gone", {.failures = Story::always, .status = 404}},
    {"/down", {.failures = Story::always, .status = 503}},
};

template <class Number>
Number number_between(const std::string& name, const std::string& text, Number min, Number max) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  // Written so that NaN is refused.
  if (parsed.ec != std::errc{} || parsed.ptr != end || !(number >= min && number <= max)) {
    throw BadStory{name + "=" + text + " is not a number from " + std::to_string(min) + " to " + std::to_string(max)};
  }
  return number;
}

void change(Story& story, const QueryParameter& query) {
  if (const auto text = query("fail")) {
    story.failures = *text == "always" ? Story::always : number_between("fail", *text, 0, 1000);
  }
  if (const auto text = query("status")) story.status = number_between("status", *text, 200, 599);
  if (const auto text = query("retry_after")) {
    story.wait = std::chrono::seconds{number_between("retry_after", *text, 0, 86'400)};
  }
  if (const auto text = query("form")) {
    if (*text != "seconds" && *text != "date") throw BadStory{"form=" + *text + " is neither seconds nor date"};
    story.form = *text == "date" ? RetryAfterForm::date : RetryAfterForm::seconds;
  }
  if (const auto text = query("seconds")) {
    story.delay = std::chrono::milliseconds{std::lround(number_between("seconds", *text, 0.0, 60.0) * 1000)};
  }
  if (const auto text = query("bytes")) {
    story.body_bytes = number_between<std::size_t>("bytes", *text, 0, 1'048'576);
  }
}

}  // namespace

std::optional<Story> find_story(std::string_view path, const QueryParameter& query) {
  const auto* const found =
      std::find_if(std::begin(stories), std::end(stories), [&](const NamedStory& named) { return named.path == path; });
  if (found == std::end(stories)) return std::nullopt;
  Story story = found->story;
  change(story, query);
  return story;
}

std::string story_paths() {
  std::string list;
  for (const NamedStory& named : stories) {
    if (!list.empty()) list += ", ";
    list += named.path;
  }
  return list;
}

}  // namespace webhooks
