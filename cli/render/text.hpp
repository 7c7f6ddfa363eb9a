// Text in columns: how wide it is on a terminal, and how to make it fit. Texts of tasks and errors are made harmless
// here before they reach a terminal.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dogged::cli {

/// One line of text that moves no cursor and changes no colour. Control characters become spaces, bidirectional
/// overrides are dropped, and invalid UTF-8 becomes ?. With `unicode` false everything outside ASCII becomes ?.
[[nodiscard]] std::string harmless(std::string_view text, bool unicode);

/// Columns that harmless text takes: 0 for combining marks, 2 for wide characters.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Where the ellipsis of a cut text stands.
enum class Cut { end, middle };

/// The text if it fits in `width` columns, else its beginning, or its beginning and its end, with an ellipsis.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width, bool unicode, Cut cut = Cut::end);

/// Lines of at most `width` columns, broken at spaces, and a word that is longer behind a slash or comma, or wherever
/// it is full. Text that does not fit into `most_lines` is cut from the last line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width, bool unicode,
                                               std::size_t most_lines = std::numeric_limits<std::size_t>::max());

[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string joined(const std::vector<std::string>& texts, std::string_view between = ", ");
[[nodiscard]] std::string repeat(std::string_view text, std::size_t times);

}  // namespace dogged::cli
