// Floating-point numbers to text and back without loss and whatever the locale: the shortest digits that read
// back as the same number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dogged {

[[nodiscard]] std::string number_to_text(double number);
[[nodiscard]] std::optional<double> number_from_text(std::string_view text);

/// 0.25 is `25%`. The digits are moved, not multiplied: times 100 and back is not the same number for every
/// double.
[[nodiscard]] std::string percentage_to_text(double proportion);
[[nodiscard]] std::optional<double> percentage_from_text(std::string_view text);

}  // namespace dogged
