// Text in columns, whatever a task or an error carries. The first two lines of the input are a width and whether the
// terminal shows Unicode; the rest is the text.
#include "cli/render/text.hpp"

#include <algorithm>

#include "fuzz.hpp"

using namespace dogged::cli;

namespace {

void require_harmless(const std::string& text, bool unicode) {
  fuzz::require(fuzz::is_printable_line(text), "harmless text moves no cursor", text);
  for (const char* reordering : {"\u202A", "\u202E", "\u2066", "\u200F", "\u2028"}) {
    fuzz::require(text.find(reordering) == std::string::npos, "harmless text does not turn a line around", text);
  }
  const auto is_ascii = [](char c) { return c >= ' ' && c <= '~'; };
  fuzz::require(unicode || std::all_of(text.begin(), text.end(), is_ascii), "without Unicode, text is ASCII", text);
  fuzz::require(harmless(text, unicode) == text, "harmless text stays as it is", text);
}

void require_fits(const std::string& text, std::size_t width, bool unicode) {
  const std::string shortened = shorten(text, width, unicode);
  fuzz::require(fuzz::is_utf8(shortened), "text is cut between characters", shortened);
  fuzz::require(display_width(shortened) <= width, "what is shortened fits", shortened);
  fuzz::require(display_width(text) > width || shortened == text, "what fits is not shortened", shortened);

  const std::string without_middle = shorten(text, width, unicode, Cut::middle);
  fuzz::require(fuzz::is_utf8(without_middle) && display_width(without_middle) <= width, "the middle is cut out", text);
  if (width >= 2) {  // a wide character has room
    for (const std::string& line : wrapped(text, width, unicode)) {
      fuzz::require(fuzz::is_utf8(line) && display_width(line) <= width, "each line that is wrapped fits", line);
    }
  }

  const std::size_t padded = std::max(width, display_width(text));
  fuzz::require(display_width(pad_right(text, width)) == padded, "what is padded on the right has the width", text);
  fuzz::require(display_width(pad_left(text, width)) == padded, "what is padded on the left has the width", text);
}

}  // namespace

FUZZ_TARGET(text, input) {
  Lines lines{input};
  const auto width = static_cast<std::size_t>(lines.number(0, 500));
  const bool unicode = lines.flag();
  (void)shorten(lines.rest(), width, unicode);  // it is also given text that was not made harmless
  const std::string text = harmless(lines.rest(), unicode);
  require_harmless(text, unicode);
  require_fits(text, width, unicode);
}
