// The wording that error messages share: what was written, what could have been meant, what could stand
// there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dogged {

using Words = std::vector<std::string_view>;

/// Cut to 60 bytes, and with ? for what is not printable ASCII: input of any kind may end in a message.
[[nodiscard]] std::string printable(std::string_view text);

/// The same in quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// `a, b or c`.
[[nodiscard]] std::string alternatives(const Words& words);

/// ` (did you mean "base"?)` where one of the words is a typing mistake away, else nothing: at most two letters that
/// are wrong, missing or too many, a swap of neighbours being one.
/// Upper and lower case are the same, and so are `_`, `-`, `.`, `:`, `/`
/// and a space.
[[nodiscard]] std::string suggestion_of_typo(std::string_view word, const Words& words);

/// The same for a word that can only be one of the words: up to a third of its letters may be wrong, and else it may be
/// the beginning of one (`http`, `exp_back`), a part of one (`write`), or one of them with more (`initial_delay_ms`).
[[nodiscard]] std::string suggestion(std::string_view word, const Words& words);

}  // namespace dogged
