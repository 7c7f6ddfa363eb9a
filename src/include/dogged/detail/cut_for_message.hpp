// How much of a user's text an error shows. Context includes this header, so it is free of nlohmann_json.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dogged::detail {

/// Keys, and pointers made of them, are shown up to here: they may be as long as they like.
inline constexpr std::size_t max_shown_key_bytes = 256;

/// `text`, or as many whole UTF-8 characters of it as fit into `max_shown_key_bytes`, and an ellipsis.
[[nodiscard]] std::string cut_for_message(std::string_view text);

}  // namespace dogged::detail
