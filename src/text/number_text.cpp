// Floating-point numbers to text and back.
#include "text/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace dogged {
namespace {

/// The longest is the smallest double in fixed notation, 326 characters; a valid proportion is at most 1.
using Buffer = std::array<char, 350>;

std::string_view used(const Buffer& buffer, const std::to_chars_result& result) {
  return {buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data())};
}

}  // namespace

std::string number_to_text(double number) {
  Buffer buffer;
  return std::string{used(buffer, std::to_chars(buffer.data(), buffer.data() + buffer.size(), number))};
}

std::optional<double> number_from_text(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

std::string percentage_to_text(double proportion) {
  Buffer buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), proportion, std::chars_format::fixed);
  const std::string_view digits = used(buffer, result);
  const std::size_t point = digits.find('.');
  std::string whole{digits.substr(0, point)};
  std::string fraction{point == std::string_view::npos ? "" : digits.substr(point + 1)};
  while (fraction.size() < 2) fraction += '0';
  whole += fraction.substr(0, 2);
  fraction.erase(0, 2);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  return whole + (fraction.empty() ? "" : "." + fraction) + "%";
}

std::optional<double> percentage_from_text(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  return number_from_text(std::string{text} + "e-2");
}

}  // namespace dogged
