// The wording that error messages share: the given text, the text that was probably meant, and the possible texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dogged {

using Words = std::vector<std::string_view>;

/// Cut to 60 bytes, with ? for all but printable ASCII, because a message may quote any input.
[[nodiscard]] std::string printable(std::string_view text);

/// The same in quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// `a, b or c`.
[[nodiscard]] std::string alternatives(const Words& words);

/// ` (did you mean "base"?)` if one of the words is a typing mistake away, else nothing. At most two letters may be
/// wrong, missing or too many; a swap of neighbours counts as one. Case does not matter. `_`, `-`, `.`, `:`, `/` and a
/// space are the same.
[[nodiscard]] std::string suggestion_of_typo(std::string_view word, const Words& words);

/// The same for a text that must be one of the words. Up to a third of its letters may be wrong. The text may also be
/// the beginning of a word (`http`, `exp_back`), a part of a word (`write`), or a word with more (`initial_delay_ms`).
[[nodiscard]] std::string suggestion(std::string_view word, const Words& words);

}  // namespace dogged
