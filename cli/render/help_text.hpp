// Help that fits the terminal: names with their meanings beside them, and the text that ends a command's help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dogged::cli {

/// `left`, and `right` in as many lines as it needs from column `column` on, each with its newline. A long `left`
/// stands in a line of its own.
[[nodiscard]] std::string beside(std::string_view left, std::string_view right, std::size_t column, std::size_t width);

/// Text whose author broke its lines, with lines of at most `width` columns. Sentences are filled anew. An indented
/// line stays, except for a text behind two spaces: that one goes on below itself. So a command stays whole, however
/// long it is.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);

}  // namespace dogged::cli
