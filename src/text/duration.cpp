// Durations to and from text. The number before each unit is read in whole milliseconds, so that nothing is
// rounded.
#include "text/duration.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "text/message.hpp"

namespace dogged {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t milliseconds;
};

constexpr Unit day_unit{"d", 86'400'000};
constexpr std::array<Unit, 4> written_units{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 5> read_units{
    {day_unit, written_units[0], written_units[1], written_units[2], written_units[3]}};

constexpr auto most_read = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::uint64_t too_long = most_read + 1;  // and whatever is more

/// Nothing where there are no digits.
std::optional<std::uint64_t> take_digits(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  std::uint64_t number = 0;
  while (!text.empty() && is_digit(text.front())) {
    const auto digit = static_cast<std::uint64_t>(text.front() - '0');
    number = number > (most_read - digit) / 10 ? too_long : number * 10 + digit;
    text.remove_prefix(1);
  }
  return number;
}

/// `25` after the point of `1.25` is {25, 100}; {0, 1} where there is no point.
struct Fraction {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;
};

std::optional<Fraction> take_fraction(std::string_view& text) {
  if (text.empty() || text.front() != '.') return Fraction{};
  text.remove_prefix(1);
  const std::size_t before = text.size();
  const auto numerator = take_digits(text);
  const std::size_t digits = before - text.size();
  // Nine digits are more than a day has of milliseconds, and keep numerator times unit within 64 bits.
  if (!numerator || digits > 9) return std::nullopt;
  Fraction fraction{*numerator, 1};
  for (std::size_t i = 0; i < digits; ++i) fraction.denominator *= 10;
  return fraction;
}

/// The unit's position in read_units. The letters end at the next number.
std::optional<std::size_t> take_unit(std::string_view& text) {
  const std::string_view name = text.substr(0, text.find_first_of("0123456789"));
  for (std::size_t i = 0; i < read_units.size(); ++i) {
    if (read_units[i].name != name) continue;
    text.remove_prefix(name.size());
    return i;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> in_milliseconds(std::uint64_t whole, Fraction fraction, std::uint64_t unit) {
  const std::uint64_t parts = fraction.numerator * unit;
  if (parts % fraction.denominator != 0) return std::nullopt;
  if (whole > most_read / unit) return too_long;
  return std::min(whole * unit + parts / fraction.denominator, too_long);
}

/// At most `too_long`. Nothing if the text is not written as a duration.
std::optional<std::uint64_t> read(std::string_view text) {
  std::uint64_t total = 0;
  std::size_t next_unit = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto whole = take_digits(text);
    if (!whole) return std::nullopt;
    const auto fraction = take_fraction(text);
    if (!fraction) return std::nullopt;
    const auto unit = take_unit(text);
    if (!unit || *unit < next_unit) return std::nullopt;
    next_unit = *unit + 1;
    const auto part = in_milliseconds(*whole, *fraction, read_units[*unit].milliseconds);
    if (!part) return std::nullopt;
    total += std::min(*part, too_long - total);
  }
  return total;
}

}  // namespace

std::string duration_to_text(milliseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0ms";
  // Negated as unsigned, because the smallest number has no positive counterpart.
  auto left = static_cast<std::uint64_t>(count);
  std::string text;
  if (count < 0) {
    left = 0 - left;
    text = "-";
  }
  for (const Unit& unit : written_units) {
    const std::uint64_t whole = left / unit.milliseconds;
    left %= unit.milliseconds;
    if (whole != 0) (text += std::to_string(whole)) += unit.name;
  }
  return text;
}

milliseconds duration_from_text(std::string_view text, milliseconds most) {
  const std::string remedy = "; write a duration up to " + duration_to_text(most);
  if (text.starts_with('-') && read(text.substr(1)))
    throw DurationOutOfRange(in_quotes(text) + " is negative" + remedy);
  if (const auto total = read(text)) {
    if (*total == too_long) throw DurationOutOfRange(in_quotes(text) + " is too long" + remedy);
    return milliseconds{static_cast<std::int64_t>(*total)};
  }
  throw InvalidInput(in_quotes(text) +
                     " is not a duration; write whole milliseconds as numbers with the units d, h, m, s and ms, "
                     "the larger first, such as 250ms, 30s, 1.5s or 1h30m");
}

}  // namespace dogged
